//! Whose hands play, with which keys, and in which order they meet the sessions: what FPSci keeps in its files of
//! users, keys and states.

use crate::experiment::{Experiment, Session};
use crate::keys::browser_keys;
use crate::scan::{Scan, Source};
use crate::square::Order;
use crate::value::{Kind, Plain, Value, number};
use crate::wrong::{Wrong, meant, near};
use std::fmt::Write as _;
use toml::de::DeValue;

/// The most hands, and orders, that a file may have.
const HANDS_MAX: usize = 10_000;
/// What the page lets keys do, by the names that it has for it.
pub const KEY_ACTIONS: [&str; 13] = [
    "forward", "back", "left", "right", "jump", "crouch", "fire", "reload", "rifle", "shotgun",
    "launcher", "scores", "say",
];
/// How far a hundred dots of a mouse may turn somebody on the page.
pub(crate) const SENSITIVITY: std::ops::RangeInclusive<f64> = 0.1..=60.0;

/// Hands, keys and the order of sessions.
///
/// ```
/// use sametick_lab::Experiment;
///
/// let file = r#"
/// question = "?"
/// session_orders = [["b", "a"]]
/// keys.jump = "KeyJ"
/// [[hand]]
/// id = "P01"
/// sensitivity = 9
/// [[session]]
/// name = "a"
/// [[session]]
/// name = "b"
/// "#;
/// let experiment = Experiment::read(file, ".".as_ref(), false)?;
/// assert_eq!(experiment.controls.page(1), "sensitivity=9&key.jump=KeyJ");
/// assert_eq!(experiment.session_order(1), [1, 0]);
/// # Ok::<(), sametick_lab::Wrong>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Controls {
    /// By seat, from the first: what their calibration begins with.
    pub hands: Vec<Hand>,
    /// Actions of the page and their keys, both by the names that it has for them.
    pub keys: Vec<(String, String)>,
    /// In which order participants meet the sessions.
    pub orders: SessionOrders,
}

/// One participant's hand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hand {
    /// What it is called; a code, never a name.
    pub id: String,
    /// Degrees that a hundred dots of the mouse turn one by; none is the page's.
    pub sensitivity: Option<f64>,
    /// Dots an inch.
    pub dots_per_inch: Option<f64>,
    /// Whether to push the mouse away is to look down.
    pub is_inverted: bool,
}

/// In which order participants meet the sessions.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionOrders {
    /// By a rule, as conditions are.
    Rule(Order),
    /// By lists of names, which participants take in turn; the first again after the last.
    Lists(Vec<Vec<String>>),
}

impl Default for SessionOrders {
    fn default() -> Self {
        Self::Rule(Order::AsWritten)
    }
}

impl Controls {
    pub(crate) fn read(scan: &Scan<'_>) -> Result<Self, Wrong> {
        let mut controls = Self { orders: orders(scan)?, keys: keys(scan)?, ..Self::default() };
        for hand in scan.tables("hand")?.into_iter().take(HANDS_MAX) {
            let positive = |name: &'static str, most: f64| -> Result<Option<f64>, Wrong> {
                let Some(found) = hand.get(name) else { return Ok(None) };
                let said = number(found.get_ref()).filter(|said| (0.1..=most).contains(said));
                let what = || format!("`{name}` is a number from 0.1 to {most}");
                said.map(Some).ok_or_else(|| hand.source.wrong(&found.span(), what()))
            };
            let inverted = hand.value("inverted", Kind::Flag)?;
            controls.hands.push(Hand {
                id: hand.text("id")?.unwrap_or_default(),
                sensitivity: positive("sensitivity", *SENSITIVITY.end())?,
                dots_per_inch: positive("dpi", 100_000.0)?,
                is_inverted: inverted.is_some_and(|(value, _)| value == Value::Flag(true)),
            });
            hand.finish();
        }
        Ok(controls)
    }

    /// Orders name sessions that there are.
    pub(crate) fn check(&self, sessions: &[Session], source: Source<'_>) -> Result<(), Wrong> {
        let SessionOrders::Lists(lists) = &self.orders else { return Ok(()) };
        let is_known = |name: &&String| sessions.iter().any(|session| session.name == **name);
        let Some(name) = lists.iter().flatten().find(|name| !is_known(name)) else { return Ok(()) };
        let at = source.text.find("session_orders").unwrap_or(0);
        let meant = meant(name, sessions.iter().map(|session| session.name.as_str()));
        Err(source.wrong(&(at..at), format!("there is no session {name:?}; {meant}")))
    }

    /// The hand of a seat, counted from 1, if the file has one for it.
    pub fn hand(&self, seat: u32) -> Option<&Hand> {
        (seat as usize).checked_sub(1).and_then(|index| self.hands.get(index))
    }

    /// The keys that the file gives: `jump=KeyJ&fire=KeyF`.
    pub fn key_list(&self) -> String {
        let keys = self.keys.iter().map(|(action, key)| format!("{action}={key}"));
        keys.collect::<Vec<_>>().join("&")
    }

    /// What the page's address says for a seat, counted from 1: `sensitivity=9&key.jump=KeyJ`.
    pub fn page(&self, seat: u32) -> String {
        let hand = self.hand(seat);
        let mut said: Vec<String> = Vec::new();
        if let Some(sensitivity) = hand.and_then(|hand| hand.sensitivity) {
            said.push(format!("sensitivity={}", Plain(sensitivity)));
        }
        said.extend(self.keys.iter().map(|(action, key)| format!("key.{action}={key}")));
        said.join("&")
    }

    /// Hands and keys as a file has them.
    pub(crate) fn written(&self, quoted: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        if !self.keys.is_empty() {
            text.push_str("\n[keys]\n");
        }
        for (action, key) in &self.keys {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{action} = {}", quoted(key));
        }
        for hand in &self.hands {
            let _ = write!(text, "\n[[hand]]\nid = {}\n", quoted(&hand.id));
            if let Some(sensitivity) = hand.sensitivity {
                let _ = writeln!(text, "sensitivity = {}", Plain(sensitivity));
            }
            if let Some(dots) = hand.dots_per_inch {
                let _ = writeln!(text, "dpi = {}", Plain(dots));
            }
            if hand.is_inverted {
                text.push_str("inverted = true\n");
            }
        }
        text
    }
}

fn keys(scan: &Scan<'_>) -> Result<Vec<(String, String)>, Wrong> {
    let mut given: Vec<(String, String)> = Vec::new();
    let Some(table) = scan.table("keys")? else { return Ok(given) };
    let known = browser_keys();
    for action in KEY_ACTIONS {
        let Some((key, at)) = table.value(action, Kind::Text)? else { continue };
        let key = key.to_string();
        if !known.contains(&key) {
            let meant = near(&key, known.iter().map(String::as_str));
            let what = format!(
                "`{action}` is a key as browsers call it, such as \"KeyW\", \"Space\" or \"Mouse0\", not {key:?}{meant}"
            );
            return Err(scan.source.wrong(&at, what));
        }
        if let Some((other, _)) = given.iter().find(|(_, taken)| *taken == key) {
            let what = format!("`{action}` and `{other}` both have {key}: a key does one thing");
            return Err(scan.source.wrong(&at, what));
        }
        given.push((action.to_owned(), key));
    }
    table.finish();
    Ok(given)
}

fn orders(scan: &Scan<'_>) -> Result<SessionOrders, Wrong> {
    let Some(found) = scan.get("session_orders") else { return Ok(SessionOrders::default()) };
    let odd = || {
        let what = "`session_orders` is as_written, shuffled, latin or williams, or lists of sessions: \
            [[\"a\", \"b\"], [\"b\", \"a\"]]";
        scan.source.wrong(&found.span(), what)
    };
    let lists = match found.get_ref() {
        DeValue::String(text) => {
            let rule = Order::NAMES.iter().find(|(name, _)| *name == text.as_ref());
            return rule.map(|(_, rule)| SessionOrders::Rule(*rule)).ok_or_else(odd);
        }
        DeValue::Array(lists) if !lists.is_empty() && lists.len() <= HANDS_MAX => lists,
        _ => return Err(odd()),
    };
    let name = |value: &DeValue<'_>| match value {
        DeValue::String(name) => Some(name.to_string()),
        _ => None,
    };
    let names = |list: &DeValue<'_>| -> Option<Vec<String>> {
        let DeValue::Array(names) = list else { return None };
        let names: Vec<String> =
            names.iter().map(|one| name(one.get_ref())).collect::<Option<_>>()?;
        (!names.is_empty() && names.len() <= HANDS_MAX).then_some(names)
    };
    let lists: Option<Vec<Vec<String>>> = lists.iter().map(|list| names(list.get_ref())).collect();
    lists.map(SessionOrders::Lists).ok_or_else(odd)
}

impl Experiment {
    /// The places of the sessions that a participant meets, in order; participants are counted from 1.
    pub fn session_order(&self, participant: u32) -> Vec<usize> {
        let index = participant.saturating_sub(1) as usize;
        match &self.controls.orders {
            SessionOrders::Rule(rule) => rule.of(index, self.sessions.len(), self.seed),
            SessionOrders::Lists(lists) => {
                let place = |name: &String| self.sessions.iter().position(|one| one.name == *name);
                lists[index % lists.len().max(1)].iter().filter_map(place).collect()
            }
        }
    }
}
