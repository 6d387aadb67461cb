//! The experimenter's page: everyone's state, what is asked and achieved, and what the experimenter does about it.
//! Scores are not shown, and conditions only as letters until one is looked at, which is logged. What is asked of a
//! line stands beside what is achieved: whoever is to be blind for lines does not look there.

use super::desk::{Answer, Desk, Errors, text};
use super::state::unix_ms;
use super::table::lock;
use crate::page::digits;
use axum::http::StatusCode;
use qrcode::QrCode;
use qrcode::render::svg;
use sametick::secure::{Random, SystemRandom};
use sametick_lab::people::{EventKind, SeatId, Study};
use sametick_lab::{SETTINGS, Scope, Wish};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;

/// The cookie of whoever knows the password.
const COOKIE_NAME: &str = "sametick_live";
/// The most that are logged in at once; the oldest is forgotten.
const LOGINS_MAX: usize = 64;

/// Who knows the password. Only hashes are kept; comparing them takes the same time whatever they are.
pub(super) struct Logins {
    password: blake3::Hash,
    cookies: Mutex<VecDeque<blake3::Hash>>,
}

impl Logins {
    pub(super) fn new(password: &str) -> Self {
        Self { password: blake3::hash(password.as_bytes()), cookies: Mutex::default() }
    }

    /// A cookie for the password.
    pub(super) fn log_in(&self, password: &str, is_tls: bool) -> Option<String> {
        if blake3::hash(password.as_bytes()) != self.password {
            return None;
        }
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes);
        let cookie = digits(&bytes);
        let mut cookies = lock(&self.cookies);
        if cookies.len() == LOGINS_MAX {
            cookies.pop_front();
        }
        cookies.push_back(blake3::hash(cookie.as_bytes()));
        let secure = if is_tls { "; Secure" } else { "" };
        Some(format!("{COOKIE_NAME}={cookie}; Path=/live; HttpOnly; SameSite=Strict{secure}"))
    }

    /// Whether one of the cookies of a request is one of ours.
    pub(super) fn knows(&self, header: &str) -> bool {
        let cookies = header.split(';').filter_map(|one| one.trim().split_once('='));
        let mut ours = cookies.filter(|(name, _)| *name == COOKIE_NAME);
        let known = lock(&self.cookies);
        ours.any(|(_, value)| known.contains(&blake3::hash(value.as_bytes())))
    }
}

/// A QR code of a link, as a picture that a page takes in.
pub(super) fn qr_svg(link: &str) -> String {
    let Ok(code) = QrCode::new(link) else { return String::new() };
    let drawn = code.render::<svg::Color<'_>>().min_dimensions(240, 240).build();
    // A page takes the picture, not a document.
    drawn.find("<svg").map(|at| drawn[at..].to_owned()).unwrap_or_default()
}

/// Everything that the experimenter sees.
pub(super) fn state(desk: &Desk) -> Value {
    let mut state = lock(&desk.state);
    let mut shown = state.study.live(unix_ms());
    let link = format!("{}lab.html", desk.address);
    shown["qr_svg"] = desk.qr_svg.clone().into();
    shown["link"] = link.clone().into();
    shown["rows_dropped"] = state.rows_dropped.into();
    shown["settings"] = changeable().into();
    let mut anomalies = Vec::new();
    let seats = shown["seats"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let seats: Vec<Value> = seats
        .into_iter()
        .map(|mut row| {
            let seat = SeatId(row["seat"].as_u64().unwrap_or_default() as u32);
            row["link"] = format!("{link}#{}", row["code"].as_str().unwrap_or_default()).into();
            let running = state.running.values().find(|one| one.player_of(seat).is_some());
            let (attempt, is_playing) = (running.map(|one| one.start.attempt), running.is_some());
            row["attempt"] = attempt.into();
            let people = state.study.people();
            let tolerance_ms = people.tolerance_ms;
            let Some(life) = state.life(seat) else { return row };
            let achieved = life.achieved.filter(|_| is_playing);
            let told = life.told.as_ref();
            row["achieved_ms"] = achieved.and_then(|it| it.ping_ms).into();
            row["achieved_loss"] = achieved.and_then(|it| it.loss).into();
            if let Some(achieved) = achieved {
                row["asked_ms"] = achieved.asked_ms.into();
                row["asked_loss"] = achieved.asked_loss.into();
                if let (Some(asked), Some(found)) = (achieved.asked_ms, achieved.ping_ms)
                    && achieved.second.is_some()
                    && (found - asked).abs() > tolerance_ms
                {
                    let what = format!("asked {asked:.0} ms, achieved {found:.0} ms");
                    anomalies.push(format!("P{:02}: {what}.", seat.0));
                }
            }
            row["trace_ms"] = life.trace.iter().copied().collect::<Vec<Option<f64>>>().into();
            row["frame_ms"] = told.map(|told| told.frame_ms).into();
            row["is_focused"] = told.map(|told| told.is_focused).into();
            row["is_hidden"] = told.map(|told| told.hidden_ms > 0.0).into();
            row["flags"] = life.flags.clone().into();
            // What is marked in its row is also said.
            let against = life.flags.iter().filter(|_| !is_playing);
            anomalies
                .extend(against.map(|what| format!("P{:02}, in the last round: {what}.", seat.0)));
            if is_playing && told.is_some_and(|told| told.hidden_ms > 0.0) {
                anomalies.push(format!("P{:02}: the page is hidden.", seat.0));
            }
            row
        })
        .collect();
    shown["seats"] = seats.into();
    if let Some(known) = shown["anomalies"].as_array_mut() {
        known.extend(anomalies.into_iter().map(Value::from));
    }
    shown
}

/// What can be changed during a study: lines at once, the rest from the next trial on.
fn changeable() -> Vec<&'static str> {
    let of = |scope| SETTINGS.iter().filter(move |row| row.scope == scope && row.name != "trace");
    of(Scope::Line).chain(of(Scope::Player)).map(|row| row.name).collect()
}

/// What the experimenter does.
pub(super) fn act(desk: &Desk, body: &Value) -> Answer {
    let number = |name: &str| body[name].as_u64().and_then(|it| u32::try_from(it).ok());
    let wanted = |name: &str| {
        number(name).ok_or_else(|| Errors::bad(format!("which {name}? a number is wanted")))
    };
    let kind = match text(body, "do") {
        "pause" => EventKind::Paused,
        "resume" => EventKind::Resumed,
        "repeat" => EventKind::Repeated { group: wanted("group")?, trial: wanted("trial")? },
        "skip" => EventKind::Skipped { group: wanted("group")?, trial: wanted("trial")? },
        "note" => EventKind::Noted { text: text(body, "text").to_owned() },
        "change" => EventKind::Changed {
            group: if body["group"].is_null() { None } else { Some(wanted("group")?) },
            setting: text(body, "setting").to_owned(),
            value: text(body, "value").to_owned(),
        },
        "free" => {
            let state = lock(&desk.state);
            let mut codes = std::iter::repeat_with(|| {
                Study::draw_codes(1, &mut SystemRandom::new()).pop().unwrap_or_default()
            });
            let code = codes.find(|code| state.study.seat_of(code).is_none()).unwrap_or_default();
            EventKind::Freed { seat: wanted("seat")?, code }
        }
        "reveal" => EventKind::Revealed { group: wanted("group")? },
        other => return Err(Errors::bad(format!("nobody can do {other:?} here"))),
    };
    let mut state = lock(&desk.state);
    if let EventKind::Repeated { group, trial } = kind
        && state.study.playing().iter().any(|(one, number, _)| (*one, *number) == (group, trial))
    {
        // It is broken off, which has it played again; the reason is logged with that.
        let why = text(body, "why").trim();
        if why.is_empty() {
            return Err(Errors::new(StatusCode::CONFLICT, "say why: it is logged"));
        }
        let why = format!("the experimenter has it played again: {why}");
        desk.stop_table(&mut state, group, &why);
        return Ok(json!({}));
    }
    state.happen(None, kind.clone(), text(body, "why"))?;
    match kind {
        EventKind::Skipped { group, trial } => {
            let running = state.running.get(&group).map(|one| one.start.trial.number);
            if running == Some(trial) {
                desk.stop_table(&mut state, group, "the experimenter skipped it");
            }
        }
        EventKind::Changed { group, setting, value } => {
            let said = format!("changed {setting} to {value}");
            for (number, running) in &mut state.running {
                if group.is_none_or(|group| group == *number) {
                    running.changed.push(said.clone());
                }
            }
            for number in
                state.running.keys().filter(|one| group.is_none_or(|group| group == **one))
            {
                let now = state.study.playing_now(*number);
                if let (Some(trial), Some(table)) = (now, desk.table(*number)) {
                    table.wish(Wish::Change(Box::new(trial.settings)));
                }
            }
        }
        _ => {}
    }
    drop(state);
    Ok(json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_opens_and_only_its_cookie_is_known() {
        let logins = Logins::new("right");
        assert!(logins.log_in("wrong", false).is_none() && logins.log_in("", false).is_none());
        let cookie = logins.log_in("right", true).unwrap();
        assert!(cookie.ends_with("; Path=/live; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        assert!(logins.knows(pair) && logins.knows(&format!("a=b; {pair}; c")));
        let other = Logins::new("right");
        assert!(!other.knows(pair), "a cookie of another start is worth nothing");
        assert!(!logins.knows("") && !logins.knows("sametick_live=") && !logins.knows("x=y"));
    }

    #[test]
    fn a_link_becomes_a_picture() {
        let drawn = qr_svg("http://192.0.2.1:4080/lab.html");
        assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>"), "{drawn}");
    }
}
