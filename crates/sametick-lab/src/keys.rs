//! Keys and buttons by the names that browsers have for them. Knows nothing of what they do.

/// Those that have names of their own.
const NAMED: [&str; 45] = [
    "Space",
    "Tab",
    "Enter",
    "Escape",
    "Backspace",
    "ShiftLeft",
    "ShiftRight",
    "ControlLeft",
    "ControlRight",
    "AltLeft",
    "AltRight",
    "MetaLeft",
    "MetaRight",
    "CapsLock",
    "ContextMenu",
    "ArrowUp",
    "ArrowDown",
    "ArrowLeft",
    "ArrowRight",
    "PageUp",
    "PageDown",
    "Home",
    "End",
    "Insert",
    "Delete",
    "Pause",
    "Backquote",
    "Minus",
    "Equal",
    "BracketLeft",
    "BracketRight",
    "Backslash",
    "IntlBackslash",
    "Semicolon",
    "Quote",
    "Comma",
    "Period",
    "Slash",
    "NumLock",
    "NumpadAdd",
    "NumpadSubtract",
    "NumpadMultiply",
    "NumpadDivide",
    "NumpadDecimal",
    "NumpadEnter",
];

/// All of them.
pub(crate) fn browser_keys() -> Vec<String> {
    let letters = ('A'..='Z').map(|letter| format!("Key{letter}"));
    let digits = (0..10).flat_map(|digit| [format!("Digit{digit}"), format!("Numpad{digit}")]);
    let functions = (1..=24).map(|number| format!("F{number}"));
    let buttons = (0..5).map(|button| format!("Mouse{button}"));
    let named = NAMED.iter().map(|name| (*name).to_owned());
    letters.chain(digits).chain(functions).chain(buttons).chain(named).collect()
}
