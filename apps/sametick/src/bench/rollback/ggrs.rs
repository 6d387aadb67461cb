//! The other side: the same game under ggrs, over a line in memory. It reads the clock itself, so this takes as long
//! as is played.

use super::{DELAY, DEPTH, Measured, Options, PATIENCE, Pair, TICK, command};
use crate::bench::served::cpu_time;
use anyhow::Context;
use ggrs::{
    Config, DesyncDetection, GgrsError, GgrsEvent, GgrsRequest, Message, NonBlockingSocket,
    P2PSession, PlayerType, PredictRepeatLast, SessionBuilder, SessionState,
};
use sametick::{Alone, Dice, Layouts, PlayerId, World};
use sametick_arena::{Arena, Command, Content, Entity, Weapon};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A command as a ggrs game would have it: plain numbers, as small as they can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Input {
    yaw: u16,
    pitch: i16,
    forward: i8,
    right: i8,
    buttons: u8,
}

impl Input {
    fn of(command: &Command) -> Self {
        let turn = command.yaw.rem_euclid(std::f32::consts::TAU) / std::f32::consts::TAU;
        Self {
            yaw: (turn * 65_536.0) as u16,
            pitch: (command.pitch * 10_000.0) as i16,
            forward: command.forward,
            right: command.right,
            buttons: u8::from(command.jump) | u8::from(command.fire) << 1,
        }
    }

    fn command(self) -> Command {
        Command {
            yaw: f32::from(self.yaw) / 65_536.0 * std::f32::consts::TAU,
            pitch: f32::from(self.pitch) / 10_000.0,
            forward: self.forward,
            right: self.right,
            jump: self.buttons & 1 != 0,
            fire: self.buttons & 2 != 0,
            weapon: Weapon::default(),
            ..Command::default()
        }
    }
}

struct Rules;

impl Config for Rules {
    type Input = Input;
    type InputPredictor = PredictRepeatLast;
    type State = World<Entity>;
    type Address = usize;
}

/// What is under way to one player: when it arrives, and itself.
type Way = Rc<RefCell<VecDeque<(Instant, Message)>>>;

struct Line {
    to: Way,
    from: Way,
    other: usize,
    delay: Duration,
    loss: f64,
    dice: Dice,
    bytes: Rc<RefCell<u64>>,
}

impl NonBlockingSocket<usize> for Line {
    fn send_to(&mut self, message: &Message, _to: &usize) {
        // As its own UDP socket does.
        *self.bytes.borrow_mut() += bincode::serialized_size(message).unwrap_or(0);
        if !self.dice.chance(self.loss) {
            self.to.borrow_mut().push_back((Instant::now() + self.delay, message.clone()));
        }
    }

    fn receive_all_messages(&mut self) -> Vec<(usize, Message)> {
        let (mut from, now) = (self.from.borrow_mut(), Instant::now());
        let mut messages = Vec::new();
        while from.front().is_some_and(|(at, _)| *at <= now) {
            messages.extend(from.pop_front().map(|(_, message)| (self.other, message)));
        }
        messages
    }
}

struct Player {
    session: P2PSession<Rules>,
    game: Alone<Arena>,
    layouts: Layouts,
    /// The newest frame that was ever stepped.
    reached: u32,
    resimulated: u64,
    stepped: u64,
    has_differed: bool,
    looked: u64,
}

const HASH_EVERY: u32 = 8;

/// Two players.
pub(super) struct Theirs {
    players: Vec<Player>,
    bytes: Rc<RefCell<u64>>,
    seed: u64,
    /// When it began, and what was counted until then: bytes, and ticks stepped again and in all.
    began: Option<(Instant, u64, (u64, u64))>,
    spent: Duration,
}

impl Theirs {
    pub(super) fn new(options: &Options, content: &Content) -> anyhow::Result<Self> {
        let ways = [Way::default(), Way::default()];
        let bytes = Rc::new(RefCell::new(0));
        let mut players = Vec::new();
        for index in 0..2 {
            let line = Line {
                to: Rc::clone(&ways[1 - index]),
                from: Rc::clone(&ways[index]),
                other: 1 - index,
                delay: Duration::from_micros(u64::from(options.ping) * 500),
                loss: options.loss,
                dice: Dice::new(options.seed, index as u64),
                bytes: Rc::clone(&bytes),
            };
            players.push(Player::new(options, content, index, line)?);
        }
        Ok(Self { players, bytes, seed: options.seed, began: None, spent: Duration::ZERO })
    }
}

impl Pair for Theirs {
    fn frame(&mut self) -> anyhow::Result<()> {
        let mut spent = Duration::ZERO;
        for (index, player) in self.players.iter_mut().enumerate() {
            let at = cpu_time();
            player.frame(self.seed, index)?;
            spent += cpu_time() - at;
        }
        if self.began.is_some() {
            self.spent += spent;
        } else if self.players.iter().all(|player| player.reached > 60) {
            self.began = Some((Instant::now(), *self.bytes.borrow(), sums(&self.players)));
        }
        Ok(())
    }

    fn measured(&self) -> Option<Measured> {
        let (since, bytes, (resimulated, stepped)) = self.began?;
        let now = sums(&self.players);
        Some(Measured {
            resimulated: now.0 - resimulated,
            spent: self.spent,
            stepped: now.1 - stepped,
            bytes: *self.bytes.borrow() - bytes,
            seconds: since.elapsed().as_secs_f64(),
            verified: self.players.iter().all(|player| !player.has_differed),
        })
    }
}

fn sums(players: &[Player]) -> (u64, u64) {
    let resimulated = players.iter().map(|player| player.resimulated).sum();
    (resimulated, players.iter().map(|player| player.stepped).sum())
}

impl Player {
    fn new(options: &Options, content: &Content, index: usize, line: Line) -> anyhow::Result<Self> {
        let mut builder = SessionBuilder::<Rules>::new()
            .with_num_players(2)?
            .with_fps(60)?
            .with_max_prediction_window(usize::from(DEPTH))
            .with_input_delay(usize::from(DELAY))
            // A machine with other work to do is no reason to part.
            .with_disconnect_timeout(PATIENCE)
            .with_desync_detection_mode(DesyncDetection::On { interval: HASH_EVERY });
        for handle in 0..2 {
            let local = PlayerType::Local;
            let kind = if handle == index { local } else { PlayerType::Remote(handle) };
            builder = builder.add_player(kind, handle)?;
        }
        let session = builder.start_p2p_session(line).context("ggrs begins no session")?;
        let mut game = Alone::new(content.clone(), options.seed, TICK);
        (0..2).for_each(|player| game.join(PlayerId(player)));
        // They are there before the first frame, to which it may go back.
        game.step([])?;
        let layouts = Layouts::of::<Entity>();
        let (resimulated, stepped, has_differed, looked) = (0, 0, false, 0);
        Ok(Self { session, game, layouts, reached: 0, resimulated, stepped, has_differed, looked })
    }

    fn frame(&mut self, seed: u64, index: usize) -> anyhow::Result<()> {
        self.session.poll_remote_clients();
        let events = self.session.events();
        self.has_differed |=
            events.into_iter().any(|event| matches!(event, GgrsEvent::DesyncDetected { .. }));
        // Whoever is ahead waits a frame now and then, as its documentation asks for.
        if self.session.current_state() != SessionState::Running || self.is_to_wait() {
            return Ok(());
        }
        let wish = command(seed, index as u64, self.game.world().tick().0);
        self.session.add_local_input(index, Input::of(&wish))?;
        match self.session.advance_frame() {
            Ok(requests) => requests.into_iter().for_each(|request| self.heed(request)),
            Err(GgrsError::PredictionThreshold) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn is_to_wait(&mut self) -> bool {
        self.looked += 1;
        self.session.frames_ahead() > 1 && self.looked.is_multiple_of(4)
    }

    fn heed(&mut self, request: GgrsRequest<Rules>) {
        match request {
            GgrsRequest::SaveGameState { cell, frame } => {
                let world = self.game.world();
                let is_hashed = (frame as u32).is_multiple_of(HASH_EVERY);
                let hash = is_hashed.then(|| u128::from(world.hash(&self.layouts)));
                cell.save(frame, Some(world.clone()), hash);
            }
            GgrsRequest::LoadGameState { cell, .. } => {
                if let Some(world) = cell.load() {
                    self.game.set_world(world);
                }
            }
            GgrsRequest::AdvanceFrame { inputs } => {
                let commands = inputs.into_iter().zip(0..);
                let commands = commands.map(|((input, _), id)| (PlayerId(id), input.command()));
                // What is not finite was mended.
                let _ = self.game.step(commands.collect::<Vec<_>>());
                self.game.take_effects();
                let tick = self.game.world().tick().0;
                self.stepped += 1;
                self.resimulated += u64::from(tick <= self.reached);
                self.reached = self.reached.max(tick);
            }
        }
    }
}
