//! Messages that describe themselves: what they should hold follows from who sent them as the
//! how-many-eth, so that nothing need be kept to check them.

use super::options::Options;
use sametick::Dice;

const POOL_BYTES: usize = 1 << 17;
const HEAD_BYTES: usize = 18;

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Up = 0,
    Down = 1,
}

/// What stands in front of a message's filler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) is_reliable: bool,
    pub(crate) way: Way,
    pub(crate) session: u32,
    pub(crate) counter: u32,
    /// How many reliable messages were sent before it.
    pub(crate) reliables_before: u32,
}

/// Writes and checks messages.
pub(crate) struct Content {
    pool: Vec<u8>,
    scratch: Vec<u8>,
    /// What the longest messages have, reliable and unreliable.
    reliable_bytes_max: usize,
    unreliable_bytes_max: usize,
}

impl Content {
    pub(crate) fn new(options: &Options) -> Self {
        let Options { seed, reliable_bytes_max, unreliable_bytes_max, .. } = *options;
        let mut pool = vec![0; POOL_BYTES];
        Dice::new(seed, 2).fill(&mut pool);
        // Some stretches of zeros, for messages whose zero runs are shortened.
        pool.chunks_mut(256).step_by(4).for_each(|chunk| chunk[64..160].fill(0));
        Self { pool, scratch: Vec::new(), reliable_bytes_max, unreliable_bytes_max }
    }

    /// The message with this head.
    pub(crate) fn message(&mut self, head: Head) -> &[u8] {
        let mixed = head.mixed();
        let length = self.length(head, mixed);
        let start = (mixed >> 20) as usize % (POOL_BYTES - length);
        let flags = u8::from(head.is_reliable) | (head.way as u8) << 1;
        self.scratch.clear();
        self.scratch.extend_from_slice(&[flags, 0x5a]);
        self.scratch.extend_from_slice(&head.session.to_le_bytes());
        self.scratch.extend_from_slice(&head.counter.to_le_bytes());
        self.scratch.extend_from_slice(&head.reliables_before.to_le_bytes());
        self.scratch.extend_from_slice(&(length as u32).to_le_bytes());
        self.scratch.extend_from_slice(&self.pool[start..start + length - HEAD_BYTES]);
        &self.scratch
    }

    /// The head of a message, if the whole message is what its sender would have written.
    pub(crate) fn check(&mut self, message: &[u8]) -> Option<Head> {
        let number = |at: usize| {
            let bytes = message.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let flags = *message.first()?;
        let head = Head {
            is_reliable: flags & 1 != 0,
            way: if flags & 2 != 0 { Way::Down } else { Way::Up },
            session: number(2)?,
            counter: number(6)?,
            reliables_before: number(10)?,
        };
        (self.message(head) == message).then_some(head)
    }

    fn length(&self, head: Head, mixed: u64) -> usize {
        let (kind, more) = (mixed % 256, (mixed >> 8) as usize % 4096);
        match (head.is_reliable, kind) {
            (false, 0..6) => 1_100,
            // More than fits one packet, up to the longest.
            (false, 6..9) => 1_300 + more * (self.unreliable_bytes_max - 1_300) / 4_095,
            (false, _) => 20 + more % 380,
            (true, 0..2) => self.reliable_bytes_max,
            (true, 2..40) => 20 + more % 2_980,
            (true, _) => 20 + more % 300,
        }
    }
}

impl Head {
    fn mixed(self) -> u64 {
        let kind = u64::from(self.is_reliable) << 1 | self.way as u64;
        let who = u64::from(self.session) << 34 | u64::from(self.counter) << 2 | kind;
        let before = u64::from(self.reliables_before).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let product = u128::from(who ^ before ^ 0x1234_5678_9abc_def1) * 0xd6e8_feb8_6659_fd93;
        (product >> 64) as u64 ^ product as u64
    }
}
