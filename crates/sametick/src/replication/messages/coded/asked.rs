//! What a client says besides its commands, in the same run of decisions as they. PROTOCOL.md has it under *Coded
//! message*.

use super::part::{Head, code_extra, code_near};
use super::stream::{STREAM_RECORDS_MAX, code_tick};
use crate::codec::compact::tree::NumberModel;
use crate::core::sequence::nearest_of;
use crate::core::tick::Tick;
use crate::replication::messages::decoded::Decoded;
use crate::sim::sight::{AGE_MAX, AHEAD_MAX, Moment, PART_MAX, SPAN_MAX};
use crate::sim::view::{Others, others_number, others_of};
use std::sync::LazyLock;

/// What a client's message says, but for the commands themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// In every which tick it wants a snapshot.
    pub(crate) every: u8,
    pub(crate) wants_commands: bool,
    /// Whether it can step its base by the rules as the server does.
    pub(crate) foresees: bool,
    pub(crate) decoded: Decoded,
    /// How it shows others, if it tells.
    pub(crate) others: Option<Others>,
    /// The states it claims, as bits that are handed on as they are.
    pub(crate) claims: Option<(Vec<u8>, usize)>,
    /// The tick of its newest command, and how many it tells; none if there is none.
    pub(crate) commands: Option<(Tick, usize)>,
    /// What the screen showed when each was given, the newest first, if it tells that.
    pub(crate) moments: Vec<Moment>,
}

/// What the reader knows before: the newest part it wrote, and its tick. What is written does not depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    pub(crate) part: u64,
    pub(crate) tick: Tick,
}

/// Of a part's number, the low bits that are told.
const PART_BITS: u32 = 16;
const COUNT_BITS: u32 = STREAM_RECORDS_MAX.trailing_zeros();
const OTHERS_BITS: u32 = 2;
const MILLIS_BITS: u32 = 10;
const FRACTION_BITS: u32 = 12;
const SPAN_BITS: u32 = 8;
/// So many parts before the newest are told of.
const BEFORE_MAX: u32 = 64;

/// Chances, of 65536, that nobody needs to learn.
const WANTS_COMMANDS: u16 = 6_000;
const FORESEES: u16 = 64_500;
const HAS_PARTS: u16 = 65_000;
const CAME: u16 = 61_000;
const TELLS: u16 = 50_000;
const CLAIMS: u16 = 1_000;
const COMMANDS: u16 = 65_000;
const SAME_SNAPSHOTS: u16 = 46_000;
const AHEAD: u16 = 6_000;

/// The models of messages, which are the same in all games.
struct Models {
    small: NumberModel,
    some: NumberModel,
    more: NumberModel,
}

static MODELS: LazyLock<Models> = LazyLock::new(|| Models {
    small: NumberModel::prior(0),
    some: NumberModel::prior(3),
    more: NumberModel::prior(4),
});

/// Codes all of it, either way.
pub(super) fn code_asked(coder: &mut impl Head, around: &Around, asked: Asked) -> Asked {
    let every = code_near(coder, &MODELS.small, u32::from(asked.every), 0, (0, 255)) as u8;
    let wants_commands = coder.decide(WANTS_COMMANDS, asked.wants_commands);
    let foresees = coder.decide(FORESEES, asked.foresees);
    let decoded = code_decoded(coder, around.part, asked.decoded);
    let tells = coder.decide(TELLS, asked.others.is_some());
    let others = tells.then(|| code_others(coder, asked.others));
    let claims = coder.decide(CLAIMS, asked.claims.is_some());
    let claims = claims.then(|| code_extra(coder, asked.claims.unwrap_or_default()));
    let mut said =
        Asked { every, wants_commands, foresees, decoded, others, claims, ..Asked::default() };
    if !coder.decide(COMMANDS, asked.commands.is_some()) {
        return said;
    }
    let (newest, count) = asked.commands.unwrap_or((Tick(0), 1));
    let newest = code_tick(coder, around.tick, newest);
    let count = coder.raw(COUNT_BITS, count as u32 - 1) as usize + 1;
    said.commands = Some((newest, count));
    let mut newer = None;
    for back in (0..count).filter(|_| tells) {
        let command = Tick(newest.0.saturating_sub(back as u32));
        let moment = asked.moments.get(back).copied().unwrap_or_default();
        let moment = code_moment(coder, command, newer, moment);
        newer = Some(moment);
        said.moments.push(moment);
    }
    said
}

/// Which parts came: the newest, how far back the oldest is that is told of, and which of those between came.
fn code_decoded(coder: &mut impl Head, newest: u64, decoded: Decoded) -> Decoded {
    if !coder.decide(HAS_PARTS, decoded.newest > 0) {
        return Decoded::default();
    }
    let low = coder.raw(PART_BITS, decoded.newest as u32 & ((1 << PART_BITS) - 1));
    let newest = nearest_of(newest, low, PART_BITS);
    let reach = u64::BITS - decoded.before.leading_zeros();
    let most = newest.saturating_sub(1).min(u64::from(BEFORE_MAX)) as u32;
    let reach = code_near(coder, &MODELS.some, reach, 0, (0, most));
    if newest == 0 {
        coder.fail();
    }
    let mut before = if reach > 0 { 1 << (reach - 1) } else { 0 };
    for place in 0..reach.saturating_sub(1) {
        before |= u64::from(coder.decide(CAME, decoded.before >> place & 1 != 0)) << place;
    }
    Decoded { newest, before }
}

fn code_others(coder: &mut impl Head, others: Option<Others>) -> Others {
    let (kind, millis) = others.map_or((0, 0), others_number);
    let kind = coder.raw(OTHERS_BITS, kind);
    let is_extrapolated = matches!(others_of(kind, 0), Others::Extrapolated { .. });
    let millis = if is_extrapolated { coder.raw(MILLIS_BITS, millis) } else { 0 };
    others_of(kind, millis)
}

/// What a screen showed when the command of a tick was given. `newer` is that of the command after it: as a rule time
/// went on evenly from here to there.
fn code_moment(
    coder: &mut impl Head,
    command: Tick,
    newer: Option<Moment>,
    moment: Moment,
) -> Moment {
    let age_max = AGE_MAX.min(command.0);
    let age = |tick: Tick| command.0.saturating_sub(tick.0).min(age_max);
    let ago = |age: u32| Tick(command.0.saturating_sub(age));
    let span = |from: Tick, to: Tick| to.0.saturating_sub(from.0).min(SPAN_MAX);
    let known = [age(moment.newest), age(moment.from), span(moment.from, moment.to)];
    let likely = newer.map(|newer| [newer.newest, newer.from, newer.to]);
    let of = |[newest, from, span]: [u32; 3]| {
        let (newest, from) = (ago(newest), ago(from));
        [newest, from, Tick(from.0.saturating_add(span))]
    };
    let is_same = likely.is_some() && coder.decide(SAME_SNAPSHOTS, likely == Some(of(known)));
    let between = match likely.filter(|_| is_same) {
        Some(same) => {
            // A snapshot that is newer than the command is told as if it were of its tick.
            let [newest, from, to] = same;
            if of([age(newest), age(from), span(from, to)]) != same {
                coder.fail();
            }
            same
        }
        None => {
            let between = code_between(coder, known, likely, age, age_max);
            if likely == Some(of(between)) {
                coder.fail();
            }
            of(between)
        }
    };
    let [newest, from, to] = between;
    let part = match newer {
        Some(newer) => {
            let step = PART_WHOLE / (newer.to.0.saturating_sub(newer.from.0).clamp(1, SPAN_MAX));
            let went =
                if is_same { u32::from(newer.part) } else { u32::from(newer.part) + PART_WHOLE };
            let likely = went.saturating_sub(step).min(PART_MAX);
            code_near(coder, &MODELS.small, u32::from(moment.part), likely, (0, PART_MAX))
        }
        None => coder.raw(FRACTION_BITS, u32::from(moment.part)),
    };
    let (mut ahead, mut before) = (0, Tick(0));
    if coder.decide(AHEAD, moment.ahead > 0) {
        ahead = coder.raw(FRACTION_BITS, u32::from(moment.ahead).min(AHEAD_MAX)) as u16;
        let back = coder.raw(SPAN_BITS, span(moment.before, moment.newest).min(newest.0));
        before = Tick(newest.0.saturating_sub(back));
        if ahead == 0 || back > newest.0 {
            coder.fail();
        }
    }
    Moment { newest, before, from, to, part: part as u16, ahead }
}

/// From one snapshot to the next, a screen is so far.
const PART_WHOLE: u32 = crate::sim::sight::PARTS as u32;

/// Between which snapshots a screen stood: how old the newest was, and the first of the two, and how far those are
/// apart. As a rule one snapshot earlier than the command after it.
fn code_between(
    coder: &mut impl Head,
    [newest, from, span]: [u32; 3],
    newer: Option<[Tick; 3]>,
    age: impl Fn(Tick) -> u32,
    age_max: u32,
) -> [u32; 3] {
    let Models { small, some, more } = &*MODELS;
    let Some([newer, later_from, later_to]) = newer else {
        let newest = code_near(coder, more, newest, 0, (0, age_max));
        let from = code_near(coder, some, from, newest, (0, age_max));
        let span = code_near(coder, some, span, 0, (0, SPAN_MAX));
        return [newest, from, span];
    };
    let likely = later_to.0.saturating_sub(later_from.0).min(SPAN_MAX);
    let earlier = |tick: Tick| age(Tick(tick.0.saturating_sub(likely)));
    let newest = code_near(coder, small, newest, age(newer), (0, age_max));
    let from = code_near(coder, small, from, earlier(later_from), (0, age_max));
    let span = code_near(coder, small, span, likely, (0, SPAN_MAX));
    [newest, from, span]
}
