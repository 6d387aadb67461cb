//! The way in from the browser: begins, is called for each frame, and says goodbye.

use crate::app::App;
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// How often commands and updates are carried, whatever the frames do; a browser does it less often in the background.
const PUMP_MILLIS: i32 = 8;

type Frame = Closure<dyn FnMut()>;

thread_local! {
    static APP: RefCell<Option<App>> = const { RefCell::new(None) };
}

/// Begins when the browser has loaded the page.
#[wasm_bindgen(start)]
pub(crate) fn start() -> Result<(), JsValue> {
    let window = web_sys::window().ok_or("there is no window")?;
    let app = App::new()?;
    APP.with_borrow_mut(|place| *place = Some(app));
    let pump = Frame::new(|| with(App::pump));
    let callback = pump.as_ref().unchecked_ref();
    window.set_interval_with_callback_and_timeout_and_arguments_0(callback, PUMP_MILLIS)?;
    pump.forget();
    let next: Rc<RefCell<Option<Frame>>> = Rc::default();
    let again = Rc::clone(&next);
    *next.borrow_mut() = Some(Frame::new(move || {
        with(App::frame);
        if let (Some(window), Some(frame)) = (web_sys::window(), &*again.borrow()) {
            let _ = window.request_animation_frame(frame.as_ref().unchecked_ref());
        }
    }));
    if let Some(frame) = &*next.borrow() {
        window.request_animation_frame(frame.as_ref().unchecked_ref())?;
    }
    Ok(())
}

/// Says goodbye to the server, because the page goes.
#[wasm_bindgen]
pub fn leave() {
    with(App::leave);
}

/// For tests: plays without a mouse, and walks so until told otherwise; 7 is as fast as one can.
#[wasm_bindgen]
pub fn walk(forward: i8, yaw: f32) {
    with(|app| app.walk(forward, yaw));
}

/// For tests and pictures: has a bot of a skill from 1 to 5 play; 0 gives the player back.
#[wasm_bindgen]
pub fn fly(level: u8) {
    with(|app| app.fly(level));
}

/// For tests and pictures: leaves the picture as it is, while the match goes on.
#[wasm_bindgen]
pub fn hold(is_held: bool) {
    with(|app| app.hold(is_held));
}

/// Sets one of the choices that the page's address can set, at once.
#[wasm_bindgen]
pub fn choose(name: &str, value: &str) {
    with(|app| app.set(name, value));
}

/// For tests: a figure at 40 m before a wall of a texture, as a map of this title paints it, that faces one of four
/// sides; or on such a ground, seen from above. Whether it can be shown.
#[wasm_bindgen]
pub fn exhibit(texture: &str, title: &str, side: u8, is_above: bool) -> bool {
    let mut is_shown = false;
    with(|app| is_shown = app.exhibit(texture, title, side, is_above));
    is_shown
}

/// In an experiment: begins to join the match that the participant's seat is at.
#[wasm_bindgen]
pub fn lab_join() {
    with(App::join_trial);
}

/// In an experiment: leaves it.
#[wasm_bindgen]
pub fn lab_leave() {
    with(App::leave_trial);
}

/// In an experiment: asks for the mouse, after somebody did something.
#[wasm_bindgen]
pub fn lab_take() {
    with(App::take_mouse);
}

/// In an experiment: gives it back.
#[wasm_bindgen]
pub fn lab_release() {
    with(App::release_mouse);
}

/// In an experiment: how the match stands: `idle`, `joining`, `playing` or `lost`.
#[wasm_bindgen]
pub fn lab_state() -> String {
    let mut state = "idle";
    with(|app| state = app.trial_state());
    state.into()
}

/// In an experiment: which keys do what, as JSON.
#[wasm_bindgen]
pub fn lab_keys() -> String {
    let mut keys = String::new();
    with(|app| keys = app.keys());
    keys
}

/// In an experiment: what the time since this was last asked was like, as JSON.
#[wasm_bindgen]
pub fn lab_second() -> String {
    let mut told = String::new();
    with(|app| told = app.take_second());
    told
}

fn with(call: impl FnOnce(&mut App)) {
    APP.with(|app| {
        // The browser calls one thing after the other; were it otherwise, one of them would wait for its next turn.
        if let Ok(mut app) = app.try_borrow_mut()
            && let Some(app) = app.as_mut()
        {
            call(app);
        }
    });
}
