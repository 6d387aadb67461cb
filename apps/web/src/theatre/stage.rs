//! The way in from the theatre's page: asks for a run, takes it as numbers and words, and hands A's keys over.

use super::{Performance, Wanted};
use sametick::Span;
use sametick::theatre::Keys;
use wasm_bindgen::prelude::*;

/// A scene that was played, for the page to draw.
#[wasm_bindgen]
pub struct Theatre(Performance);

#[wasm_bindgen]
impl Theatre {
    /// Plays what a link asks for.
    #[wasm_bindgen(constructor)]
    pub fn new(query: &str) -> Theatre {
        Self(Performance::of(Wanted::read(query)))
    }

    /// All panes of the frames from one on.
    pub fn frames(&self, from: usize) -> Vec<f32> {
        self.0.frames(from)
    }

    /// All packets from one on.
    pub fn packets(&self, from: usize) -> Vec<f32> {
        self.0.packets(from)
    }

    /// All shots, as JSON.
    pub fn shots(&self) -> String {
        self.0.shots()
    }

    /// All else, as JSON.
    pub fn words(&self) -> String {
        self.0.words()
    }

    /// The state hashes of all panes of a frame.
    pub fn hash(&self, frame: usize) -> String {
        self.0.hash(frame)
    }

    /// The reader takes A's keys at this second: the scene is played again up to there, and goes on when told.
    pub fn take(&mut self, second: f64) {
        self.0.take(Span::from_millis_f64(second * 1000.0));
    }

    /// Plays on with these keys down, until this second.
    pub fn go_on(&mut self, second: f64, east: i8, north: i8, fire: bool) {
        self.0.go_on(Span::from_millis_f64(second * 1000.0), Keys { east, north, fire });
    }

    /// All keys that the reader has pressed, as a link has them.
    pub fn hand(&self) -> String {
        self.0.hand()
    }
}
