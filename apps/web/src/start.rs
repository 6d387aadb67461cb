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
