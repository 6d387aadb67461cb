//! The way in from the theatre's page: asks for a run, and takes it as numbers and words.

use super::{Performance, Wanted};
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

    /// All panes of all frames.
    pub fn frames(&self) -> Vec<f32> {
        self.0.frames()
    }

    /// All packets.
    pub fn packets(&self) -> Vec<f32> {
        self.0.packets()
    }

    /// All else, as JSON.
    pub fn words(&self) -> String {
        self.0.words()
    }

    /// The state hashes of all panes of a frame.
    pub fn hash(&self, frame: usize) -> String {
        self.0.hash(frame)
    }
}
