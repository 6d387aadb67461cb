//! What the player does to the page: keys, clicks and choices, and what follows from each.

use super::{App, STORED, Screen, storage};
use crate::input::Action;
use crate::page::{self, Happening};
use crate::session::Session;
use crate::sound::Speakers;
use sametick::Text;

impl App {
    pub(super) fn heed(&mut self, happening: Happening) {
        match happening {
            Happening::Down { key, in_field } => self.key_down(&key, in_field),
            Happening::Up { key } => {
                if let Some(action) = self.settings.bindings.action(&key) {
                    self.hands.release(action);
                }
            }
            Happening::Moved { right, down } => {
                let down = if self.settings.is_inverted { -down } else { down };
                self.hands.turn(right, down, self.settings.sensitivity)
            }
            Happening::Wheel { down } => self.hands.wheel(down),
            Happening::Lock(is_locked) => {
                self.is_locked = is_locked;
                if !is_locked {
                    self.hands.let_go();
                }
            }
            Happening::Do(what) => self.act(&what),
            Happening::Set { name, value } => self.set(&name, &value),
            Happening::Said(words) => {
                self.say = Some(Text::cut(words.trim()));
                self.stop_typing();
            }
            Happening::Closed => {
                (self.shows_settings, self.asked_key) = (false, None);
                // Or Enter would mean the button that opened them.
                self.page.focus_nothing();
            }
            Happening::Away => self.hands.let_go(),
        }
    }

    fn key_down(&mut self, key: &str, in_field: bool) {
        if let Some(action) = self.asked_key.take() {
            if key != "Escape" {
                self.settings.bindings.bind(action, key);
                self.remember();
            }
            return;
        }
        if self.is_typing {
            if key == "Escape" {
                self.stop_typing();
            }
            return;
        }
        let is_first = self.screen == Screen::First && !self.shows_settings;
        if is_first && matches!(key, "Enter" | "NumpadEnter") {
            self.act("play");
            return;
        }
        let side = match key {
            "ArrowRight" => 1,
            "ArrowLeft" => -1,
            _ => 0,
        };
        let is_watching = self.session.as_ref().is_some_and(|session| {
            let own = session.own().filter(|_| self.screen == Screen::Play);
            own.is_none_or(|(_, own)| !own.is_alive())
        });
        if side != 0 && is_watching && !in_field && !self.shows_settings {
            let world = self.session.as_ref().and_then(Session::shown);
            world.into_iter().for_each(|world| self.spectator.turn_to(world, side));
            return;
        }
        if in_field || self.screen == Screen::First {
            return;
        }
        if self.is_paused() && matches!(key, "Enter" | "NumpadEnter") {
            self.act("resume");
            return;
        }
        let Some(action) = self.settings.bindings.action(key) else { return };
        // Of these, none is a participant's.
        let tells = [Action::Graph, Action::Conditions, Action::Ghosts, Action::Say];
        if self.lab.is_some() && tells.contains(&action) {
            return;
        }
        match action {
            Action::Graph => self.settings.graph = self.settings.graph.next(),
            Action::Conditions => self.act("conditions"),
            Action::Ghosts => self.settings.ghosts = !self.settings.ghosts,
            Action::Say if self.is_locked => {
                self.is_typing = true;
                self.hands.let_go();
                self.page.shown("say", true);
                self.page.focus("words", true);
            }
            _ => {}
        }
        // Any step or shot of a new life ends the look at the old one.
        let is_deed = !matches!(
            action,
            Action::Scores | Action::Graph | Action::Conditions | Action::Ghosts | Action::Say
        );
        if is_deed && self.replay.as_ref().is_some_and(|replay| replay.left < 2.6) {
            self.replay = None;
        }
        self.hands.press(action);
        self.page_after_key();
    }

    fn stop_typing(&mut self) {
        self.is_typing = false;
        self.page.shown("say", false);
        self.page.focus("words", false);
    }

    pub(super) fn act(&mut self, what: &str) {
        match what {
            "settings" | "conditions" | "leave" if self.lab.is_some() => {}
            "play" | "resume" => {
                self.screen = Screen::Play;
                self.shows_settings = false;
                self.page.focus("name", false);
                page::lock(&self.canvas);
                if self.speakers.is_none() {
                    // Silence is no reason not to play.
                    self.speakers = Speakers::new(self.settings.volume).ok();
                }
                if let Some(session) = &mut self.session {
                    session.call(&self.settings.name);
                }
            }
            "leave" => {
                self.screen = Screen::First;
                self.replay = None;
                page::unlock(self.page.document());
            }
            "settings" => {
                self.shows_settings = !self.shows_settings;
                if self.shows_settings {
                    page::unlock(self.page.document());
                }
            }
            "conditions" => {
                self.shows_conditions = !self.shows_conditions;
                if self.shows_conditions {
                    page::unlock(self.page.document());
                } else if self.screen == Screen::Play {
                    page::lock(&self.canvas);
                }
            }
            "picture" if self.screen == Screen::Play && !self.is_locked => self.act("resume"),
            "picture" => {}
            key => self.asked_key = key.strip_prefix("key.").and_then(Action::named),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        if let Err(problem) = self.settings.set(name, value) {
            self.problems = vec![problem];
            return;
        }
        match name {
            "delay" | "jitter" | "loss" | "loss.up" | "loss.down" | "rate" => {
                let wanted = self.settings.wanted;
                self.session.iter_mut().for_each(|session| session.set_conditions(&wanted));
            }
            "view" => {
                let view = self.settings.view();
                self.session.iter_mut().for_each(|session| session.set_view(view));
            }
            "volume" => {
                self.speakers.iter().for_each(|speakers| speakers.set_volume(self.settings.volume))
            }
            "shadows" => self.renderer.is_fine = self.settings.is_fine,
            _ => {}
        }
        self.remember();
    }

    fn remember(&self) {
        // What an experiment needs is no choice of the player's.
        if let Some(storage) = storage().filter(|_| self.lab.is_none()) {
            // A browser that keeps nothing is no reason not to play.
            let _ = storage.set_item(STORED, &self.settings.remembered());
        }
    }

    /// Whether the mouse belongs to the match.
    pub(crate) fn is_locked(&self) -> bool {
        self.is_locked
    }
}
