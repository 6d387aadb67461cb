//! The page as an app needs it: elements by name, text that changes only when it must, and what happened on it since
//! the last frame. The only place besides drawing and sound that touches the browser.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    Document, Element, Event, HtmlElement, HtmlInputElement, KeyboardEvent, MouseEvent, WheelEvent,
    Window,
};

/// The most that can happen between two frames; more is not heard.
const HAPPENINGS_MAX: usize = 1024;

/// What happened on the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happening {
    /// A key or a button went down; whether the page's own fields have the focus.
    Down { key: String, in_field: bool },
    /// It came up.
    Up { key: String },
    /// The mouse moved while it belongs to the match.
    Moved { right: f32, down: f32 },
    /// The wheel turned.
    Wheel { down: bool },
    /// The mouse belongs to the match, or does not any more.
    Lock(bool),
    /// Something that says what to do was clicked.
    Do(String),
    /// Something that can be set was set.
    Set { name: String, value: String },
    /// What was to be said.
    Said(String),
    /// Whoever played looks elsewhere, or at the page again.
    Away,
}

type Happenings = Rc<RefCell<Vec<Happening>>>;

/// The document, and what its texts are.
pub(crate) struct Page {
    document: Document,
    elements: BTreeMap<&'static str, Element>,
    texts: BTreeMap<String, String>,
    happenings: Happenings,
}

impl Page {
    /// Listens to everything.
    pub(crate) fn new(document: Document) -> Result<Self, JsValue> {
        let page = Self {
            document,
            elements: BTreeMap::new(),
            texts: BTreeMap::new(),
            happenings: Happenings::default(),
        };
        page.listen()?;
        Ok(page)
    }

    /// What happened since this was last asked.
    pub(crate) fn take_happenings(&self) -> Vec<Happening> {
        std::mem::take(&mut *self.happenings.borrow_mut())
    }

    /// The document itself.
    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    /// An element by its name; the page is ours, so it is there.
    pub(crate) fn element(&mut self, id: &'static str) -> Option<Element> {
        if let Some(element) = self.elements.get(id) {
            return Some(element.clone());
        }
        let element = self.document.get_element_by_id(id)?;
        self.elements.insert(id, element.clone());
        Some(element)
    }

    /// Changes a text, if it is another.
    pub(crate) fn text(&mut self, id: &'static str, text: &str) {
        if self.is_news(id, "", text)
            && let Some(element) = self.element(id)
        {
            element.set_text_content(Some(text));
        }
    }

    /// Changes an attribute, if it is another.
    pub(crate) fn attribute(&mut self, id: &'static str, name: &str, value: &str) {
        if self.is_news(id, name, value)
            && let Some(element) = self.element(id)
        {
            let _ = element.set_attribute(name, value);
        }
    }

    /// Shows or hides what is shown by its class.
    pub(crate) fn shown(&mut self, id: &'static str, is_shown: bool) {
        if self.is_news(id, "class shown", if is_shown { "1" } else { "0" })
            && let Some(element) = self.element(id)
        {
            let _ = element.class_list().toggle_with_force("shown", is_shown);
        }
    }

    /// Which screen is shown.
    pub(crate) fn screen(&mut self, name: &str) {
        if self.is_news("body", "screen", name)
            && let Some(body) = self.document.body()
        {
            let _ = body.set_attribute("data-screen", name);
        }
    }

    /// Empties an element and lets it be filled, if what it is to show is another; `told` stands for that.
    pub(crate) fn fill(
        &mut self,
        id: &'static str,
        told: &str,
        fill: impl FnOnce(&Document, &Element),
    ) {
        if self.is_news(id, "filled", told)
            && let Some(element) = self.element(id)
        {
            element.set_text_content(None);
            fill(&self.document, &element);
        }
    }

    /// Sets a slider, a field or a tick.
    pub(crate) fn value(&mut self, id: &'static str, value: &str) {
        if let Some(input) =
            self.element(id).and_then(|element| element.dyn_into::<HtmlInputElement>().ok())
        {
            if input.type_() == "checkbox" {
                input.set_checked(value == "on");
            } else if input.value() != value {
                input.set_value(value);
            }
        }
    }

    /// Presses the one of a row of buttons that stands for a choice.
    pub(crate) fn choose(&mut self, id: &'static str, chosen: &str) {
        if !self.is_news(id, "chosen", chosen) {
            return;
        }
        let Some(row) = self.element(id) else { return };
        let mut child = row.first_element_child();
        while let Some(button) = child {
            let is_it = button.get_attribute("data-set-to").as_deref() == Some(chosen);
            let _ = button.set_attribute("aria-pressed", if is_it { "true" } else { "false" });
            child = button.next_element_sibling();
        }
    }

    /// Gives an element the focus, or takes it away.
    pub(crate) fn focus(&mut self, id: &'static str, is_focused: bool) {
        let element = self.element(id).and_then(|element| element.dyn_into::<HtmlElement>().ok());
        if let Some(element) = element {
            let _ = if is_focused { element.focus() } else { element.blur() };
        }
    }

    fn is_news(&mut self, id: &str, what: &str, value: &str) -> bool {
        let key = format!("{id} {what}");
        if self.texts.get(&key).is_some_and(|known| known == value) {
            return false;
        }
        self.texts.insert(key, value.to_owned());
        true
    }

    fn listen(&self) -> Result<(), JsValue> {
        let Some(window) = web_sys::window() else { return Ok(()) };
        self.listen_to_keys(&window)?;
        self.listen_to_mouse(&window)?;
        let happenings = Rc::clone(&self.happenings);
        on(&self.document, "click", move |event| {
            let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok())
            else {
                return;
            };
            let found = |name: &str| {
                let owner = element.closest(&format!("[{name}]")).ok().flatten()?;
                owner.get_attribute(name)
            };
            if let Some(what) = found("data-do") {
                tell(&happenings, Happening::Do(what));
            } else if let Some((name, value)) =
                found("data-set-to").as_deref().and_then(|to| to.split_once('='))
            {
                let (name, value) = (name.to_owned(), value.to_owned());
                tell(&happenings, Happening::Set { name, value });
            }
        })?;
        let happenings = Rc::clone(&self.happenings);
        on(&self.document, "input", move |event| {
            let input =
                event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
            let Some(input) = input else { return };
            let Some(name) = input.get_attribute("data-set") else { return };
            let on = if input.checked() { "on" } else { "off" };
            let value = if input.type_() == "checkbox" { on.to_owned() } else { input.value() };
            tell(&happenings, Happening::Set { name, value });
        })?;
        let (happenings, document) = (Rc::clone(&self.happenings), self.document.clone());
        on(&self.document, "submit", move |event| {
            event.prevent_default();
            let words = document
                .get_element_by_id("words")
                .and_then(|words| words.dyn_into::<HtmlInputElement>().ok());
            if let Some(words) = words {
                tell(&happenings, Happening::Said(words.value()));
                words.set_value("");
            }
        })?;
        let happenings = Rc::clone(&self.happenings);
        on(&self.document, "visibilitychange", move |_| tell(&happenings, Happening::Away))
    }

    fn listen_to_keys(&self, window: &Window) -> Result<(), JsValue> {
        let happenings = Rc::clone(&self.happenings);
        on(window, "keydown", move |event| {
            let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
            let in_field = event.target().is_some_and(|target| {
                let input = target.dyn_into::<HtmlInputElement>();
                input.is_ok_and(|input| !matches!(input.type_().as_str(), "range" | "checkbox"))
            });
            let code = event.code();
            // The page's own use of these keys would take the player out of the match.
            if !in_field
                && matches!(code.as_str(), "Tab" | "Space" | "Slash" | "Quote")
                && is_locked()
            {
                event.prevent_default();
            }
            if !event.repeat() {
                tell(&happenings, Happening::Down { key: code, in_field });
            }
        })?;
        let happenings = Rc::clone(&self.happenings);
        on(window, "keyup", move |event| {
            if let Some(event) = event.dyn_ref::<KeyboardEvent>() {
                tell(&happenings, Happening::Up { key: event.code() });
            }
        })
    }

    fn listen_to_mouse(&self, window: &Window) -> Result<(), JsValue> {
        let happenings = Rc::clone(&self.happenings);
        on(&self.document, "mousemove", move |event| {
            if let Some(event) = event.dyn_ref::<MouseEvent>().filter(|_| is_locked()) {
                let (right, down) = (event.movement_x() as f32, event.movement_y() as f32);
                let mut happenings = happenings.borrow_mut();
                // Many small ways are one.
                if let Some(Happening::Moved { right: before, down: also }) = happenings.last_mut()
                {
                    (*before, *also) = (*before + right, *also + down);
                } else if happenings.len() < HAPPENINGS_MAX {
                    happenings.push(Happening::Moved { right, down });
                }
            }
        })?;
        for (name, is_down) in [("mousedown", true), ("mouseup", false)] {
            let happenings = Rc::clone(&self.happenings);
            on(&self.document, name, move |event| {
                let Some(event) = event.dyn_ref::<MouseEvent>().filter(|_| is_locked() || !is_down)
                else {
                    return;
                };
                let key = format!("Mouse{}", event.button());
                let down = Happening::Down { key: key.clone(), in_field: false };
                tell(&happenings, if is_down { down } else { Happening::Up { key } });
            })?;
        }
        let happenings = Rc::clone(&self.happenings);
        on(window, "wheel", move |event| {
            if let Some(event) = event.dyn_ref::<WheelEvent>().filter(|_| is_locked()) {
                tell(&happenings, Happening::Wheel { down: event.delta_y() > 0.0 });
            }
        })?;
        let happenings = Rc::clone(&self.happenings);
        on(&self.document, "pointerlockchange", move |_| {
            tell(&happenings, Happening::Lock(is_locked()))
        })?;
        let happenings = Rc::clone(&self.happenings);
        on(window, "blur", move |_| tell(&happenings, Happening::Away))
    }
}

/// The page at another port of this machine, with what this one's address asks for and our name.
pub(crate) fn at_port(port: u16, name: &str) -> Option<String> {
    let address = web_sys::Url::new(&web_sys::window()?.location().href().ok()?).ok()?;
    address.set_port(&port.to_string());
    if !name.is_empty() {
        address.search_params().set("name", name);
    }
    Some(address.href())
}

/// Whether the mouse belongs to the match.
pub(crate) fn is_locked() -> bool {
    let document = web_sys::window().and_then(|window| window.document());
    document.is_some_and(|document| {
        js_sys::Reflect::get(&document, &"pointerLockElement".into())
            .is_ok_and(|element| element.is_truthy())
    })
}

/// Asks for the mouse: as it moves, without the system's acceleration, where that can be had.
pub(crate) fn lock(element: &Element) {
    let ask = js_sys::Reflect::get(element, &"requestPointerLock".into());
    let Some(ask) = ask.ok().and_then(|ask| ask.dyn_into::<js_sys::Function>().ok()) else {
        return;
    };
    let options = js_sys::Object::new();
    let _ = js_sys::Reflect::set(&options, &"unadjustedMovement".into(), &true.into());
    let Ok(answer) = ask.call1(element, &options) else { return };
    let Ok(promise) = answer.dyn_into::<js_sys::Promise>() else { return };
    let element = element.clone();
    let again = Closure::once_into_js(move |_: JsValue| {
        // Not every system has it; then as it is.
        let promise =
            ask.call0(&element).ok().and_then(|answer| answer.dyn_into::<js_sys::Promise>().ok());
        if let Some(promise) = promise {
            let quiet = Closure::once_into_js(|_: JsValue| {});
            call_catch(&promise, &quiet);
        }
    });
    call_catch(&promise, &again);
}

fn call_catch(promise: &js_sys::Promise, then: &JsValue) {
    let catch = js_sys::Reflect::get(promise, &"catch".into());
    if let Some(catch) = catch.ok().and_then(|catch| catch.dyn_into::<js_sys::Function>().ok()) {
        let _ = catch.call1(promise, then);
    }
}

/// Gives the mouse back.
pub(crate) fn unlock(document: &Document) {
    let give = js_sys::Reflect::get(document, &"exitPointerLock".into());
    if let Some(give) = give.ok().and_then(|give| give.dyn_into::<js_sys::Function>().ok()) {
        let _ = give.call0(document);
    }
}

/// An element with a text, in another.
pub(crate) fn add(
    document: &Document,
    to: &Element,
    tag: &str,
    class: &str,
    text: &str,
) -> Option<Element> {
    let element = document.create_element(tag).ok()?;
    if !class.is_empty() {
        element.set_class_name(class);
    }
    if !text.is_empty() {
        element.set_text_content(Some(text));
    }
    to.append_child(&element).ok()?;
    Some(element)
}

/// Calls back for as long as the page is there.
pub(crate) fn on(
    target: &web_sys::EventTarget,
    name: &str,
    call: impl FnMut(Event) + 'static,
) -> Result<(), JsValue> {
    let closure = Closure::<dyn FnMut(Event)>::new(call);
    target.add_event_listener_with_callback(name, closure.as_ref().unchecked_ref())?;
    closure.forget();
    Ok(())
}

fn tell(happenings: &Happenings, happening: Happening) {
    let mut happenings = happenings.borrow_mut();
    if happenings.len() < HAPPENINGS_MAX {
        happenings.push(happening);
    }
}
