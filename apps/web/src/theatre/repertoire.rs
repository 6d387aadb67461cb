//! The games whose scenes the page can show, each by what it hands the theatre. Nothing else of the page knows a game.

use sametick::eventlock::Requests;
use sametick::theatre::{
    Hand, Keys, Locked, Moment, Party, Poster, Recorded, Running, Scene, Setup,
};
use sametick::{Model, PlayerId, Span};
use sametick_arena::theatre::{BadLine, Staged};
use sametick_hello::Greeting;
use sametick_islands::theatre::Bridge;

/// What a link calls the games, the first unless another is wanted.
pub(crate) const GAMES: [&str; 3] = ["arena", "hello", "islands"];
/// The lockstep models that can be chosen.
const IN_LOCKSTEP: [&str; 4] = ["doom1993", "packet_server", "age_of_empires", "rollback"];

/// All scenes of a game.
pub(crate) fn scenes(game: &str) -> Vec<Box<dyn Staging>> {
    match game {
        "hello" => vec![Box::new(Greeting)],
        "islands" => vec![Box::new(EventLocked(Bridge::default()))],
        _ => {
            let staged = Staged::all().into_iter().map(|scene| Box::new(scene) as Box<dyn Staging>);
            staged.chain([Box::new(BadLine::default()) as Box<dyn Staging>]).collect()
        }
    }
}

/// A scene of whatever game.
pub(crate) trait Staging {
    fn poster(&self) -> Poster;
    /// The models it can be played under.
    fn models(&self) -> Vec<&'static str>;
    fn run(&self, setup: &Setup) -> Recorded;
    /// The same to be played bit by bit.
    fn start(&self, setup: Setup) -> Box<dyn Live>;
    fn moment(&self, recorded: &Recorded) -> Option<Moment>;
    fn sees(&self, recorded: &Recorded, frame: usize, pane: usize, who: [PlayerId; 2]) -> bool;
}

impl<S: Scene + Clone + 'static> Staging for S {
    fn poster(&self) -> Poster {
        Scene::poster(self)
    }

    fn models(&self) -> Vec<&'static str> {
        let served = Model::ALL.map(|model| model.name);
        served.into_iter().chain(IN_LOCKSTEP).collect()
    }

    fn run(&self, setup: &Setup) -> Recorded {
        // As `start` does, lest all of it be compiled twice.
        match setup.lockstep {
            Some(_) => Party::new(self.clone(), setup.clone()).finish(),
            None => Running::new(self.clone(), setup.clone()).finish(),
        }
    }

    fn start(&self, setup: Setup) -> Box<dyn Live> {
        match setup.lockstep {
            Some(_) => Box::new(Party::new(self.clone(), setup)),
            None => Box::new(Running::new(self.clone(), setup)),
        }
    }

    fn moment(&self, recorded: &Recorded) -> Option<Moment> {
        Scene::moment(self, recorded)
    }

    fn sees(&self, recorded: &Recorded, frame: usize, pane: usize, who: [PlayerId; 2]) -> bool {
        Scene::sees(self, recorded, frame, pane, who)
    }
}

/// A scene that is played under event locking, or in lockstep beside it.
struct EventLocked<S>(S);

impl<S: Scene<Game: Requests> + Clone + 'static> Staging for EventLocked<S> {
    fn poster(&self) -> Poster {
        self.0.poster()
    }

    fn models(&self) -> Vec<&'static str> {
        [self.0.poster().model.name].into_iter().chain(IN_LOCKSTEP).collect()
    }

    fn run(&self, setup: &Setup) -> Recorded {
        match setup.lockstep {
            Some(_) => Party::new(self.0.clone(), setup.clone()).finish(),
            None => Locked::new(self.0.clone(), setup.clone()).finish(),
        }
    }

    fn start(&self, setup: Setup) -> Box<dyn Live> {
        match setup.lockstep {
            Some(_) => Box::new(Party::new(self.0.clone(), setup)),
            None => Box::new(Locked::new(self.0.clone(), setup)),
        }
    }

    fn moment(&self, recorded: &Recorded) -> Option<Moment> {
        self.0.moment(recorded)
    }

    fn sees(&self, recorded: &Recorded, frame: usize, pane: usize, who: [PlayerId; 2]) -> bool {
        self.0.sees(recorded, frame, pane, who)
    }
}

/// A scene of whatever game that is being played, by a reader who has A's keys.
pub(crate) trait Live {
    fn go_on(&mut self, until: Span, keys: Keys);
    fn recorded(&self) -> &Recorded;
    fn hand(&self) -> &Hand;
}

impl<S: Scene + Clone + 'static> Live for Running<S> {
    fn go_on(&mut self, until: Span, keys: Keys) {
        self.press(keys);
        self.advance(until);
    }

    fn recorded(&self) -> &Recorded {
        Running::recorded(self)
    }

    fn hand(&self) -> &Hand {
        Running::hand(self)
    }
}

impl<S: Scene + Clone + 'static> Live for Party<S> {
    fn go_on(&mut self, until: Span, keys: Keys) {
        self.press(keys);
        self.advance(until);
    }

    fn recorded(&self) -> &Recorded {
        Party::recorded(self)
    }

    fn hand(&self) -> &Hand {
        Party::hand(self)
    }
}

impl<S: Scene<Game: Requests> + Clone + 'static> Live for Locked<S> {
    fn go_on(&mut self, until: Span, keys: Keys) {
        self.press(keys);
        self.advance(until);
    }

    fn recorded(&self) -> &Recorded {
        Locked::recorded(self)
    }

    fn hand(&self) -> &Hand {
        Locked::hand(self)
    }
}
