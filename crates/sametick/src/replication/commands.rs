//! What players ask for, tick by tick: kept until the server has it, executed once, never waited for.

use crate::core::bits::{BitReader, BitWriter, Malformed};
use crate::core::tick::{AHEAD_TICKS_MAX, Tick};
use crate::schema::delta::{self, SEQUENCE_RECORDS_MAX};
use crate::schema::fields::Networked;
use crate::schema::record::{Layout, Row, settle};
use crate::sim::game::Game;
use crate::sim::sight::Moment;
use crate::sim::view::Others;
use std::collections::VecDeque;

/// How many commands a client keeps until the server has them; each message repeats as many.
pub const REPEATED_COMMANDS_MAX: usize = 32;

const _: () = assert!(REPEATED_COMMANDS_MAX <= SEQUENCE_RECORDS_MAX);
const _: () = assert!(REPEATED_COMMANDS_MAX as u32 <= AHEAD_TICKS_MAX);

/// What a message tells of commands: the newest's tick and how many there are, their moments, and their records.
pub(crate) type Told = (Option<(Tick, usize)>, Vec<Moment>, Vec<Vec<u32>>);

/// The client's side: what was asked for and is not known to have arrived, and what the screen showed
/// then.
#[derive(Debug)]
pub(crate) struct CommandLog<C> {
    /// By tick, without gaps.
    commands: VecDeque<(Tick, C, Moment)>,
}

impl<C> Default for CommandLog<C> {
    fn default() -> Self {
        Self { commands: VecDeque::new() }
    }
}

impl<C: Networked> CommandLog<C> {
    /// Keeps the command of a tick, rounded as the server will have it.
    pub(crate) fn push(&mut self, tick: Tick, mut command: C, moment: Moment) {
        if settle(&mut command).is_err() {
            command = C::default();
        }
        if self.commands.back().is_some_and(|(last, _, _)| last.0 + 1 != tick.0) {
            // The clock jumped: what was asked for before belongs to another stretch of time.
            self.commands.clear();
        }
        self.commands.push_back((tick, command, moment));
        if self.commands.len() > KEPT_COMMANDS_MAX {
            self.commands.pop_front();
        }
    }

    /// Forgets what the server has executed.
    pub(crate) fn forget_until(&mut self, tick: Tick) {
        while self.commands.front().is_some_and(|(first, _, _)| *first <= tick) {
            self.commands.pop_front();
        }
    }

    /// The command of a tick, if it is kept.
    pub(crate) fn get(&self, tick: Tick) -> Option<&C> {
        self.entry(tick).map(|(_, command, _)| command)
    }

    /// What the screen showed when the command of a tick was given.
    pub(crate) fn moment(&self, tick: Tick) -> Option<Moment> {
        self.entry(tick).map(|(_, _, moment)| *moment)
    }

    /// The newest commands after `received`, which the server has, newest first; at least one, if there is any.
    fn newest(&self, received: Tick) -> impl Iterator<Item = &(Tick, C, Moment)> + Clone {
        let unknown = self.commands.iter().filter(|(tick, _, _)| *tick > received).count();
        let count = unknown.clamp(1, REPEATED_COMMANDS_MAX).min(self.commands.len());
        self.commands.iter().rev().take(count)
    }

    /// Writes the newest commands after `received`, which the server has, newest first: its tick, then,
    /// if the server asks for them, their moments, and each command against the one after it.
    pub(crate) fn write(
        &self,
        bits: &mut BitWriter,
        layout: &Layout,
        received: Tick,
        others: Option<Others>,
    ) {
        let newest = self.commands.back().map_or(0, |(tick, _, _)| tick.0);
        bits.write(u64::from(newest), 32);
        let newest_first = self.newest(received);
        if let Some(others) = others {
            bits.write(newest_first.clone().count() as u64, MOMENTS_BITS);
            let mut newer = None;
            for (tick, _, moment) in newest_first.clone() {
                let moment = moment.told(others);
                moment.write(bits, *tick, newer.replace(moment));
            }
        }
        let records: Vec<Vec<u32>> =
            newest_first.map(|(_, command, _)| layout.record(command)).collect();
        delta::write_sequence(bits, layout, records.iter().map(Vec::as_slice));
    }

    /// The same for the coder: the newest's tick and how many there are, their moments, and their records.
    pub(crate) fn told(&self, layout: &Layout, received: Tick, others: Option<Others>) -> Told {
        let newest_first = self.newest(received);
        let moments = others
            .into_iter()
            .flat_map(|others| newest_first.clone().map(move |(_, _, moment)| moment.told(others)));
        let records: Vec<Vec<u32>> =
            newest_first.clone().map(|(_, command, _)| layout.record(command)).collect();
        let newest = self.commands.back().map(|(tick, _, _)| (*tick, records.len()));
        (newest, moments.collect(), records)
    }

    fn entry(&self, tick: Tick) -> Option<&(Tick, C, Moment)> {
        let (first, _, _) = self.commands.front()?;
        self.commands.get(tick.0.checked_sub(first.0)? as usize)
    }
}

/// Moments come with a count of their own, in front: commands that are known are not read to their end.
const MOMENTS_BITS: u32 = 6;
const _: () = assert!(REPEATED_COMMANDS_MAX < 1 << MOMENTS_BITS);

/// Reads the moments of commands, newest first.
pub(crate) fn read_moments(
    bits: &mut BitReader<'_>,
    newest: Tick,
    moments: &mut Vec<(Tick, Moment)>,
) {
    let count = bits.read(MOMENTS_BITS) as u32;
    if count > REPEATED_COMMANDS_MAX as u32 {
        bits.fail();
        return;
    }
    let ticks = (0..count).map(|back| Tick(newest.0.saturating_sub(back)));
    let mut newer = None;
    for tick in ticks {
        let moment = Moment::read(bits, tick, newer);
        newer = Some(moment);
        moments.push((tick, moment));
    }
}

/// How many commands a client keeps for itself: enough for the longest prediction and for what the rules foresee.
pub(crate) const KEPT_COMMANDS_MAX: usize = 1280;

/// What a command is to the server when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Wanted,
    Known,
    TooFarAhead,
}

/// The server's side: one player's commands by the tick they are for.
#[derive(Debug)]
pub(crate) struct CommandQueue<C> {
    /// From the tick after the last executed one on.
    waiting: VecDeque<Option<C>>,
    executed: Tick,
    /// The newest command that is known, for guessing.
    last: Option<(Tick, C)>,
    repeated_running: u32,
    /// How often, since the player came.
    pub(crate) repeated: u32,
    /// The newest tick for which a command has come.
    pub(crate) newest: Tick,
}

impl<C: Networked> CommandQueue<C> {
    pub(crate) fn new(executed: Tick) -> Self {
        Self {
            waiting: VecDeque::new(),
            executed,
            last: None,
            repeated_running: 0,
            repeated: 0,
            newest: Tick(0),
        }
    }

    /// Reads what [`CommandLog::write`] wrote into `commands`, as far as it is news. Those for the past
    /// improve the next guess, those too far ahead are not taken. Gives the first tick that nothing had
    /// come for, if there is one: how early that one is, is how early commands are. `row` is room for one.
    pub(crate) fn read(
        &self,
        bits: &mut BitReader<'_>,
        layout: &Layout,
        newest: Tick,
        row: &mut Row,
        commands: &mut Vec<(Tick, C)>,
    ) -> Result<Option<Tick>, Malformed> {
        commands.clear();
        let newest = newest.0;
        let place = |back: usize| {
            let tick = newest.checked_sub(back as u32).map(Tick);
            tick.map(|tick| (tick, self.place_of(tick)))
        };
        // Whoever has one has those before it: they are not read.
        let mut unknown = 0;
        while unknown < REPEATED_COMMANDS_MAX
            && place(unknown).is_some_and(|(_, place)| place != Place::Known)
        {
            unknown += 1;
        }
        let mut back = 0;
        let count = delta::read_some(bits, layout, unknown, row, &mut |row| {
            if let Some((tick, Place::Wanted)) = place(back) {
                let mut command = C::default();
                layout.scatter(row, &mut command);
                commands.push((tick, command));
            }
            back += 1;
        });
        if bits.failed() {
            return Err(Malformed);
        }
        if count == 0 {
            // Of a client whose time is behind ours: it says only what it has heard.
            return if newest == 0 { Ok(None) } else { Err(Malformed) };
        }
        let first = newest.checked_sub(count as u32 - 1).ok_or(Malformed)?;
        let known = self.newest.0;
        Ok((newest > known).then(|| Tick(first.max(known + 1))))
    }

    /// The same of commands that were coded: these records, the newest first.
    pub(crate) fn sort_out(
        &self,
        layout: &Layout,
        newest: Tick,
        records: &[Vec<u32>],
        commands: &mut Vec<(Tick, C)>,
    ) -> Result<Option<Tick>, Malformed> {
        commands.clear();
        for (back, record) in records.iter().enumerate() {
            let tick = Tick(newest.0.checked_sub(back as u32).ok_or(Malformed)?);
            match self.place_of(tick) {
                // Whoever has one has those before it.
                Place::Known => break,
                Place::Wanted => commands.push((tick, layout.value(record))),
                Place::TooFarAhead => {}
            }
        }
        let count = u32::try_from(records.len()).map_err(|_| Malformed)?;
        let first = newest.0.checked_sub(count.saturating_sub(1)).ok_or(Malformed)?;
        let known = self.newest.0;
        Ok((newest.0 > known).then(|| Tick(first.max(known + 1))))
    }

    /// Takes in what [`read`](CommandQueue::read) gave, once the whole message is known to be well formed.
    pub(crate) fn take(&mut self, commands: &mut Vec<(Tick, C)>) {
        commands.drain(..).rev().for_each(|(tick, command)| self.take_one(tick, command));
    }

    /// Most of what comes is there already: each command is sent until it is known to have arrived.
    fn place_of(&self, tick: Tick) -> Place {
        let is_known = match tick.0.checked_sub(self.executed.0 + 1) {
            Some(ahead) if ahead >= AHEAD_TICKS_MAX => return Place::TooFarAhead,
            Some(ahead) => self.waiting.get(ahead as usize).is_some_and(Option::is_some),
            None => self.last.as_ref().is_some_and(|(last, _)| *last >= tick),
        };
        if is_known { Place::Known } else { Place::Wanted }
    }

    fn take_one(&mut self, tick: Tick, command: C) {
        if self.last.as_ref().is_none_or(|(last, _)| *last < tick) {
            self.newest = self.newest.max(tick);
        }
        match tick.0.checked_sub(self.executed.0 + 1) {
            Some(index) => {
                let index = index as usize;
                if self.waiting.len() == index {
                    // As a rule it is the next.
                    return self.waiting.push_back(Some(command));
                }
                if self.waiting.len() < index {
                    self.waiting.resize_with(index + 1, || None);
                }
                // What came first counts: a command cannot be changed once it was sent.
                self.waiting[index].get_or_insert(command);
            }
            // Too late to be executed, but newer than what would be repeated.
            None if self.last.as_ref().is_some_and(|(last, _)| *last < tick) => {
                self.last = Some((tick, command));
            }
            None => {}
        }
    }

    /// The command of the next tick: what came for it or, if nothing did, what the game makes of the
    /// last one that is known. None before any came.
    pub(crate) fn next<G: Game<Command = C>>(&mut self) -> Option<C> {
        self.executed.0 += 1;
        if let Some(command) = self.waiting.pop_front().flatten() {
            self.last = Some((self.executed, command.clone()));
            self.repeated_running = 0;
            return Some(command);
        }
        let (_, last) = self.last.as_ref()?;
        self.repeated_running += 1;
        self.repeated = self.repeated.wrapping_add(1);
        let mut guess = G::repeat(last, self.repeated_running);
        // Rounded like any other: clients who predict others and replays have it from the wire.
        if settle(&mut guess).is_err() {
            guess = C::default();
        }
        Some(guess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::fields::Fields;
    use crate::schema::record::{Precision, ROW_WORDS};
    use crate::sim::game::{NoEvent, Turn};
    use crate::sim::world::World;

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct Key {
        name: u8,
    }

    impl Networked for Key {
        fn fields<F: Fields>(&mut self, f: &mut F) {
            f.bits("name", &mut self.name, 8);
        }
    }

    crate::entities! { pub(crate) enum Entity { Key } }

    struct Keys;

    impl Game for Keys {
        type Entity = Entity;
        type Command = Key;
        type Event = NoEvent;
        type Content = ();
        fn step(_world: &mut World<Entity>, _turn: &Turn<'_, Self>) {}
    }

    fn layout() -> Layout {
        Layout::of::<Key>(Precision::State)
    }

    fn message(first: u32, names: &[u8]) -> Vec<u8> {
        let mut bits = BitWriter::growing(1200);
        bits.write(u64::from(first.wrapping_add(names.len() as u32 - 1)), 32);
        let newest_first = names.iter().rev();
        let records: Vec<Vec<u32>> = newest_first.map(|name| vec![u32::from(*name)]).collect();
        delta::write_sequence(&mut bits, &layout(), records.iter().map(Vec::as_slice));
        bits.finish().unwrap().to_vec()
    }

    fn read(queue: &mut CommandQueue<Key>, message: &[u8]) -> Result<Option<Tick>, Malformed> {
        let mut commands = Vec::new();
        let (mut bits, mut row) = (BitReader::new(message), [0; ROW_WORDS]);
        let newest = Tick(bits.read(32) as u32);
        let first_new = queue.read(&mut bits, &layout(), newest, &mut row, &mut commands)?;
        queue.take(&mut commands);
        Ok(first_new)
    }

    fn next(queue: &mut CommandQueue<Key>) -> Option<u8> {
        queue.next::<Keys>().map(|key| key.name)
    }

    #[test]
    fn a_late_command_improves_the_next_guess_and_is_never_executed() {
        let mut queue = CommandQueue::new(Tick(10));
        assert_eq!(next(&mut queue), None, "before any came, none is guessed");
        assert_eq!(read(&mut queue, &message(12, &[1])), Ok(Some(Tick(12))));
        assert_eq!(next(&mut queue), Some(1));
        assert_eq!(next(&mut queue), Some(1), "a guess at tick 13");
        assert_eq!(read(&mut queue, &message(12, &[1, 2])), Ok(Some(Tick(13))), "too late");
        assert_eq!(queue.repeated, 1);
        assert_eq!(next(&mut queue), Some(2), "a better guess at tick 14");
        assert_eq!(queue.repeated, 2, "and still a guess");
        assert_eq!(read(&mut queue, &message(12, &[1, 2])), Ok(None), "a copy tells nothing");
    }

    #[test]
    fn what_came_first_counts_and_only_near_ticks_are_taken() {
        let mut queue = CommandQueue::new(Tick(10));
        read(&mut queue, &message(11, &[1, 2])).unwrap();
        read(&mut queue, &message(11, &[8, 9, 3])).unwrap();
        assert_eq!([(); 3].map(|()| next(&mut queue)), [1, 2, 3].map(Some));
        read(&mut queue, &message(14 + AHEAD_TICKS_MAX, &[7])).unwrap();
        assert_eq!(queue.newest, Tick(13), "from too far on");
        assert_eq!(queue.waiting.len(), 0);
    }

    #[test]
    fn ticks_at_the_end_of_their_range_are_refused_or_ignored() {
        let mut queue = CommandQueue::new(Tick(10));
        assert_eq!(read(&mut queue, &message(u32::MAX, &[1, 2])), Err(Malformed));
        assert!(read(&mut queue, &message(u32::MAX, &[1])).is_ok());
        assert_eq!(next(&mut queue), None);
    }
}
