//! Keys and the mouse as commands. Which key does what can be changed; a key is what the browser calls its place on
//! the keyboard, so that it lies where it lies on every layout.

use sametick_arena::{AXIS_MAX, Command, PITCH_MAX, Weapon};
use std::collections::{BTreeMap, BTreeSet};

/// What a key can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Forward,
    Back,
    Left,
    Right,
    Jump,
    Crouch,
    Fire,
    Reload,
    Rifle,
    Shotgun,
    Launcher,
    Scores,
    Say,
    Graph,
    Conditions,
    Ghosts,
}

/// The name that is stored, what players read, and the usual key.
const ACTIONS: [(Action, &str, &str, &str); 16] = [
    (Action::Forward, "forward", "Forwards", "KeyW"),
    (Action::Back, "back", "Backwards", "KeyS"),
    (Action::Left, "left", "Left", "KeyA"),
    (Action::Right, "right", "Right", "KeyD"),
    (Action::Jump, "jump", "Jump", "Space"),
    (Action::Crouch, "crouch", "Crouch", "ShiftLeft"),
    (Action::Fire, "fire", "Fire", "Mouse0"),
    (Action::Reload, "reload", "Reload", "KeyR"),
    (Action::Rifle, "rifle", "Rifle", "Digit1"),
    (Action::Shotgun, "shotgun", "Shotgun", "Digit2"),
    (Action::Launcher, "launcher", "Rockets", "Digit3"),
    (Action::Scores, "scores", "Scores", "Tab"),
    (Action::Say, "say", "Say something", "KeyT"),
    (Action::Graph, "graph", "Net graph", "KeyN"),
    (Action::Conditions, "conditions", "Your line", "KeyC"),
    (Action::Ghosts, "ghosts", "Server's truth", "KeyG"),
];

impl Action {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        ACTIONS.into_iter().map(|(action, ..)| action)
    }

    /// By the name that is stored.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ACTIONS.into_iter().find(|(_, known, ..)| *known == name).map(|(action, ..)| action)
    }

    /// The name that is stored.
    pub(crate) fn name(self) -> &'static str {
        ACTIONS[self as usize].1
    }

    /// What players read.
    pub(crate) fn title(self) -> &'static str {
        ACTIONS[self as usize].2
    }

    fn usual(self) -> &'static str {
        ACTIONS[self as usize].3
    }
}

/// Which key does what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bindings {
    keys: BTreeMap<Action, String>,
}

impl Default for Bindings {
    fn default() -> Self {
        Self { keys: Action::all().map(|action| (action, action.usual().to_owned())).collect() }
    }
}

impl Bindings {
    /// What a key does.
    pub(crate) fn action(&self, key: &str) -> Option<Action> {
        self.keys.iter().find(|(_, bound)| *bound == key).map(|(action, _)| *action)
    }

    /// The key of an action.
    pub(crate) fn key(&self, action: Action) -> &str {
        self.keys.get(&action).map_or("", String::as_str)
    }

    /// Gives an action a key. Whatever had it gets the one that is given up, so that nothing is without a key.
    pub(crate) fn bind(&mut self, action: Action, key: &str) {
        let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
        let given_up = self.key(action).to_owned();
        if let Some(other) = self.action(&key) {
            self.keys.insert(other, given_up);
        }
        self.keys.insert(action, key);
    }

    /// Those that are not as usual.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (Action, &str)> {
        let all = self.keys.iter().map(|(action, key)| (*action, key.as_str()));
        all.filter(|(action, key)| *key != action.usual())
    }
}

/// A key as people call it.
pub(crate) fn key_title(key: &str) -> String {
    match key {
        "Mouse0" => "Left button".into(),
        "Mouse1" => "Middle button".into(),
        "Mouse2" => "Right button".into(),
        "ShiftLeft" | "ShiftRight" => "Shift".into(),
        "ControlLeft" | "ControlRight" => "Ctrl".into(),
        _ => {
            let short = key.strip_prefix("Key").or_else(|| key.strip_prefix("Digit"));
            short.unwrap_or(key).to_owned()
        }
    }
}

/// What the hands are doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hands {
    held: BTreeSet<Action>,
    /// Left from +x, in radians.
    pub(crate) yaw: f32,
    /// Up from the horizon.
    pub(crate) pitch: f32,
    /// What is to be in hand.
    pub(crate) weapon: Weapon,
    /// What was pressed since the last command, even if it was let go: a quick press counts.
    pressed: BTreeSet<Action>,
    /// Every action that was used at least once: its hint is of no more use.
    pub(crate) used: BTreeSet<Action>,
}

impl Hands {
    /// A key went down.
    pub(crate) fn press(&mut self, action: Action) {
        self.held.insert(action);
        self.pressed.insert(action);
        self.used.insert(action);
        match action {
            Action::Rifle => self.weapon = Weapon::Rifle,
            Action::Shotgun => self.weapon = Weapon::Shotgun,
            Action::Launcher => self.weapon = Weapon::Launcher,
            _ => {}
        }
    }

    /// It came up again.
    pub(crate) fn release(&mut self, action: Action) {
        self.held.remove(&action);
    }

    /// Nobody is there: everything is let go.
    pub(crate) fn let_go(&mut self) {
        self.held.clear();
        self.pressed.clear();
    }

    /// Whether a key is down.
    pub(crate) fn holds(&self, action: Action) -> bool {
        self.held.contains(&action)
    }

    /// The mouse moved by so many dots; a hundred turn one by so many degrees.
    pub(crate) fn turn(&mut self, right: f32, down: f32, degrees_per_hundred: f32) {
        let radians = degrees_per_hundred.to_radians() / 100.0;
        let whole = std::f32::consts::TAU;
        self.yaw = (self.yaw - right * radians).rem_euclid(whole);
        self.pitch = (self.pitch - down * radians).clamp(-PITCH_MAX, PITCH_MAX);
    }

    /// The wheel goes through the weapons.
    pub(crate) fn wheel(&mut self, down: bool) {
        let count = Weapon::ALL.len();
        let step = if down { 1 } else { count - 1 };
        self.weapon = Weapon::ALL[(self.weapon.index() + step) % count];
    }

    /// What is asked for now.
    pub(crate) fn command(&mut self) -> Command {
        let pressed = std::mem::take(&mut self.pressed);
        let holds = |action: Action| self.held.contains(&action) || pressed.contains(&action);
        let axis =
            |more: Action, less: Action| (i8::from(holds(more)) - i8::from(holds(less))) * AXIS_MAX;
        Command {
            yaw: self.yaw,
            pitch: self.pitch,
            forward: axis(Action::Forward, Action::Back),
            right: axis(Action::Right, Action::Left),
            jump: holds(Action::Jump),
            crouch: holds(Action::Crouch),
            fire: holds(Action::Fire),
            reload: holds(Action::Reload),
            weapon: self.weapon,
            ready: true,
            ..Command::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_order_of_the_actions() {
        for (number, action) in Action::all().enumerate() {
            assert_eq!(action as usize, number);
            assert_eq!(Action::named(action.name()), Some(action));
        }
    }

    #[test]
    fn a_key_that_was_taken_is_exchanged() {
        let mut bindings = Bindings::default();
        bindings.bind(Action::Jump, "KeyW");
        assert_eq!((bindings.key(Action::Jump), bindings.key(Action::Forward)), ("KeyW", "Space"));
        assert_eq!(bindings.changed().count(), 2);
    }

    #[test]
    fn a_press_between_two_commands_counts_once() {
        let mut hands = Hands::default();
        hands.press(Action::Fire);
        hands.release(Action::Fire);
        assert!(hands.command().fire);
        assert!(!hands.command().fire);
    }

    #[test]
    fn the_mouse_turns_and_never_past_straight_up() {
        let mut hands = Hands::default();
        hands.turn(-1500.0, -1e6, 6.0);
        assert!((hands.yaw - 90_f32.to_radians()).abs() < 1e-4);
        assert_eq!(hands.pitch, PITCH_MAX);
        hands.let_go();
        assert_eq!(hands.command().forward, 0);
    }
}
