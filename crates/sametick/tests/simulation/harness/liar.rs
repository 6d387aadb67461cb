//! A client with a token and keys that does not follow the protocol: its packets are built by hand.

use super::client::fresh_token;
use super::ledger::Ledger;
use super::options::LIAR_IDENTITIES;
use super::{Seeded, UNPROTECTED_FIRST};
use sametick::bits::BitWriter;
use sametick::network::{Host, Network};
use sametick::secure::{Connected, Knock, Outcome};
use sametick::{Dice, Peer, Span, Time};

/// Liars are many; each has a few identities, to be one session each.
const IDENTITY_FIRST: u64 = 900;
const BODY_BYTES_MAX: usize = 1177;
const PIECE_BYTES: usize = 1162;

pub(crate) struct Liar {
    pub(crate) host: Host,
    pub(crate) wake: Time,
    stage: Stage,
    habit: Habit,
    first_number: u64,
    until: Time,
    fragments_sent: u64,
    random: Seeded,
    dice: Dice,
    body: BitWriter,
    datagram: Vec<u8>,
}

enum Stage {
    Idle,
    Knocking(Box<Knock>, u64),
    Here { connected: Box<Connected>, session: usize, number: u64 },
}

/// What it mostly does in a session.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Acknowledges what was never sent.
    AcknowledgesTheUnsent,
    /// Sends fragments far ahead, with gaps that are never filled.
    LeavesGaps,
    /// Sends a reliable message that never ends.
    NeverEnds,
    /// Sends single pieces of messages in many pieces.
    SendsPieces,
    /// Sends messages that depend on what never comes.
    DependsOnNothing,
    /// Sends random bodies.
    Babbles,
    /// Acknowledges nothing.
    KeepsSilent,
}

impl Liar {
    pub(crate) fn new(seed: u64, host: Host, first_number: u64) -> Self {
        Self {
            host,
            wake: Time::from_millis(500),
            stage: Stage::Idle,
            habit: Habit::LeavesGaps,
            first_number: first_number.max(UNPROTECTED_FIRST),
            until: Time::ZERO,
            fragments_sent: 0,
            random: Seeded(Dice::new(seed, 30)),
            dice: Dice::new(seed, 31),
            body: BitWriter::fixed(BODY_BYTES_MAX),
            datagram: Vec::new(),
        }
    }

    pub(crate) fn receive(&mut self, ledger: &mut Ledger, network: &mut Network) {
        let mut datagram = std::mem::take(&mut self.datagram);
        while network.receive(ledger.now, self.host, &mut datagram).is_some() {
            let Stage::Knocking(knock, identity) = &mut self.stage else { continue };
            match knock.receive(ledger.now, &datagram) {
                None => {}
                Some(Outcome::Denied(_)) => self.stage = Stage::Idle,
                Some(Outcome::Connected(connected)) => {
                    let session =
                        ledger.begin_session(connected.connection_id, *identity, true, ledger.now);
                    let number = self.first_number;
                    self.stage = Stage::Here { connected, session, number };
                    self.begin(ledger.now);
                }
            }
        }
        self.datagram = datagram;
    }

    fn begin(&mut self, now: Time) {
        self.until = now + Span::millis(500 + self.dice.below(8_000));
        self.fragments_sent = 0;
        self.habit = match self.dice.below(7) {
            0 => Habit::AcknowledgesTheUnsent,
            1 => Habit::LeavesGaps,
            2 => Habit::NeverEnds,
            3 => Habit::SendsPieces,
            4 => Habit::DependsOnNothing,
            5 => Habit::Babbles,
            _ => Habit::KeepsSilent,
        };
    }

    pub(crate) fn act(&mut self, ledger: &mut Ledger, network: &mut Network, server: Peer) {
        let now = ledger.now;
        self.wake = now + Span::millis(5 + self.dice.below(20));
        match &mut self.stage {
            Stage::Idle => {
                let identity = IDENTITY_FIRST + self.dice.below(LIAR_IDENTITIES);
                let token = fresh_token(now, identity, &mut self.random);
                let knock = Knock::new(token, now, &mut self.random);
                self.stage = Stage::Knocking(Box::new(knock), identity);
            }
            Stage::Knocking(knock, _) => {
                if let Some(hello) = knock.transmit(now)
                    && ledger.script.allows("liar's hello", now, || "to the server".to_owned())
                {
                    network.send(now, self.host, server, &hello);
                }
                if knock.timed_out(now) {
                    self.stage = Stage::Idle;
                }
            }
            Stage::Here { .. } => self.lie(ledger, network, server),
        }
        if matches!(self.stage, Stage::Here { .. }) && now >= self.until {
            self.stage = Stage::Idle;
        }
    }

    fn lie(&mut self, ledger: &mut Ledger, network: &mut Network, server: Peer) {
        let Stage::Here { connected, session, number } = &mut self.stage else { return };
        self.body.clear();
        let dice = &mut self.dice;
        // The first packet is in order, so that there is a session to lie in.
        let is_first = *number == self.first_number;
        let mut is_impossible = false;
        match self.habit {
            _ if is_first => write_head(&mut self.body, 1, None),
            Habit::AcknowledgesTheUnsent => {
                // Ahead of what can be sent until it arrives.
                let ahead = ledger.last_down_number(*session) + 4_000 + dice.below(20_000);
                is_impossible = ledger.last_down_number(*session) > 0;
                write_acknowledgement(&mut self.body, ahead);
            }
            Habit::LeavesGaps => {
                let count = 1 + dice.below(8);
                write_head(&mut self.body, 0, Some(count));
                for _ in 0..count {
                    // Never the first: nothing is ever complete.
                    let sequence = 1 + dice.below(32_000);
                    write_fragment(&mut self.body, sequence, dice.below(120) as usize);
                }
            }
            Habit::NeverEnds => {
                write_head(&mut self.body, 0, Some(1));
                write_fragment(&mut self.body, self.fragments_sent, 1024);
                self.fragments_sent += 1;
            }
            Habit::SendsPieces => {
                write_piece(&mut self.body, dice.below(*number + 1), dice.below(15));
            }
            Habit::DependsOnNothing => {
                write_dependent(&mut self.body, 1 + dice.below(30_000));
            }
            Habit::Babbles => {
                let mut bytes = [0; 64];
                dice.fill(&mut bytes);
                self.body.write_bytes(&bytes[..dice.below(64) as usize]);
            }
            Habit::KeepsSilent => write_head(&mut self.body, 1, None),
        }
        let Ok(body) = self.body.finish() else { return };
        self.datagram.clear();
        self.datagram.resize(connected.sealer.header_bytes(), 0);
        self.datagram.extend_from_slice(body);
        self.datagram.resize(self.datagram.len() + connected.sealer.tag_bytes(), 0);
        if connected.sealer.seal_in_place(*number, 0, &mut self.datagram).is_err() {
            return;
        }
        let key_id = connected.sealer.key_id();
        ledger.sealed_by_liar(*session, key_id, *number, &self.datagram);
        if is_impossible {
            ledger.lied(*session, &self.datagram);
        }
        // Numbers may be skipped.
        *number += 1 + if dice.chance(0.02) { dice.below(2_000) } else { 0 };
        if ledger.script.allows("lie", ledger.now, || format!("{:?}", self.habit)) {
            network.send(ledger.now, self.host, server, &self.datagram);
        }
    }
}

/// No acknowledgement, no goodbye, a payload's kind and how many fragments follow.
fn write_head(bits: &mut BitWriter, payload: u64, fragments: Option<u64>) {
    bits.write_bool(false);
    bits.write_bool(false);
    bits.write(payload, 2);
    bits.write_bool(fragments.is_some());
    if let Some(fragments) = fragments {
        bits.write(fragments - 1, 6);
    }
}

fn write_acknowledgement(bits: &mut BitWriter, newest: u64) {
    bits.write_bool(true);
    bits.write(newest & 0xffff, 16);
    bits.write(0, 10);
    bits.write_bool(false);
    bits.write_bool(false);
    bits.write(0, 2);
    bits.write_bool(false);
}

fn write_fragment(bits: &mut BitWriter, sequence: u64, length: usize) {
    bits.write_bool(false);
    bits.write(sequence & 0xffff, 16);
    bits.write_bool(false);
    bits.write(length as u64, 11);
    bits.write_bytes(&[7; 1024][..length]);
}

/// One piece of sixteen, full.
fn write_piece(bits: &mut BitWriter, first: u64, index: u64) {
    bits.write_bool(false);
    bits.write_bool(false);
    bits.write(3, 2);
    bits.write(first & 0xffff, 16);
    bits.write(index, 4);
    bits.write(15, 4);
    bits.write_bool(false);
    bits.write_bool(false);
    sametick::codec::zero_runs::write_message(bits, &[9; PIECE_BYTES], None);
}

fn write_dependent(bits: &mut BitWriter, fragment: u64) {
    bits.write_bool(false);
    bits.write_bool(false);
    bits.write(2, 2);
    bits.write_bool(true);
    bits.write(fragment & 0xffff, 16);
    bits.write_bool(false);
    sametick::codec::zero_runs::write_message(bits, &[9; 900], None);
}
