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
mod scene;
#[cfg(target_arch = "wasm32")]
mod screens;
mod session;
mod settings;
mod shapes;
#[cfg(target_arch = "wasm32")]
mod sound;
mod spectator;

#[cfg(target_arch = "wasm32")]
mod start {
    use crate::app::App;
    use std::cell::RefCell;
    use std::rc::Rc;
    use wasm_bindgen::prelude::*;

    /// How often a page that nobody looks at keeps its connection alive.
    const DOZE_MILLIS: i32 = 500;

    type Frame = Closure<dyn FnMut()>;

    /// Begins when the browser has loaded the page.
    #[wasm_bindgen(start)]
    pub(crate) fn start() -> Result<(), JsValue> {
        let window = web_sys::window().ok_or("there is no window")?;
        let app = Rc::new(RefCell::new(App::new()?));
        let dozing = Rc::clone(&app);
        let doze = Frame::new(move || dozing.borrow_mut().doze());
        window.set_interval_with_callback_and_timeout_and_arguments_0(
            doze.as_ref().unchecked_ref(),
            DOZE_MILLIS,
        )?;
        doze.forget();
        let next: Rc<RefCell<Option<Frame>>> = Rc::default();
        let again = Rc::clone(&next);
        *next.borrow_mut() = Some(Frame::new(move || {
            app.borrow_mut().frame();
            if let (Some(window), Some(frame)) = (web_sys::window(), &*again.borrow()) {
                let _ = window.request_animation_frame(frame.as_ref().unchecked_ref());
            }
        }));
        if let Some(frame) = &*next.borrow() {
            window.request_animation_frame(frame.as_ref().unchecked_ref())?;
        }
        Ok(())
    }
}
