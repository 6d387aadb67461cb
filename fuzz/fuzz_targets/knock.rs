//! Arbitrary and damaged answers to a client that knocks: it believes its own server and nobody else.
#![no_main]

mod script;

use libfuzzer_sys::fuzz_target;
use sametick::secure::{
    Applicant, ClientToken, Denial, Gate, GateConfig, Knock, Outcome, Past, Place, TokenKey,
    Verdict,
};
use sametick::{Peer, Span, Time};
use script::{Script, Seeded};
use std::sync::LazyLock;

/// What a server says to the client of [`knock`], if it gets everything at time zero.
struct Answers {
    token: ClientToken,
    retry: Vec<u8>,
    accept: Vec<u8>,
    denied: Vec<u8>,
}

static ANSWERS: LazyLock<Answers> = LazyLock::new(|| {
    let random = &mut Seeded::new(1);
    let token = ClientToken::open_mode(7, 17, b"Ann", random).expect("a short name");
    let [(retry, accept), (_, denied)] = [false, true].map(|full| answers(&token, full));
    Answers { token, retry, accept, denied }
});

/// A knock that is the same every time, its ephemeral keys included.
fn knock(token: &ClientToken) -> Knock {
    Knock::new(token.clone(), Time::ZERO, &mut Seeded::new(2))
}

fn answers(token: &ClientToken, full: bool) -> (Vec<u8>, Vec<u8>) {
    let random = &mut Seeded::new(3);
    let past = Past::Unknown { started_unix_seconds: 0 };
    let config = GateConfig::new(7, TokenKey::PUBLISHED, TokenKey::from_bytes([9; 32]), past);
    let mut gate = Gate::new(config, Time::ZERO, random);
    let mut knock = knock(token);
    let mut ask = |knock: &mut Knock| {
        let hello = knock.transmit(Time::ZERO).expect("a hello is due");
        let peer = Peer::from_ipv4([192, 0, 2, 7], 4000);
        let admit = &mut |_: &Applicant| match full {
            true => Err(Denial::ServerFull),
            false => Ok(Place { slot: 3, tick: 900 }),
        };
        match gate.receive(Time::ZERO, 0, peer, &hello, random, admit) {
            Verdict::Reply(reply) => reply.to_vec(),
            Verdict::Accepted(accepted) => accepted.reply,
            Verdict::Dropped(reason) => panic!("{reason:?}"),
        }
    };
    let retry = ask(&mut knock);
    assert!(knock.receive(Time::ZERO, &retry).is_none());
    (retry, ask(&mut knock))
}

fuzz_target!(|input: &[u8]| {
    let answers = &*ANSWERS;
    let mut script = Script(input);
    let mut knock = knock(&answers.token);
    let mut now = Time::ZERO;
    for _ in 0..50 {
        if script.is_over() {
            return;
        }
        let operation = script.byte();
        now += Span::millis(u64::from(script.byte()));
        let genuine = match operation % 4 {
            0 => answers.retry.clone(),
            1 => answers.accept.clone(),
            2 => answers.denied.clone(),
            _ => script.string().to_vec(),
        };
        let mut datagram = genuine.clone();
        script.damage(&mut datagram);
        match knock.receive(now, &datagram) {
            Some(Outcome::Connected(connected)) => {
                assert_eq!(datagram, answers.accept);
                assert_eq!((connected.connection_id.slot(), connected.tick), (3, 900));
                assert!(!connected.reset_token.matches(&datagram));
            }
            Some(Outcome::Denied(denial)) => {
                assert_eq!((denial, &datagram), (Denial::ServerFull, &answers.denied));
            }
            None => continue,
        }
        assert!(knock.receive(now, &genuine).is_none() && knock.transmit(now).is_none());
    }
});
