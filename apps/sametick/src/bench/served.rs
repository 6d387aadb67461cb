//! A server in memory: what benchmarks of whole servers ask it for, and what it showed.

use super::line::Flight;
use sametick::secure::Random;
use sametick::{
    Client, Dice, Entities, Game, Layouts, Peer, PlayerId, Server, Table, Tick, Time, World,
};
use std::collections::VecDeque;
use std::time::Duration;

pub(crate) struct Seeded(pub(crate) Dice);

impl Random for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }
}

/// All that a server is asked for at one moment. Its name is known to whoever counts instructions.
#[inline(never)]
pub(crate) fn step_server<G: Game>(
    server: &mut Server<G>,
    now: Time,
    random: &mut Seeded,
    arriving: &mut Flight,
    departing: &mut Flight,
) {
    arriving.each(|client, datagram| {
        if let Some(answer) = server.receive(now, address_of(client), datagram, random) {
            departing.push(client, &answer);
        }
    });
    if now >= server.next_wake() {
        server.advance(now);
    }
    while let Some((to, datagram)) = server.transmit(now) {
        departing.push(client_at(to), datagram);
    }
}

pub(crate) fn address_of(client: usize) -> Peer {
    let [high, low] = (client as u16).to_be_bytes();
    Peer::from_ipv4([10, high, low, 1], 4000)
}

fn client_at(peer: Peer) -> usize {
    let [_, high, low, _] = peer.ipv4().unwrap_or_default();
    usize::from(u16::from_be_bytes([high, low]))
}

/// Of how many snapshots the server's view is remembered.
const VIEWS_KEPT: usize = 32;

/// What a server showed of late.
pub(crate) struct Views {
    layouts: Layouts,
    /// As others were shown it, and as it was.
    views: VecDeque<(Tick, [Table; 2])>,
}

impl Views {
    pub(crate) fn of<E: Entities>() -> Self {
        Self { layouts: Layouts::of::<E>(), views: VecDeque::new() }
    }

    pub(crate) fn remember<E: Entities>(&mut self, world: &World<E>) {
        let mut tables = match self.views.len() {
            VIEWS_KEPT => self.views.pop_front().map(|(_, tables)| tables).unwrap_or_default(),
            _ => Default::default(),
        };
        world.fill(&self.layouts.shown, &mut tables[0]);
        world.fill(&self.layouts.state, &mut tables[1]);
        self.views.push_back((world.tick(), tables));
    }

    /// Whether a client has what was shown: its own as it was, the others as shown, at the tick of its
    /// snapshot or, if that did not come whole, at any.
    pub(crate) fn show<G: Game>(&self, client: &Client<G>, is_whole: bool) -> bool {
        let (Some(world), Some(me)) = (client.snapshot(), client.me()) else { return false };
        self.show_world(world, me, is_whole)
    }

    fn show_world<E: Entities>(&self, world: &World<E>, me: PlayerId, is_whole: bool) -> bool {
        let mut tables: [Table; 2] = Default::default();
        world.fill(&self.layouts.shown, &mut tables[0]);
        world.fill(&self.layouts.state, &mut tables[1]);
        world.entities().all(|(id, entity)| {
            let precision = usize::from(world.owner(id) == Some(me));
            let kind = usize::from(entity.kind());
            let layout = &[&self.layouts.shown, &self.layouts.state][precision][kind];
            let here = tables[precision].record(id.slot(), layout);
            let mut views =
                self.views.iter().filter(|(tick, _)| *tick == world.tick() || !is_whole);
            views.any(|(_, shown)| {
                shown[precision].head(id.slot()) == tables[precision].head(id.slot())
                    && shown[precision].record(id.slot(), layout) == here
            })
        })
    }
}

/// The time this thread has had of the processor: others on the machine do not count.
#[cfg(target_os = "linux")]
pub(crate) fn cpu_time() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map(Duration::from).expect("there is such a clock")
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn cpu_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}
