//! What `docs/networks.md` says of the profiles is what the code does.

use std::fmt::Write;

use sametick::network::{Conditions, Jitter, Loss, Profile};

const DOCUMENT: &str = include_str!("../../../docs/networks.md");
const BEGIN: &str = "compares from here -->\n";
const END: &str = "<!-- profiles: to here -->";

#[test]
fn the_documented_profiles_are_those_of_the_code() {
    let (_, rest) = DOCUMENT.split_once(BEGIN).expect("the first marker");
    let (documented, _) = rest.split_once(END).expect("the second marker");
    let table = profiles_table();
    assert!(documented == table, "docs/networks.md should have between its markers:\n{table}");
}

fn profiles_table() -> String {
    let mut table = String::from(
        "| profile | way | delay | jitter | loss | bandwidth | queue | headers | MTU | besides |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for profile in Profile::all() {
        for (way, conditions) in [("up", &profile.up), ("down", &profile.down)] {
            let row = row(profile.name, way, conditions);
            writeln!(table, "{row}").expect("a string takes all");
        }
    }
    table.push('\n');
    for profile in Profile::all() {
        writeln!(table, "- **{}**: {}", profile.name, profile.reason).expect("a string takes all");
    }
    table
}

fn row(name: &str, way: &str, conditions: &Conditions) -> String {
    let bytes_per_second = conditions.bandwidth_bytes_per_second.expect("a bandwidth");
    let queue_ms = f64::from(conditions.queue_bytes_max) * 1e3 / f64::from(bytes_per_second);
    format!(
        "| {name} | {way} | {} | {} | {} | {} Mbit/s | {} kB, {} ms | {} B | {} B | {} |",
        conditions.delay,
        jitter(&conditions.jitter),
        loss(&conditions.loss),
        f64::from(bytes_per_second) * 8.0 / 1e6,
        f64::from(conditions.queue_bytes_max) / 1e3,
        queue_ms.round(),
        conditions.overhead_bytes,
        conditions.mtu_bytes,
        besides(conditions),
    )
}

fn jitter(jitter: &Jitter) -> String {
    match jitter {
        Jitter::Uniform { width } => format!("up to {width}"),
        Jitter::Normal { deviation } => format!("normal, ±{deviation}"),
        Jitter::Pareto { scale, shape, cap } => {
            format!("Pareto, {scale}, shape {shape}, up to {cap}")
        }
        other => format!("{other:?}"),
    }
}

fn loss(loss: &Loss) -> String {
    match *loss {
        Loss::None => "none".to_owned(),
        Loss::Random { probability } => percent(probability),
        Loss::Burst { enter, leave, loss_good, loss_bad } => format!(
            "{} on average: {}, but {} in bursts of {} datagrams, one burst in {}",
            percent((loss.mean() * 1e4).round() / 1e4),
            percent(loss_good),
            percent(loss_bad),
            1.0 / leave,
            (1.0 / enter + 1.0 / leave).round(),
        ),
    }
}

fn besides(conditions: &Conditions) -> String {
    let order = if conditions.keep_order { "order kept" } else { "order not kept" };
    let mut besides = order.to_owned();
    for (share, what) in [
        (conditions.duplicate, "twice".to_owned()),
        (conditions.reorder, format!("held back up to {}", conditions.reorder_by)),
        (conditions.bit_flip, "with a bit flipped".to_owned()),
        (conditions.truncate, "shortened".to_owned()),
    ] {
        if share > 0.0 {
            write!(besides, ", {} {what}", percent(share)).expect("a string takes all");
        }
    }
    besides
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}
