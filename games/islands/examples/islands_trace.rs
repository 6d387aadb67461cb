//! Plays a contest of bots and tells the hash of all its worlds: the same natively, as released, and in wasm.

use sametick_islands::{Content, Opening, trace};

fn main() {
    let hash = trace(Content::new(1, 4, Opening::War), 1, 1_200).expect("all numbers are finite");
    let text = format!("sametick trace {hash:016x}");
    println!("{text}");
    // In wasm there is nowhere to print to: whoever runs it there looks for the text in its memory.
    text.leak();
}
