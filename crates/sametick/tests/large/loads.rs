//! How long worlds take to arrive, and how much is sent for them.

use super::depot::{self, Goods, Stock};
use super::{Arrived, Options, Party};
use sametick::channel::RateLimits;
use sametick::{PlayerId, Span};

/// On a link without loss, what is sent until a client has the world is at most so many times the world.
const TIMES_THE_WORLD_MAX: f64 = 1.3;
/// Besides, each snapshot of the first round trip tells of the viewer's own entity, and may have to tell of its chunk
/// again: half a datagram. What fits one datagram is told whole in each.
const SNAPSHOT_BYTES: u64 = 600;
const DATAGRAM_BYTES: u64 = 1_250;
/// And each snapshot until all is there costs a packet, what precedes its parts, and the viewer's own entity.
const LIVE_BYTES: u64 = 120;

pub(super) fn bytes_max(options: &Options, arrived: &Arrived) -> u64 {
    let every = options.rates.tick_length * u64::from(options.rates.ticks_per_snapshot);
    let round_trip = options.ping + every * 2;
    let snapshots = round_trip.as_micros().div_ceil(every.as_micros());
    let is_one = arrived.world_bytes <= DATAGRAM_BYTES;
    let each = if is_one { DATAGRAM_BYTES } else { SNAPSHOT_BYTES };
    let began = options.rates.tick_length * u64::from(options.stock.from_tick);
    let live = (arrived.after - began).as_micros() / every.as_micros();
    (TIMES_THE_WORLD_MAX * arrived.world_bytes as f64) as u64 + each * snapshots + LIVE_BYTES * live
}

fn check(options: &Options) -> Arrived {
    let arrived = Party::new(options).arrive(options);
    let arrived = arrived.unwrap_or_else(|| panic!("{options:?}: it never arrives"));
    let times = arrived.bytes as f64 / arrived.world_bytes as f64;
    let (stock, ping) = (options.stock, options.ping);
    println!("{} {:?}, {ping}: {times:.2} times, {arrived:?}", stock.count, stock.goods);
    assert_eq!(arrived.vanished, 0, "{options:?}: some that were there vanished");
    if options.loss == 0.0 {
        let most = bytes_max(options, &arrived);
        assert!(arrived.bytes <= most, "{options:?}: {arrived:?}, more than {most} bytes");
    }
    arrived
}

const WORLDS: [(usize, Goods); 7] = [
    (130, Goods::Bytes8),
    (31, Goods::Bytes256),
    (100, Goods::Bytes64),
    (300, Goods::Bytes1000),
    (1_000, Goods::Bytes256),
    (2_500, Goods::Bytes8),
    (4_095, Goods::Bytes8),
];

#[test]
fn a_world_that_is_spawned_at_once_arrives_over_any_round_trip() {
    for ping in [0, 2, 80, 500] {
        for (count, goods) in WORLDS {
            check(&Options::new(count, goods, ping));
        }
    }
}

#[test]
fn a_world_arrives_in_compact_parts_too() {
    for ping in [0, 80, 500] {
        for (count, goods) in WORLDS {
            check(&Options { is_compact: true, ..Options::new(count, goods, ping) });
        }
    }
}

#[test]
fn a_world_that_suddenly_grows_arrives_over_any_round_trip() {
    for ping in [0, 80, 500] {
        for is_compact in [false, true] {
            let mut options = Options { is_compact, ..Options::new(1_000, Goods::Bytes64, ping) };
            // Once the client has found its place, all at once; and over a second and a half.
            for per_tick in [4_096, 11] {
                options.stock = Stock { from_tick: 180, per_tick, ..options.stock };
                check(&options);
            }
        }
    }
}

#[test]
fn a_world_of_the_longest_entities_arrives() {
    // Of 1,500: seeds draw more.
    check(&Options::new(1_500, Goods::Bytes1000, 80));
}

#[test]
fn a_world_arrives_over_links_that_lose_a_fifth() {
    for (loss, ping) in [(0.02, 80), (0.05, 500), (0.2, 0), (0.2, 80), (0.2, 500)] {
        for (count, goods) in WORLDS {
            let rate = RateLimits { floor_bytes_per_second: 250_000, ..RateLimits::default() };
            check(&Options { loss, rate, ..Options::new(count, goods, ping) });
        }
    }
}

/// The lowest ceiling with which every world arrives: half of it, or what is left besides a burst of 1,800 bytes, is
/// refilled in a second, and acknowledgements of a client that sends 60 times a second take a quarter of that.
const CEILING_BYTES_PER_SECOND_MIN: u32 = 4_000;

#[test]
fn a_world_arrives_at_the_lowest_rate() {
    let lowest = RateLimits {
        ceiling_bytes_per_second: CEILING_BYTES_PER_SECOND_MIN,
        ..RateLimits::default()
    };
    // With a fifth lost the rate falls to its floor.
    for (rate, loss, ping) in
        [(lowest, 0.0, 80), (lowest, 0.02, 500), (RateLimits::default(), 0.2, 80)]
    {
        for (count, goods) in [(20, Goods::Bytes1000), (400, Goods::Bytes8), (60, Goods::Bytes256)]
        {
            let within = Span::seconds(60);
            let options = Options::new(count, goods, ping);
            let options = Options { rate, loss, within, ..options };
            let arrived = Party::new(&options).arrive(&options);
            println!("{count} {goods:?}: {arrived:?}");
            assert!(arrived.is_some(), "{options:?}");
        }
    }
}

/// Each of the goods changes in each tick, and there is not nearly room for all of them.
#[test]
fn in_a_large_world_that_changes_everywhere_everything_is_known_and_no_older_than_its_turn() {
    for ping in [0, 80, 500] {
        for is_compact in [false, true] {
            let mut options = Options::new(2_000, Goods::Bytes8, ping);
            options.is_compact = is_compact;
            options.stock.stirred_one_in = 1;
            let mut party = Party::new(&options);
            party.run(Span::seconds(8));
            let (here, there) = (party.client.snapshot().expect("it plays"), party.server.world());
            assert_eq!(here.entities().count(), there.entities().count(), "{options:?}");
            let oldest = depot::oldest(here, there);
            println!("{ping} ms, compact {is_compact}: {oldest} ticks");
            assert!(oldest < 120, "{options:?}: {oldest} ticks old");
        }
    }
}

#[test]
fn a_client_that_cannot_catch_up_is_reported_and_one_that_has_all_is_not() {
    let mut options = Options::new(1_000, Goods::Bytes256, 80);
    let mut party = Party::new(&options);
    party.run(Span::seconds(1));
    let backlog = party.server.backlog(PlayerId(0)).expect("most is on its way");
    assert!((200..1_000).contains(&backlog.entities), "{backlog:?}");
    party.arrive(&options).expect("it arrives");
    party.run(Span::seconds(1));
    assert_eq!(party.server.backlog(PlayerId(0)), None);
    options.rate.ceiling_bytes_per_second = 1_000;
    let mut party = Party::new(&options);
    party.run(Span::seconds(30));
    let backlog = party.server.backlog(PlayerId(0)).expect("it is far behind");
    assert!(backlog.entities > 900 && backlog.since > Span::seconds(25), "{backlog:?}");
}
