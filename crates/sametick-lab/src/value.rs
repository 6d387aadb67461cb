//! Values of an experiment file: numbers with their units, names, yes and no.

use crate::wrong::meant;
use std::fmt;
use toml::de::DeValue;

/// What a setting may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A time, kept in milliseconds: `"50 ms"`, `"2 s"`.
    Time {
        /// The longest, in milliseconds.
        at_most: f64,
    },
    /// A share, kept in per cent: `"2 %"`.
    Share,
    /// How often a second: `"60 Hz"`.
    Rate {
        /// The slowest.
        at_least: f64,
        /// The fastest.
        at_most: f64,
    },
    /// Bits a second, kept in kilobits: `"56.6 kbit/s"`, `"2 Mbit/s"`.
    Bandwidth,
    /// A whole number.
    Count {
        /// The least.
        at_least: u32,
        /// The most.
        at_most: u32,
    },
    /// One of some names.
    Choice(fn() -> Vec<&'static str>),
    /// A text.
    Text,
    /// Names, one or more, kept as one text: `["a", "b"]`.
    Names,
    /// `true` or `false`.
    Flag,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing was said, and something else decides.
    Unsaid,
    /// In the unit of its kind.
    Number(f64),
    /// A name or a text.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The value with its unit, as a file has it; texts without quotes.
    pub fn shown(&self, kind: Kind) -> String {
        match self {
            Self::Number(number) => format!("{}{}", Plain(*number), kind.unit()),
            other => other.to_string(),
        }
    }

    /// The value for a program to read.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Unsaid => serde_json::Value::Null,
            Self::Number(number) => serde_json::json!(number),
            Self::Text(text) => serde_json::json!(text),
            Self::Flag(flag) => serde_json::json!(flag),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsaid => f.write_str("-"),
            Self::Number(number) => Plain(*number).fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

/// A number without a needless fraction.
pub(crate) struct Plain(pub(crate) f64);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Kind {
    /// What follows a number of this kind.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Time { .. } => " ms",
            Self::Share => " %",
            Self::Rate { .. } => " Hz",
            Self::Bandwidth => " kbit/s",
            _ => "",
        }
    }

    /// The units that may stand in a file, and how many of the kept unit each is.
    fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Time { .. } => &[("ms", 1.0), ("s", 1000.0), ("min", 60_000.0)],
            Self::Share => &[("%", 1.0)],
            Self::Rate { .. } => &[("Hz", 1.0)],
            Self::Bandwidth => &[("kbit/s", 1.0), ("Mbit/s", 1000.0)],
            _ => &[],
        }
    }

    fn range(self) -> (f64, f64) {
        match self {
            Self::Time { at_most } => (0.0, at_most),
            Self::Share => (0.0, 100.0),
            Self::Rate { at_least, at_most } => (at_least, at_most),
            Self::Bandwidth => (0.1, 10_000_000.0),
            Self::Count { at_least, at_most } => (f64::from(at_least), f64::from(at_most)),
            _ => (f64::MIN, f64::MAX),
        }
    }

    /// What a value of this kind looks like, in words.
    pub fn words(self) -> String {
        let (least, most) = self.range();
        let (least, most) = (Plain(least), Plain(most));
        match self {
            Self::Time { .. } => format!("a time from {least} to {most} ms, such as \"50 ms\""),
            Self::Share => "a share from 0 to 100 %, such as \"2 %\"".to_owned(),
            Self::Rate { .. } => format!("a rate from {least} to {most} Hz, such as \"60 Hz\""),
            Self::Bandwidth => "a bandwidth, such as \"56.6 kbit/s\" or \"2 Mbit/s\"".to_owned(),
            Self::Count { .. } => format!("a whole number from {least} to {most}"),
            Self::Choice(names) => format!("one of {}", names().join(", ")),
            Self::Text => "a text in quotes".to_owned(),
            Self::Names => "names, such as [\"a\", \"b\"]".to_owned(),
            Self::Flag => "true or false".to_owned(),
        }
    }

    /// Reads a value of a file; what is wrong with it, if anything is.
    pub(crate) fn read(self, name: &str, value: &DeValue<'_>) -> Result<Value, String> {
        let odd = || format!("`{name}` is {}", self.words());
        match (self, value) {
            (Self::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (Self::Text, DeValue::String(text)) => Ok(Value::Text(text.to_string())),
            (Self::Names, value) => {
                let one = |value: &DeValue<'_>| match value {
                    DeValue::String(text) if !text.contains(',') && !text.trim().is_empty() => {
                        Some(text.to_string())
                    }
                    _ => None,
                };
                let names: Option<Vec<String>> = match value {
                    DeValue::Array(names) => names.iter().map(|name| one(name.get_ref())).collect(),
                    value => one(value).map(|name| vec![name]),
                };
                let names = names.filter(|names| !names.is_empty()).ok_or_else(odd)?;
                Ok(Value::Text(names.join(", ")))
            }
            (Self::Choice(names), DeValue::String(text)) => {
                match names().contains(&text.as_ref()) {
                    true => Ok(Value::Text(text.to_string())),
                    false => {
                        let meant = meant(text, names().into_iter());
                        Err(format!("`{name}` cannot be `{text}`: {meant}"))
                    }
                }
            }
            (Self::Count { .. }, value) => {
                let number = number(value).filter(|number| number.fract() == 0.0);
                self.within(name, number.ok_or_else(odd)?)
            }
            (_, DeValue::String(text)) if !self.units().is_empty() => {
                self.within(name, self.quantity(name, text)?)
            }
            (_, value) if !self.units().is_empty() && number(value).is_some() => {
                let unit = self.units()[0].0;
                let said = number(value).map(Plain).map_or_else(String::new, |n| n.to_string());
                Err(format!("`{name}` needs its unit: \"{said} {unit}\""))
            }
            _ => Err(odd()),
        }
    }

    fn quantity(self, name: &str, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+".contains(c)));
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let Ok(number) = number.parse::<f64>() else {
            return Err(format!("`{name}` is {}, not \"{text}\"", self.words()));
        };
        let unit = unit.trim();
        match self.units().iter().find(|(known, _)| *known == unit) {
            Some((_, times)) => Ok(number * times),
            None => {
                let known: Vec<&str> = self.units().iter().map(|(unit, _)| *unit).collect();
                let known = known.join(" or ");
                let wrong = match unit {
                    "" => "has no unit".to_owned(),
                    unit => format!("is not measured in `{unit}`"),
                };
                Err(format!("`{name}` {wrong}: it takes {known}"))
            }
        }
    }

    fn within(self, name: &str, number: f64) -> Result<Value, String> {
        let (least, most) = self.range();
        match (least..=most).contains(&number) {
            true => Ok(Value::Number(number)),
            false => {
                let said = format!("{}{}", Plain(number), self.unit());
                Err(format!("`{name}` cannot be {said}: it is {}", self.words()))
            }
        }
    }
}

/// A number of a file.
pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) if number.radix() == 10 => {
            number.as_str().replace('_', "").parse().ok()
        }
        DeValue::Float(number) => {
            let number: Option<f64> = number.as_str().replace('_', "").parse().ok();
            number.filter(|number| number.is_finite())
        }
        _ => None,
    }
}
