//! What `docs/net-graph.md` says of the warnings is what the library does.

use sametick::health::TABLE;
use std::fmt::Write;

const DOCUMENT: &str = include_str!("../../../../docs/net-graph.md");
const BEGIN: &str = "compares from here -->\n";
const END: &str = "<!-- warnings: to here -->";

#[test]
fn the_documented_thresholds_are_those_of_the_library() {
    let (_, rest) = DOCUMENT.split_once(BEGIN).expect("the first marker");
    let (documented, _) = rest.split_once(END).expect("the second marker");
    let mut table = String::from(
        "| warning | whose | what is measured | fires | over below | severe | for so long |\n\
         |---|---|---|---:|---:|---:|---:|\n",
    );
    for row in TABLE {
        let severe = if row.severe.is_finite() { row.severe.to_string() } else { "–".to_owned() };
        let (kind, whose, lasts) = (row.kind, row.whose, row.lasts.as_seconds_f64());
        let (fires, clears) = (row.fires, row.clears);
        writeln!(
            table,
            "| {kind:?} | {whose:?} | {} | {fires} | {clears} | {severe} | {lasts} s |",
            row.measures
        )
        .expect("a string takes all");
    }
    assert!(documented == table, "docs/net-graph.md should have between its markers:\n{table}");
}
