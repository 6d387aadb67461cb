//! The page on which the arena is played in a browser: one canvas, some HTML, the same rules and the same library as
//! the server; and the theatre and Islands, pages of their own. Each has a wasm of its own, by the features `play`,
//! `theatre` and `islands`, so that none loads what another needs. What knows no browser is built and tested natively
//! too.

// Natively there is no page that would use it.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]

#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod app;
#[cfg(feature = "play")]
mod camera;
#[cfg(feature = "play")]
mod colours;
#[cfg(feature = "play")]
mod conditions;
#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod draw;
#[cfg(feature = "play")]
mod effects;
#[cfg(feature = "play")]
mod figure;
#[cfg(feature = "play")]
mod graph;
#[cfg(feature = "play")]
mod hitmarks;
#[cfg(feature = "play")]
mod hud;
#[cfg(feature = "play")]
mod input;
#[cfg(feature = "play")]
mod inside;
#[cfg(feature = "islands")]
mod islands;
#[cfg(feature = "play")]
mod killcam;
#[cfg(feature = "play")]
mod lab;
#[cfg(feature = "play")]
mod mesh;
#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod outside;
#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod page;
#[cfg(feature = "play")]
mod particles;
#[cfg(feature = "play")]
mod player;
#[cfg(feature = "play")]
mod scene;
#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod screens;
#[cfg(feature = "play")]
mod session;
#[cfg(feature = "play")]
mod settings;
#[cfg(feature = "play")]
mod shapes;
#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod sound;
#[cfg(feature = "play")]
mod spectator;
#[cfg(feature = "theatre")]
mod theatre;

#[cfg(all(target_arch = "wasm32", feature = "play"))]
mod start;

#[cfg(all(target_arch = "wasm32", feature = "islands"))]
pub use islands::{Guest, Skirmish};
#[cfg(all(target_arch = "wasm32", feature = "play"))]
pub use start::{
    choose, exhibit, fly, hold, lab_join, lab_keys, lab_leave, lab_release, lab_second, lab_state,
    lab_take, leave, walk,
};
#[cfg(all(target_arch = "wasm32", feature = "theatre"))]
pub use theatre::Theatre;
