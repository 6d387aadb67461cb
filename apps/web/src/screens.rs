//! What the page says in its elements: the first screen, what stands around the match, the panels, the graph.

use crate::app::{App, Screen};
use crate::graph::{self, Paint, SIZE, Stroke};
use crate::hitmarks::State;
use crate::hud::{self, Around, Whose};
use crate::input::{Action, key_title};
use crate::page;
use crate::session::Session;
use crate::settings::{Crosshair, Graph};
use sametick::health::Severity;
use sametick::{Time, World};
use sametick_arena::{Contest, Entity, Fighter, Phase};
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, Document, Element, HtmlCanvasElement, HtmlDialogElement};

/// Actions whose keys the first screen names.
const TAUGHT: [(&str, &[Action]); 6] = [
    ("move", &[Action::Forward, Action::Left, Action::Back, Action::Right]),
    ("fire, aim with the mouse", &[Action::Fire]),
    ("jump, crouch", &[Action::Jump, Action::Crouch]),
    ("weapons", &[Action::Rifle, Action::Shotgun, Action::Launcher]),
    ("scores, say something", &[Action::Scores, Action::Say]),
    ("net graph, your line", &[Action::Graph, Action::Conditions]),
];
/// Hints for whoever has just begun, until their keys were used.
const HINTS: [(Action, &str); 4] = [
    (Action::Forward, "moves forwards"),
    (Action::Fire, "fires"),
    (Action::Scores, "shows the scores"),
    (Action::Graph, "shows how your connection fares"),
];

impl App {
    /// What does not change by itself.
    pub(crate) fn prepare_page(&mut self) {
        let name = self.settings.name.clone();
        self.page.value("name", &name);
        self.page.screen("first");
        self.trial.begin();
    }

    /// All that may have changed.
    pub(crate) fn update_page(&mut self, now: Time) {
        let screen = if self.screen == Screen::Play { "play" } else { "first" };
        self.page.screen(screen);
        let notice = self.notice.clone().unwrap_or_default();
        self.page.text("notice", &notice);
        self.page.shown("notice", !notice.is_empty());
        self.update_first(now);
        self.update_hud(now);
        self.update_panels(now);
        self.update_graph(now);
        self.update_dialog();
        self.tell_tests(now);
    }

    /// What a key shows at once.
    pub(crate) fn page_after_key(&mut self) {
        if self.hands.holds(Action::Scores) && self.lab.is_none() {
            self.page.shown("scores", true);
        }
    }

    fn update_first(&mut self, now: Time) {
        if self.screen == Screen::First
            && !self.matches.is_empty()
            && let Some(matches) = self.news.poll(now)
        {
            self.matches = matches;
        }
        let ping = self.health.figures(now).ping_ms;
        let road = self.session.as_ref().map(|session| session.road().name());
        let road = match (road, ping) {
            (None, _) => "Looking for a match…".to_owned(),
            (Some(road), _) if road == "in this page" => {
                "No server: this match runs in the page itself.".into()
            }
            (Some(road), Some(ping)) => format!("{road}, {ping:.0} ms"),
            (Some(road), None) => road,
        };
        self.page.text("road", &road);
        let network = self.network.clone().unwrap_or_default();
        self.page.text("network", &network);
        self.page.attribute(
            "invite",
            "style",
            if network.is_empty() { "display:none" } else { "" },
        );
        let lines = self.match_lines();
        self.page.fill("matches", &format!("{lines:?}"), |document, element| {
            for (title, rest, address) in &lines {
                let tag = if address.is_some() { "a" } else { "div" };
                if let Some(line) = page::add(document, element, tag, "match", "") {
                    let _ = address.as_ref().map(|address| line.set_attribute("href", address));
                    page::add(document, &line, "b", "", title);
                    page::add(document, &line, "span", "", rest);
                }
            }
        });
        let keys: Vec<(String, &str)> = TAUGHT
            .iter()
            .map(|(what, actions)| {
                let keys =
                    actions.iter().map(|action| key_title(self.settings.bindings.key(*action)));
                (keys.collect::<Vec<_>>().join(" "), *what)
            })
            .collect();
        self.page.fill("keys", &format!("{keys:?}"), |document, element| {
            for (keys, what) in &keys {
                page::add(document, element, "dt", "", keys);
                page::add(document, element, "dd", "", what);
            }
        });
        let problems = self.problems.clone();
        self.page.fill("problems", &problems.join("\n"), |document, element| {
            for problem in &problems {
                page::add(document, element, "li", "", problem);
            }
        });
    }

    /// A line for each match: "Halls, free for all", "7 bots, 2 people", and where to go for it unless it is this one.
    fn match_lines(&self) -> Vec<(String, String, Option<String>)> {
        if self.matches.is_empty() {
            let Some(session) = &self.session else { return Vec::new() };
            let bots = self.settings.bots;
            return vec![(
                format!("{}, free for all", session.content().map.title),
                format!("{bots} bots"),
                None,
            )];
        }
        let mode = |mode: &str| match mode {
            "ffa" => "free for all".to_owned(),
            "tdm" => "two teams".to_owned(),
            "targets" => "targets".to_owned(),
            other => other.to_owned(),
        };
        // We are among those of our own match.
        let people = |people: u32| people.saturating_sub(u32::from(self.is_in));
        let line = |of: &crate::outside::Match| {
            let people = if of.page_port.is_some() { of.people } else { people(of.people) };
            let remembered = self.settings.remembered();
            let address = of.page_port.and_then(|port| page::at_port(port, &remembered));
            (format!("{}, {}", of.title, mode(&of.mode)), company(of.bots, people), address)
        };
        self.matches.iter().map(line).collect()
    }

    fn update_hud(&mut self, now: Time) {
        let Some(session) = &self.session else { return };
        if self.lab.is_none()
            && let Some(world) = session.shown()
        {
            self.around = self.around(session, world);
        }
        // A participant's came with the picture, which may be an older one.
        let around = std::mem::take(&mut self.around);
        self.page.text("clock", &around.clock);
        self.page.text("standing", &around.standing);
        self.update_body(around.own.as_ref());
        self.update_scores(around.scores.as_deref());
        self.update_feed(&around.feed);
        self.update_aim(&around);
        self.page.shown("held", around.is_held && self.lab.is_some());
        self.around = around;
        let ping = self.health.figures(now).ping_ms;
        let ping = ping.filter(|_| self.lab.is_none());
        self.page.text("ping", &ping.map_or(String::new(), |ping| format!("{ping:.0} ms")));
        let hints = if self.lab.is_some() { &HINTS[..2] } else { &HINTS[..] };
        let hint = hints.iter().find(|(action, _)| !self.hands.used.contains(action));
        let hint =
            hint.filter(|_| self.is_locked() && self.replay.is_none()).map(|(action, what)| {
                format!("{} {what}", key_title(self.settings.bindings.key(*action)))
            });
        self.page.text("hint", &hint.unwrap_or_default());
        self.page.shown("pause", self.is_paused());
        let verdict =
            self.replay.as_ref().map(|replay| (replay.sentence.clone(), replay.theirs.is_some()));
        self.page.shown("death", verdict.is_some());
        if let Some((sentence, has_both)) = verdict {
            self.page.text("verdict", &sentence);
            let name = sentence.split_once('’').and_then(|(name, _)| name.strip_prefix("On "));
            self.page.text("killer", &format!("{}’s screen", name.unwrap_or("Their")));
            self.page.attribute("death", "data-alone", if has_both { "false" } else { "true" });
        }
    }

    fn update_body(&mut self, own: Option<&Fighter>) {
        let alive = own.filter(|own| own.is_alive());
        let is_there = alive.is_some() && self.replay.is_none();
        for id in ["body", "gun", "aim"] {
            self.page.attribute(id, "style", if is_there { "" } else { "display:none" });
        }
        let waits = own.filter(|own| self.screen == Screen::Play && !own.is_alive());
        let words = match waits {
            Some(own) if own.is_away => "Watching: two others have a duel.".to_owned(),
            Some(own) if own.respawn > 0.0 => format!("Back in {:.0} s", own.respawn.ceil()),
            _ => String::new(),
        };
        self.page.text("watching", &words);
        let Some(own) = alive else { return };
        self.page.text("health", &own.health.to_string());
        self.page.attribute("body", "data-low", if own.health <= 25 { "true" } else { "false" });
        self.page.text("armour", &own.armour.to_string());
        let number = own.weapon.index();
        self.page.text("loaded", &own.loaded[number].to_string());
        self.page.text("reserve", &format!("/ {}", own.reserve[number]));
        let weapon = if own.reloading > 0.0 { "reloading" } else { hud::weapon(own.weapon) };
        self.page.text("weapon", weapon);
    }

    /// Whether the match waits for the mouse.
    pub(crate) fn is_paused(&self) -> bool {
        self.screen == Screen::Play
            && self.is_match_wanted()
            && !self.is_locked()
            && !self.trial.is_driven()
            && !self.shows_conditions
            && !self.shows_settings
            && self.replay.is_none()
    }

    /// What stands around the picture now.
    pub(crate) fn around(&self, session: &Session, world: &World<Entity>) -> Around {
        let dt = session.tick_length().map_or(1.0 / 60.0, |length| length.as_seconds_f64() as f32);
        let is_over = world.all::<Contest>().any(|(_, contest)| contest.phase == Phase::Over);
        let playing = self.screen == Screen::Play;
        let (me, content) = (session.me(), session.content());
        let now = session.player().own_tick().unwrap_or(world.tick());
        let around = Around::of(world, content, me.filter(|_| playing), (now, dt));
        let shows_scores =
            playing && !around.is_held && (self.hands.holds(Action::Scores) || is_over);
        Around {
            own: session.own().map(|(_, own)| own.clone()),
            feed: self.feed.lines().map(|line| line.parts.clone()).collect(),
            scores: shows_scores.then(|| Around::all_scores(world, me)),
            mark: self.marks.shown(),
            hurts: self.hurts.clone(),
            ..around
        }
    }

    fn update_scores(&mut self, rows: Option<&[hud::Row]>) {
        self.page.shown("scores", rows.is_some());
        let Some(rows) = rows else { return };
        self.page.fill("scores", &format!("{rows:?}"), |document, element| {
            fill_scores(document, element, rows)
        });
    }

    fn update_feed(&mut self, lines: &[Vec<(Whose, String)>]) {
        self.page.fill("feed", &format!("{lines:?}"), |document, element| {
            for parts in lines {
                let Some(line) = page::add(document, element, "li", "", "") else { continue };
                for (whose, text) in parts {
                    let class = match whose {
                        Whose::Own => "own",
                        Whose::Enemy => "enemy",
                        Whose::Nobody => "",
                    };
                    page::add(document, &line, "span", class, text);
                }
            }
        });
    }

    fn update_aim(&mut self, around: &Around) {
        let crosshair = Crosshair::ALL.iter().find(|(_, shape)| *shape == self.settings.crosshair);
        self.page.attribute("aim", "data-crosshair", crosshair.map_or("cross", |(name, _)| name));
        let state = match around.mark {
            None => "none",
            Some(State::Hollow) => "hollow",
            Some(State::Filled) => "filled",
            Some(State::Struck) => "struck",
        };
        self.page.attribute("mark", "data-state", state);
        let arcs: Vec<String> = around
            .hurts
            .iter()
            .map(|(angle, left)| format!("{:.0} {:.1}", angle.to_degrees(), left.min(1.0)))
            .collect();
        self.page.fill("hurts", &arcs.join(","), |document, element| {
            for arc in &arcs {
                let Some((angle, left)) = arc.split_once(' ') else { continue };
                let space = Some("http://www.w3.org/2000/svg");
                let Ok(path) = document.create_element_ns(space, "path") else { continue };
                let _ = path.set_attribute("d", "M-20-44A48 48 0 0 1 20-44");
                let _ = path.set_attribute("transform", &format!("rotate({angle})"));
                let _ = path.set_attribute("opacity", left);
                let _ = element.append_child(&path);
            }
        });
    }

    fn update_panels(&mut self, now: Time) {
        // They tell of the line, which a participant is not to know.
        let warning = self.health.warning().filter(|_| self.lab.is_none());
        let warning = warning.map(|warning| (warning.sentence.clone(), warning.severity));
        self.page.shown(
            "warning",
            warning.is_some() && self.screen == Screen::Play && self.replay.is_none(),
        );
        if let Some((sentence, severity)) = warning {
            self.page.text("warning", &sentence);
            self.page.attribute(
                "warning",
                "data-severity",
                if severity == Severity::Severe { "severe" } else { "warning" },
            );
        }
        self.page.shown("conditions", self.shows_conditions && self.screen == Screen::Play);
        if !self.shows_conditions {
            return;
        }
        let wanted = self.settings.wanted;
        let rate = if wanted.rate_kbps > 0.0 {
            format!("{:.0} kB/s", wanted.rate_kbps)
        } else {
            "no limit".into()
        };
        let loss = match wanted.loss_percent {
            [up, down] if up == down => format!("{up:.0} %"),
            [up, down] => format!("↓{down:.0} ↑{up:.0} %"),
        };
        let rows: [(&'static str, &'static str, f64, String); 4] = [
            ("delay", "delay-value", wanted.delay_ms, format!("{:.0} ms", wanted.delay_ms)),
            ("jitter", "jitter-value", wanted.jitter_ms, format!("{:.0} ms", wanted.jitter_ms)),
            ("loss", "loss-value", wanted.loss_percent[0].max(wanted.loss_percent[1]), loss),
            ("rate", "rate-value", wanted.rate_kbps, rate),
        ];
        for (slider, output, value, text) in rows {
            self.page.value(slider, &value.to_string());
            self.page.text(output, &text);
        }
        let figures = self.health.figures(now);
        let asked = 2.0 * (wanted.delay_ms + wanted.jitter_ms / 2.0);
        let achieved = format!("Added {asked:.0} ms of ping. Measured: {figures}");
        self.page.text("achieved", &achieved);
        let view = self.settings.view.clone();
        self.page.choose("views", &format!("view={view}"));
        let words = match view.as_str() {
            "latest" => "Where the last update had them: they jump from update to update.",
            "extrapolate" => "Straight on from the last update, for at most 100 ms.",
            "interpolate" => {
                "Between two updates, a little in the past: smooth, and never guessed."
            }
            "predict" => {
                "In the present, by the rules and their last commands; wrong when they turn."
            }
            _ => "As this model has it.",
        };
        self.page.text("view-words", words);
        self.page.value("ghosts", if self.settings.ghosts { "on" } else { "off" });
        let knows_truth =
            self.session.as_ref().is_some_and(|session| session.road().truth().is_some());
        let words = if knows_truth { "" } else { "By its newest word, half a ping old." };
        self.page.text("ghost-words", words);
    }

    fn update_graph(&mut self, now: Time) {
        let is_playing = self.screen == Screen::Play
            && self.replay.is_none()
            && !self.hands.holds(Action::Scores);
        let (line, full) = (self.settings.graph == Graph::Line, self.settings.graph == Graph::Full);
        self.page.shown("netline", line && is_playing);
        self.page.shown("net", full && is_playing);
        if !is_playing || self.settings.graph == Graph::Off {
            return;
        }
        let figures = self.health.figures(now);
        if line {
            self.page.text("netline", &figures.to_string());
            return;
        }
        let numbers = graph::numbers(&figures);
        self.page.fill("figures", &format!("{numbers:?}"), |document, element| {
            for (title, value, meaning) in &numbers {
                if let Some(span) = page::add(document, element, "span", "", "") {
                    let _ = span.set_attribute("title", meaning);
                    page::add(document, &span, "small", "", title);
                    page::add(document, &span, "span", "", value);
                }
            }
        });
        let canvas = self
            .page
            .element("graph")
            .and_then(|element| element.dyn_into::<HtmlCanvasElement>().ok());
        let context = canvas.and_then(|canvas| canvas.get_context("2d").ok().flatten());
        if let Some(context) =
            context.and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok())
        {
            paint(&context, &graph::strokes(&self.health, now));
        }
    }

    fn update_dialog(&mut self) {
        let dialog = self
            .page
            .element("settings")
            .and_then(|element| element.dyn_into::<HtmlDialogElement>().ok());
        let Some(dialog) = dialog else { return };
        if self.shows_settings && !dialog.open() {
            let _ = dialog.show_modal();
        } else if !self.shows_settings && dialog.open() {
            dialog.close();
        }
        if !self.shows_settings {
            return;
        }
        let settings = &self.settings;
        let rows: [(&'static str, &'static str, f32, String); 3] = [
            (
                "sensitivity",
                "sensitivity-value",
                settings.sensitivity,
                format!("{:.1}°", settings.sensitivity),
            ),
            ("fov", "fov-value", settings.field_of_view, format!("{:.0}°", settings.field_of_view)),
            (
                "volume",
                "volume-value",
                settings.volume,
                format!("{:.0} %", settings.volume * 100.0),
            ),
        ];
        let crosshair = Crosshair::ALL
            .iter()
            .find(|(_, shape)| *shape == settings.crosshair)
            .map_or("cross", |(name, _)| name);
        let shadows = if settings.is_fine { "fine" } else { "plain" };
        let asked = self.asked_key;
        let keys: Vec<(Action, String)> = Action::all()
            .map(|action| (action, key_title(settings.bindings.key(action))))
            .collect();
        for (slider, output, value, text) in rows {
            self.page.value(slider, &value.to_string());
            self.page.text(output, &text);
        }
        self.page.choose("crosshairs", &format!("crosshair={crosshair}"));
        self.page.choose("shadows", &format!("shadows={shadows}"));
        self.page.fill("bindings", &format!("{keys:?} {asked:?}"), |document, element| {
            for (action, key) in &keys {
                page::add(document, element, "span", "", action.title());
                let is_asked = asked == Some(*action);
                let text = if is_asked { "press a key" } else { key };
                if let Some(button) = page::add(
                    document,
                    element,
                    "button",
                    if is_asked { "asked" } else { "" },
                    text,
                ) {
                    let _ = button.set_attribute("data-do", &format!("key.{}", action.name()));
                }
            }
        });
    }
}

/// Who is there besides oneself: "7 bots, 2 people".
fn company(bots: u32, people: u32) -> String {
    let bots = match bots {
        0 => "no bots".to_owned(),
        1 => "1 bot".to_owned(),
        bots => format!("{bots} bots"),
    };
    match people {
        0 => format!("{bots}, nobody else"),
        1 => format!("{bots}, 1 person"),
        people => format!("{bots}, {people} people"),
    }
}

fn fill_scores(document: &Document, element: &Element, rows: &[(String, i16, u16, bool)]) {
    page::add(document, element, "h2", "", "Scores");
    let Some(table) = page::add(document, element, "table", "", "") else { return };
    if let Some(head) = page::add(document, &table, "tr", "", "") {
        for column in ["Player", "Score", "Deaths"] {
            page::add(document, &head, "th", "", column);
        }
    }
    for (name, score, deaths, is_me) in rows {
        let Some(row) = page::add(document, &table, "tr", if *is_me { "me" } else { "" }, "")
        else {
            continue;
        };
        page::add(document, &row, "td", "", name);
        page::add(document, &row, "td", "", &score.to_string());
        page::add(document, &row, "td", "", &deaths.to_string());
    }
}

fn paint(context: &CanvasRenderingContext2d, strokes: &[Stroke]) {
    context.clear_rect(0.0, 0.0, SIZE[0].into(), SIZE[1].into());
    context.set_font("12px system-ui, sans-serif");
    for stroke in strokes {
        match stroke {
            Stroke::Bar([x, y, width, height], paint) => {
                let colour = match paint {
                    Paint::Ink => "#1C2430",
                    Paint::Slate | Paint::Hatched => "#566272",
                    Paint::Rule => "#D5D0C4",
                    Paint::Own => "#0B63B0",
                    Paint::Enemy => "#C24100",
                };
                context.set_fill_style_str(colour);
                let [x, y, width, height] = [*x, *y, *width, *height].map(f64::from);
                if *paint == Paint::Hatched {
                    let mut at = 0.0;
                    while at < height {
                        context.fill_rect(x, y + at, width + 1.0, 1.5);
                        at += 3.0;
                    }
                } else {
                    context.fill_rect(x, y, width, height);
                }
            }
            Stroke::Cross([x, y]) => {
                context.set_fill_style_str("#C24100");
                let _ = context.fill_text("✕", f64::from(*x) - 4.0, f64::from(*y) + 4.0);
            }
            Stroke::Dot([x, y]) => {
                context.set_fill_style_str("#1C2430");
                context.begin_path();
                let _ = context.arc(f64::from(*x), f64::from(*y), 2.5, 0.0, std::f64::consts::TAU);
                context.fill();
            }
            Stroke::Words([x, y], words) => {
                context.set_fill_style_str("#566272");
                let _ = context.fill_text(words, f64::from(*x), f64::from(*y));
            }
        }
    }
}
