//! The page in an experiment: joins a match when the participant's page says so, tells what each second was like, and
//! lets nobody know how late anything is.

use super::{App, Screen};
use crate::camera::Camera;
use crate::effects::Noise;
use crate::hud::Around;
use crate::input::{Action, key_title};
use crate::lab::{Later, Pace, Second, Shelf, Terms};
use crate::outside::{Joining, LabSession};
use crate::page::{self, Happening};
use crate::scene::Scene;
use crate::session::Standing;
use crate::settings::Settings;
use sametick::{Interpolation, Others, Span, Time, View};
use sametick_arena::vector::Vector;

/// Under which name the participant's page keeps what leads to its seat.
const SECRET: &str = "sametick.lab";

/// What the experiment asks for, and what waits.
#[derive(Default)]
pub(crate) struct Lab {
    terms: Terms,
    pace: Pace,
    hands: Later<Happening>,
    shelf: Shelf<Picture>,
    second: Second,
    /// Whether a match is to be joined, and joined again when it was lost.
    is_wanted: bool,
}

/// All that is seen and heard at a moment, so that all of it can be held back alike.
pub(super) struct Picture {
    pub(super) scene: Scene,
    pub(super) camera: Camera,
    pub(super) around: Around,
    pub(super) noises: Vec<(Noise, Option<Vector>)>,
}

impl Lab {
    /// The picture to be shown now, which may be an older one.
    pub(super) fn late_picture(&mut self, newest: Picture) -> Option<Picture> {
        self.shelf.exchange(newest, self.terms.frame_delay)
    }
}

impl App {
    /// Joins the match that the participant's seat is at.
    pub(crate) fn join_trial(&mut self) {
        let Some(lab) = &mut self.lab else { return };
        lab.is_wanted = true;
        let (secret, ticket) = (secret().unwrap_or_default(), super::kept_ticket());
        let now = self.clock.now();
        self.session.take().into_iter().for_each(|mut session| session.close(now));
        self.joining = Some(Joining::seat(&self.settings, ticket, secret));
        (self.screen, self.is_in, self.notice) = (Screen::Play, false, None);
    }

    /// Leaves it, and waits for the next.
    pub(crate) fn leave_trial(&mut self) {
        let Some(lab) = &mut self.lab else { return };
        lab.is_wanted = false;
        let now = self.clock.now();
        self.session.take().into_iter().for_each(|mut session| session.close(now));
        (self.joining, self.notice, self.is_in) = (None, None, false);
        self.hands.let_go();
    }

    /// What a trial asks of the page; how the others are to be seen.
    pub(super) fn begin_trial(&mut self, asked: LabSession) -> View {
        if let Some(lab) = &mut self.lab {
            lab.terms = asked.terms;
            (lab.pace, lab.second, lab.hands) = Default::default();
            lab.shelf.clear();
        }
        if let Some(sensitivity) = asked.sensitivity {
            // A number that is none is as good as none.
            let _ = self.settings.set("sensitivity", &sensitivity.to_string());
        }
        self.settings.is_inverted = asked.invert.unwrap_or(self.settings.is_inverted);
        let usual = Settings::default();
        self.settings.field_of_view =
            asked.field_of_view.map_or(usual.field_of_view, |it| it as f32);
        self.settings.bindings = usual.bindings;
        for (action, key) in asked.keys.split('&').filter_map(|part| part.split_once('=')) {
            // What this page has no key for, it does not do.
            let _ = self.settings.set(&format!("key.{action}"), key);
        }
        if let Some(model) = asked.model {
            let _ = self.settings.set("view", &model);
        }
        let mut view = self.settings.view();
        if let (Some(behind), Others::Interpolated(way)) = (asked.interpolation, view.others) {
            let behind = behind as u8;
            view.others = Others::Interpolated(Interpolation { behind, ..way });
        }
        if let Some(ms) = asked.smoothing_ms {
            view.smooths_over = Span::from_millis_f64(ms);
        }
        view
    }

    /// A match that is over is asked for again until the participant's page says otherwise: it knows whether the trial
    /// is.
    pub(super) fn lose_trial(&mut self, now: Time) {
        if self.joining.is_some() || !self.lab.as_ref().is_some_and(|lab| lab.is_wanted) {
            return;
        }
        let ticket = self.ticket.take().filter(|_| self.is_in);
        let joining = Joining::seat(&self.settings, ticket, secret().unwrap_or_default());
        self.joining = Some(joining.later(now));
    }

    /// How the match stands.
    pub(crate) fn trial_state(&mut self) -> &'static str {
        match self.session.as_ref().map(|session| session.standing()) {
            Some(Standing::Playing) if self.joining.is_none() => "playing",
            Some(Standing::Lost(_) | Standing::Stopped(_)) => "lost",
            _ if self.joining.is_some() || self.session.is_some() => "joining",
            _ => "idle",
        }
    }

    /// Whether there is a match that one should be in: always, but for a participant between two trials.
    pub(crate) fn is_match_wanted(&self) -> bool {
        self.lab.is_none() || self.session.is_some()
    }

    /// Lets a picture be heard; of a round that has not begun nothing is.
    pub(super) fn hear(&mut self, picture: &Picture) {
        let Some(speakers) = &mut self.speakers else { return };
        speakers.listen(&picture.camera);
        if !picture.around.is_held {
            picture.noises.iter().for_each(|(noise, at)| speakers.play(*noise, *at));
        }
    }

    /// Which keys do what: those that one walks and fires with, and the list of those that are not as usual; as JSON.
    pub(crate) fn keys(&self) -> String {
        let bindings = &self.settings.bindings;
        let walks = [Action::Forward, Action::Left, Action::Back, Action::Right];
        let named = |action: Action| {
            let key = bindings.key(action);
            format!("{{\"key\":\"{key}\",\"title\":\"{}\"}}", key_title(key))
        };
        let changed = bindings.changed().map(|(action, key)| format!("{}={key}", action.name()));
        format!(
            "{{\"walk\":[{}],\"fire\":{},\"changed\":\"{}\"}}",
            walks.map(named).join(","),
            named(Action::Fire),
            changed.collect::<Vec<_>>().join("&"),
        )
    }

    /// Asks for the mouse.
    pub(crate) fn take_mouse(&mut self) {
        self.act("resume");
    }

    /// Gives it back.
    pub(crate) fn release_mouse(&mut self) {
        page::unlock(self.page.document());
    }

    /// What the time since this was last asked was like.
    pub(crate) fn take_second(&mut self) -> String {
        let now = self.session.as_ref().map_or(self.clock.now(), |session| session.now());
        let line = self.health.figures(now);
        let road = self.session.as_ref().map(|session| session.road().name()).unwrap_or_default();
        let Some(lab) = &mut self.lab else { return String::new() };
        let second = lab.second.take();
        let ping = line.ping_ms.map_or("null".to_owned(), |ping| format!("{ping:.3}"));
        let loss = line.loss_down_percent.max(line.loss_up_percent) / 100.0;
        format!(
            "{{\"frames\":{},\"frame_ms\":{:.3},\"frame_ms_95\":{:.3},\"inputs\":{},\
             \"ping_ms\":{ping},\"loss\":{loss:.4},\"road\":\"{road}\"}}",
            second.frames, second.frame_ms, second.frame_ms_95, second.inputs,
        )
    }

    /// Whether this frame of the display is drawn.
    pub(super) fn is_frame_due(&mut self, now: Time) -> bool {
        let is_idle = self.session.is_none() && self.joining.is_none();
        match &mut self.lab {
            None => true,
            Some(_) if is_idle => {
                self.last = now;
                false
            }
            Some(lab) => lab.pace.is_due(lab.terms.frame_rate, now),
        }
    }

    pub(super) fn count_frame(&mut self, passed: Span) {
        if let Some(lab) = self.lab.as_mut().filter(|_| self.session.is_some()) {
            lab.second.frame(passed);
        }
    }

    /// Takes what happened, or, in an experiment, what counts by now.
    pub(super) fn heed_all(&mut self, now: Time) {
        let happened = self.page.take_happenings();
        let Some(lab) = &mut self.lab else {
            happened.into_iter().for_each(|happening| self.heed(happening));
            return;
        };
        let mut heeded = Vec::new();
        for happening in happened {
            let is_hand = matches!(
                happening,
                Happening::Down { .. }
                    | Happening::Up { .. }
                    | Happening::Moved { .. }
                    | Happening::Wheel { .. }
            );
            if is_hand {
                lab.second.input();
                lab.hands.put(now, lab.terms.input_delay, happening);
            } else {
                heeded.push(happening);
            }
        }
        heeded.extend(std::iter::from_fn(|| lab.hands.take(now)));
        heeded.into_iter().for_each(|happening| self.heed(happening));
    }
}

fn secret() -> Option<String> {
    let storage = web_sys::window()?.session_storage().ok()??;
    storage.get_item(SECRET).ok()?
}
