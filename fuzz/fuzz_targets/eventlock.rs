//! An event-locked game whose messages are damaged, lost, doubled and made up on the way, in both directions: no panic,
//! no world that cannot be kept, and whatever the one does harms the other by no more than its connection.
#![no_main]

mod fair;
mod script;

use fair::tap::{SERVER, Tap};
use fair::{Entity, Fair, Wish};
use libfuzzer_sys::fuzz_target;
use sametick::eventlock::{Denial, EventClient, EventRates, EventServer, Requests};
use sametick::{Layouts, PlayerId, Span, Time, World};
use script::{Script, Seeded};

const OPERATIONS_MAX: usize = 50;

impl Requests for Fair {
    fn judge(_: &World<Entity>, _: &u64, _: PlayerId, wish: &Wish) -> Result<(), Denial> {
        if wish.call && wish.plant { Err(Denial(7)) } else { Ok(()) }
    }
}

struct Middle {
    tap: Tap<EventServer<Fair>, EventClient<Fair>>,
}

impl Middle {
    /// A session that has begun; how it begins is the script's too, if its options say so.
    fn new(options: u8, script: &mut Script<'_>) -> Self {
        let (now, mut random) = (Time::ZERO, Seeded::new(1));
        let map = u64::from(options >> 4) * 5;
        let rates = EventRates {
            tick_length: Span::millis(20),
            tell_every: Span::millis(20 * u64::from(options & 3)),
            ..EventRates::default()
        };
        let server = EventServer::open(map, 3, rates, now, &mut random);
        let client = EventClient::open(SERVER, map, now, &mut random);
        let mut middle = Self { tap: Tap::new(server, client, random) };
        let nothing = &mut Script(&[]);
        let script = if options & 8 == 0 { nothing } else { script };
        (0..6).for_each(|_| middle.step(Span::millis(20), script));
        middle
    }

    fn step(&mut self, span: Span, script: &mut Script<'_>) {
        let [down, up] = self.tap.listen(span);
        for (is_reliable, message) in down {
            let messages = change(message, script);
            messages.iter().for_each(|message| self.tap.say_down(is_reliable, message));
        }
        for (is_reliable, message) in up {
            let messages = change(message, script);
            messages.iter().for_each(|message| self.tap.say_up(is_reliable, message));
        }
    }
}

/// What becomes of a message on its way.
fn change(mut message: Vec<u8>, script: &mut Script<'_>) -> Vec<Vec<u8>> {
    match script.byte() % 8 {
        3 => Vec::new(),
        4 => vec![message.clone(), message],
        5 => vec![script.string().to_vec()],
        6 | 7 => {
            script.damage(&mut message);
            vec![message]
        }
        _ => vec![message],
    }
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let options = script.byte();
    let mut middle = Middle::new(options, &mut script);
    let mut shown = Time::ZERO;
    for _ in 0..OPERATIONS_MAX {
        if script.is_over() {
            break;
        }
        let deed = script.byte();
        if deed & 15 < 6 {
            let aim = f32::from(script.byte()) / 40.0 - 3.0;
            let wish = Wish { aim, call: deed & 16 != 0, plant: deed & 32 != 0 };
            let _ = middle.tap.client.request(middle.tap.now, wish);
        }
        middle.step(Span::millis(1 + u64::from(deed >> 4) * 4), &mut script);
        let time = middle.tap.client.server_time(middle.tap.now).unwrap_or(shown);
        assert!(time >= shown, "time runs backwards");
        shown = time;
    }
    let layouts = Layouts::of::<Entity>();
    if let Some(world) = middle.tap.client.world() {
        let loaded = World::<Entity>::load(&world.save(&layouts), &layouts);
        let loaded = loaded.expect("what was saved is loaded");
        assert_eq!(loaded.hash(&layouts), world.hash(&layouts));
    }
    let _ = middle.tap.client.shown(middle.tap.now);
});
