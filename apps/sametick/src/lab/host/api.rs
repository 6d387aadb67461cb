//! What a participant's page asks for: a seat, what to show, where to play. It knows a code or a secret, and learns
//! nothing of any other seat.

use super::desk::{Answer, Desk, Errors, Grip, object, text};
use super::state::{State, Told, Trouble, unix_ms};
use super::table::lock;
use crate::page::digits;
use axum::http::StatusCode;
use sametick::secure::{Random, SystemRandom};
use sametick_lab::people::{Calibration, EventKind, SeatId, Stage};
use serde_json::{Value, json};

/// The most characters of a code or secret that are looked at.
const NAME_CHARACTERS_MAX: usize = 128;

/// A code is worth a seat, and a seat one page at a time.
pub(super) fn claim(desk: &Desk, body: &Value) -> Answer {
    let (code, secret) = (text(body, "code"), text(body, "secret"));
    if code.len() > NAME_CHARACTERS_MAX || secret.len() > NAME_CHARACTERS_MAX {
        return Err(unknown_code());
    }
    let mut state = lock(&desk.state);
    let seat = state.study.seat_of(code).ok_or_else(unknown_code)?;
    let code = state.study.code_of(seat).unwrap_or_default().to_owned();
    let known = state.study.secret_hash(seat).map(str::to_owned);
    if !secret.is_empty() && known.as_deref() == Some(&*hash(secret)) {
        state.touch(seat)?;
        return Ok(json!({ "secret": secret, "code": code }));
    }
    if known.is_some() && state.study.is_here(seat) && state.is_living(seat) {
        let what = "another page has this seat: close it, and try again in ten seconds";
        return Err(Errors::new(StatusCode::CONFLICT, what));
    }
    if known.is_some() && state.study.is_here(seat) {
        state.happen(Some(seat), EventKind::Left, "")?;
    }
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes);
    let secret = digits(&bytes);
    state.happen(Some(seat), EventKind::Claimed { secret_hash: hash(&secret) }, "")?;
    state.touch(seat)?;
    Ok(json!({ "secret": secret, "code": code }))
}

/// The same for every code that is not one: nobody learns which are near.
fn unknown_code() -> Errors {
    Errors::new(StatusCode::NOT_FOUND, "there is no seat of this code")
}

/// What is kept of a secret.
pub(super) fn hash(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

/// What a page shows; asking is a sign of life.
pub(super) fn seat(desk: &Desk, seat: SeatId) -> Answer {
    let mut state = lock(&desk.state);
    state.touch(seat)?;
    Ok(shown(desk, &mut state, seat))
}

fn shown(desk: &Desk, state: &mut State, seat: SeatId) -> Value {
    let now_ms = unix_ms();
    let stage = state.stage(seat, now_ms);
    state.study.note_shown(seat, &stage, now_ms);
    let mut shown = serde_json::to_value(&stage).unwrap_or_else(|_| json!({ "stage": "waiting" }));
    if matches!(stage, Stage::Refused { .. }) {
        // The figures tell of a condition: the experimenter reads them.
        shown["why"] = "this line is too slow for one of the rounds".into();
    }
    shown["title"] = desk.title.clone().into();
    shown["now_ms"] = now_ms.into();
    if stage == Stage::Calibration {
        shown["floor_ms"] = desk.calibration.floor_ms(seat.0.into()).into();
        let Grip { sensitivity, invert, keys } = desk.grip(state, seat);
        shown["hand"] = json!({ "sensitivity": sensitivity, "invert": invert, "keys": keys });
    }
    shown
}

/// What a participant does.
pub(super) fn act(desk: &Desk, seat: SeatId, body: &Value) -> Answer {
    let mut state = lock(&desk.state);
    state.touch(seat)?;
    let kind = match text(body, "do") {
        "consent" => EventKind::Consented,
        "decline" => EventKind::Declined,
        "ready" => EventKind::Ready,
        "measure" => EventKind::MeasuresAgain,
        "calibrate" => EventKind::Calibrated(calibration(desk, seat, body)?),
        "answer" => {
            let number = |name: &str| body[name].as_u64().and_then(|it| u32::try_from(it).ok());
            let (trial, question) = (number("trial"), number("question").unwrap_or(u32::MAX));
            // What was shown is known here.
            let presented = match state.study.stage(seat, unix_ms()) {
                Stage::Questions { questions, .. } => {
                    let asked = questions.into_iter().find(|asked| asked.question == question);
                    asked.map(|asked| asked.options).unwrap_or_default()
                }
                _ => Vec::new(),
            };
            let answer = text(body, "answer").to_owned();
            EventKind::Answered { trial, question, presented, answer }
        }
        other => return Err(Errors::bad(format!("nobody can do {other:?} here"))),
    };
    let declines = matches!(kind, EventKind::Declined);
    state.happen(Some(seat), kind, "")?;
    if declines && let Some(group) = state.study.group_of(seat) {
        desk.stop_table(&mut state, group, "somebody does not take part any more");
    }
    Ok(shown(desk, &mut state, seat))
}

/// What a page says of itself, with the floor that the server found: nobody is believed about that.
fn calibration(desk: &Desk, seat: SeatId, body: &Value) -> Result<Calibration, Errors> {
    let Some(floor_ms) = desk.calibration.floor_ms(seat.0.into()) else {
        let what = "the line is not measured yet: play against the targets for three seconds";
        return Err(Errors::new(StatusCode::CONFLICT, what));
    };
    let mut said = object(body)?;
    said.remove("do");
    said.remove("floor_ms");
    let said = serde_json::from_value::<Calibration>(said.into());
    let said =
        said.map_err(|error| Errors::bad(format!("no calibration is like this: {error}")))?;
    Ok(Calibration { floor_ms, ..said })
}

/// What a page tells of a second.
pub(super) fn telemetry(desk: &Desk, seat: SeatId, body: Value) -> Answer {
    let told = serde_json::from_value::<Told>(body);
    let told = told.map_err(|error| Errors::bad(format!("no telemetry is like this: {error}")))?;
    if !told.is_possible() {
        return Err(Errors::bad("no page can have seen that".to_owned()));
    }
    let mut state = lock(&desk.state);
    state.touch(seat)?;
    if let Some(life) = state.life(seat) {
        life.told = Some(told.clone());
    }
    let group = state.study.group_of(seat).unwrap_or_default();
    if let Some(running) = state.running.get_mut(&group)
        && (running.start.trial.number, running.start.attempt) == (told.trial, told.attempt)
    {
        running.tell(seat, told);
    }
    Ok(json!({}))
}

/// Where a page plays at present, and what it knocks with.
pub(super) fn session(desk: &Desk, seat: SeatId) -> Answer {
    let mut state = lock(&desk.state);
    state.touch(seat)?;
    let hand = &desk.grip(&state, seat);
    match state.study.stage(seat, unix_ms()) {
        Stage::Calibration => Ok(desk.calibration_session(seat, hand)),
        Stage::Play { .. } => {
            let group = state.study.group_of(seat).unwrap_or_default();
            let running = state.running.get(&group);
            let session = running.and_then(|one| desk.trial_session(one, seat, hand));
            session.ok_or_else(nothing_to_play)
        }
        _ => Err(nothing_to_play()),
    }
}

fn nothing_to_play() -> Errors {
    Errors::new(StatusCode::NOT_FOUND, "there is nothing to play at present")
}

impl From<Trouble> for Errors {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(refusal) => Self::new(StatusCode::CONFLICT, &refusal.what),
            Trouble::Log(_) => {
                let what = "this could not be written down: the experimenter knows";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, what)
            }
        }
    }
}
