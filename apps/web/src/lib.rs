//! The page on which the arena is played in a browser: one canvas, some HTML, the same rules and the same library as
//! the server. What knows no browser is built and tested natively too.

// Natively there is no page that would use it.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

#[cfg(target_arch = "wasm32")]
mod app;
mod camera;
mod colours;
mod conditions;
#[cfg(target_arch = "wasm32")]
mod draw;
mod effects;
mod figure;
mod graph;
mod hitmarks;
mod hud;
mod input;
mod inside;
mod killcam;
mod mesh;
#[cfg(target_arch = "wasm32")]
mod outside;
#[cfg(target_arch = "wasm32")]
mod page;
mod particles;
mod player;
mod scene;
#[cfg(target_arch = "wasm32")]
mod screens;
mod session;
mod settings;
mod shapes;
#[cfg(target_arch = "wasm32")]
mod sound;
mod spectator;
mod theatre;

#[cfg(target_arch = "wasm32")]
mod start;

#[cfg(target_arch = "wasm32")]
pub use start::{choose, exhibit, fly, hold, leave, walk};
#[cfg(target_arch = "wasm32")]
pub use theatre::Theatre;
