//! What a page must know to play: roads, a token, and what the game is; as `/session.json` says it, for one seat.

use super::calibration::Calibration;
use super::desk::Grip;
use super::state::Running;
use super::table::Table;
use crate::page::{digits, from_network};
use crate::tokens;
use sametick::secure::{SystemRandom, TokenKey};
use sametick_lab::people::SeatId;
use sametick_links::DATAGRAM_BYTES_MAX;
use sametick_links::web::{Door, PLAY_PATH};
use serde_json::{Value, json};
use std::net::SocketAddr;

fn common(door: &Door, udp: SocketAddr, key: &TokenKey, seat: SeatId) -> Value {
    let token = tokens::token(Some(key), seat.0.into(), &mut SystemRandom::new());
    let hashes: Vec<String> = door.certificate_hashes().iter().map(|hash| digits(hash)).collect();
    let webtransport = door
        .webtransport()
        .map(|address| json!({ "port": address.port(), "path": PLAY_PATH, "hashes": hashes }));
    json!({
        "build": env!("CARGO_PKG_VERSION"),
        "network": from_network(door),
        "webtransport": webtransport,
        "websocket": { "path": PLAY_PATH, "tls": door.is_tls(), "port": door.page().port() },
        "udp": { "port": udp.port() },
        "tables": null,
        "token": token.to_text(),
        "token_seconds": tokens::TOKEN_SECONDS,
        "limits": { "datagram_bytes": DATAGRAM_BYTES_MAX },
    })
}

pub(super) fn of_calibration(table: &Calibration, seat: SeatId, hand: &Grip) -> Value {
    let mut session = common(&table.door, table.udp, &table.key, seat);
    session["server"] = "calibration".into();
    let tick_rate = 1.0 / table.rates.tick_length.as_seconds_f64();
    session["matches"] = json!([{
        "map": table.map,
        "map_text": table.map_text,
        "title": table.content.map.title,
        "mode": "targets",
        "model": table.model,
        "tick_rate": tick_rate.round(),
        "snapshot_rate": tick_rate / f64::from(table.rates.ticks_per_snapshot),
        "players_max": 1,
        "players": 1,
        "people": 1,
        "bots": 0,
        "content": format!("{:016x}", table.content.name()),
    }]);
    session["lab"] = json!({
        "frame_rate": null,
        "frame_delay": 0,
        "input_delay": 0.0,
        "field_of_view": null,
        "model": table.model,
        "interpolation": null,
        "smoothing_ms": null,
        "is_calibration": true,
        "sensitivity": hand.sensitivity,
        "invert": hand.invert,
        "keys": hand.keys,
    });
    session
}

pub(super) fn of_trial(
    table: &Table,
    running: &Running,
    seat: SeatId,
    hand: &Grip,
) -> Option<Value> {
    let player = running.player_of(seat)?;
    let (start, settings) = (&running.start, &running.start.trial.settings);
    let mut session = common(&table.door, table.udp, &running.key, seat);
    session["server"] = format!("trial-{}-{}", start.trial.number, start.attempt).into();
    let is_scene = settings.text("play") == "scene";
    let (map, mode) = match is_scene {
        true => (settings.text("scene"), "scene"),
        false => (settings.text("map"), settings.text("mode")),
    };
    let people = start.seats.len() as u32;
    session["matches"] = json!([{
        "map": map,
        "map_text": running.map_text,
        "title": running.title,
        "mode": mode,
        "model": settings.text("model"),
        "tick_rate": settings.number("tick_rate"),
        "snapshot_rate": settings.number("snapshot_rate"),
        "players_max": settings.players(),
        "players": settings.players(),
        "people": people,
        "bots": settings.players().saturating_sub(people),
        "content": format!("{:016x}", running.content),
    }]);
    let targets = settings.target_set();
    if !is_scene && !targets.kinds.is_empty() {
        // Whoever plays makes the game from these: they are part of its number.
        session["matches"][0]["target_set"] = targets.text().into();
        session["matches"][0]["warm_up"] = settings.number("warm_up").into();
        session["matches"][0]["pause_seconds"] = running.pause_seconds.into();
    }
    if running.held_for > 0 {
        session["matches"][0]["held_for"] = running.held_for.into();
        session["matches"][0]["pause_seconds"] = running.pause_seconds.into();
    }
    let number = |name| settings.number_of(player, name);
    session["lab"] = json!({
        "frame_rate": number("frame_rate"),
        "frame_delay": number("frame_delay").unwrap_or(0.0),
        "input_delay": number("input_delay").unwrap_or(0.0),
        "field_of_view": number("field_of_view"),
        "model": settings.text("model"),
        "interpolation": number("interpolation"),
        "smoothing_ms": number("smoothing"),
        "is_calibration": false,
        "sensitivity": hand.sensitivity,
        "invert": hand.invert,
        "keys": hand.keys,
    });
    Some(session)
}
