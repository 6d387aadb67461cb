//! Small formulas over settings, for what an experiment expects: numbers, names, + - * / ^, parentheses, and min, max,
//! abs, sqrt, floor, ceil.

use std::fmt;

/// How deep parentheses may stand in each other.
const DEPTH_MAX: usize = 64;

/// A formula that was read and can be worked out.
///
/// ```
/// use sametick_lab::Formula;
///
/// let formula = Formula::read("players * (7 + 56 * players) * 8").unwrap();
/// let worked = formula.work_out(&|name| (name == "players").then_some(2.0));
/// assert_eq!(worked, Ok(2.0 * 119.0 * 8.0));
/// assert!(formula.work_out(&|_| None).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Pair(char, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Min,
    Max,
    Abs,
    Sqrt,
    Floor,
    Ceil,
}

const FUNCTIONS: [(&str, Function); 6] = [
    ("min", Function::Min),
    ("max", Function::Max),
    ("abs", Function::Abs),
    ("sqrt", Function::Sqrt),
    ("floor", Function::Floor),
    ("ceil", Function::Ceil),
];

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<f64> for Formula {
    fn from(number: f64) -> Self {
        Self { text: crate::value::Plain(number).to_string(), root: Node::Number(number) }
    }
}

impl Formula {
    /// Reads a formula; what is wrong with it, if anything is.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text, depth: 0 };
        let root = reader.sum()?;
        match reader.rest.trim() {
            "" => Ok(Self { text: text.trim().to_owned(), root }),
            rest => Err(format!("the formula ends before `{rest}`")),
        }
    }

    /// The number it stands for, if each name does.
    pub fn work_out(&self, of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
        work_out(&self.root, of)
    }

    /// The names in it.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        gather(&self.root, &mut names);
        names
    }
}

fn gather<'a>(node: &'a Node, names: &mut Vec<&'a str>) {
    match node {
        Node::Number(_) => {}
        Node::Name(name) => names.push(name),
        Node::Pair(_, one, other) => {
            gather(one, names);
            gather(other, names);
        }
        Node::Call(_, of) => of.iter().for_each(|node| gather(node, names)),
    }
}

fn work_out(node: &Node, of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
    Ok(match node {
        Node::Number(number) => *number,
        Node::Name(name) => of(name).ok_or_else(|| format!("`{name}` is no number here"))?,
        Node::Pair(sign, one, other) => {
            let (one, other) = (work_out(one, of)?, work_out(other, of)?);
            match sign {
                '+' => one + other,
                '-' => one - other,
                '*' => one * other,
                '/' => one / other,
                _ => one.powf(other),
            }
        }
        Node::Call(function, arguments) => {
            let numbers: Result<Vec<f64>, String> =
                arguments.iter().map(|node| work_out(node, of)).collect();
            let numbers = numbers?;
            let first = numbers.first().copied().unwrap_or(f64::NAN);
            match function {
                Function::Min => numbers.into_iter().fold(f64::INFINITY, f64::min),
                Function::Max => numbers.into_iter().fold(f64::NEG_INFINITY, f64::max),
                Function::Abs => first.abs(),
                Function::Sqrt => first.sqrt(),
                Function::Floor => first.floor(),
                Function::Ceil => first.ceil(),
            }
        }
    })
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn take(&mut self, signs: &str) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|sign| signs.contains(*sign))?;
        self.rest = &rest[sign.len_utf8()..];
        Some(sign)
    }

    fn sum(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("the formula is too deep".to_owned());
        }
        let mut node = self.product()?;
        while let Some(sign) = self.take("+-") {
            node = Node::Pair(sign, Box::new(node), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut node = self.power()?;
        while let Some(sign) = self.take("*/") {
            node = Node::Pair(sign, Box::new(node), Box::new(self.power()?));
        }
        Ok(node)
    }

    fn power(&mut self) -> Result<Node, String> {
        let node = self.atom()?;
        match self.take("^") {
            Some(sign) => Ok(Node::Pair(sign, Box::new(node), Box::new(self.atom()?))),
            None => Ok(node),
        }
    }

    fn atom(&mut self) -> Result<Node, String> {
        if self.take("-").is_some() {
            let zero = Box::new(Node::Number(0.0));
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err("the formula is too deep".to_owned());
            }
            let node = self.atom()?;
            self.depth -= 1;
            return Ok(Node::Pair('-', zero, Box::new(node)));
        }
        if self.take("(").is_some() {
            let node = self.sum()?;
            return self.take(")").map(|_| node).ok_or_else(|| "a `)` is missing".to_owned());
        }
        self.rest = self.rest.trim_start();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err(match rest.chars().next() {
                Some(odd) => format!("`{odd}` stands where a number or a name should"),
                None => "a number or a name is missing at the end".to_owned(),
            });
        }
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number: Option<f64> = word.parse().ok();
            return number.map(Node::Number).ok_or_else(|| format!("`{word}` is no number"));
        }
        match FUNCTIONS.iter().find(|(name, _)| *name == word) {
            Some((_, function)) if self.take("(").is_some() => {
                let mut arguments = vec![self.sum()?];
                while self.take(",").is_some() {
                    arguments.push(self.sum()?);
                }
                self.take(")").ok_or_else(|| "a `)` is missing".to_owned())?;
                Ok(Node::Call(*function, arguments))
            }
            _ => Ok(Node::Name(word.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_worked_out_as_on_paper() {
        for (text, number) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("2 ^ 3 - 1", 7.0),
            ("-2 + 5", 3.0),
            ("100 * (1 - (1 - 20 / 100) ^ 2)", 36.0),
            ("max(1, min(5, 3)) + abs(-2) + sqrt(16)", 9.0),
            ("10 - 4 - 3", 3.0),
        ] {
            let worked = Formula::read(text).unwrap().work_out(&|_| None).unwrap();
            assert!((worked - number).abs() < 1e-9, "{text}: {worked}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused_with_a_reason() {
        let deep = "(".repeat(10_000);
        for text in ["", "1 +", "(1", "1 2", "3 $ 4", "1.2.3", "max(1", &deep, &"-".repeat(9_999)] {
            assert!(Formula::read(text).is_err(), "{text}");
        }
        let formula = Formula::read("ping / 2 + player.2.ping").unwrap();
        assert_eq!(formula.names(), ["ping", "player.2.ping"]);
    }
}
