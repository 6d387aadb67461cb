//! The tables of docs/lab.md are those of the code; `SAMETICK_BLESS=1` writes them anew.

use sametick_lab::{metrics_table, settings_table};
use std::path::Path;

fn check(name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md");
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = text.split_once(&begin).expect("the table begins");
    let (written, after) = rest.split_once(&end).expect("the table ends");
    if std::env::var_os("SAMETICK_BLESS").is_some() {
        std::fs::write(&path, [before, &begin, table, &end, after].concat()).expect("written");
        return;
    }
    assert_eq!(written, table, "{name} in docs/lab.md; SAMETICK_BLESS=1 writes it anew");
}

#[test]
fn the_documented_settings_and_metrics_are_those_of_the_code() {
    check("settings", &settings_table());
    check("metrics", &metrics_table());
}
