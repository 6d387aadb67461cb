//! Runs what may panic and keeps its words, so that a run that fails on purpose a hundred times does not print them.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What `run` gives, or what it panicked with and where.
pub(crate) fn catch<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    keep_quiet();
    IS_CAUGHT.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IS_CAUGHT.set(false);
    result.map_err(|panic| format!("{} (at {})", text_of(&*panic), PLACE.take()))
}

/// Panics of threads that are inside [`catch`] are not printed; all others are as before.
fn keep_quiet() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match IS_CAUGHT.get() {
            true => {
                let place = panic.location().map(ToString::to_string);
                PLACE.set(place.unwrap_or_default());
            }
            false => print(panic),
        }));
    });
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let number = 7;
        let failure = catch(|| assert!(number > 9, "only {number}")).unwrap_err();
        assert!(failure.starts_with("only 7 (at "), "{failure}");
        assert!(failure.contains("panics.rs:"), "{failure}");
        assert!(catch(|| panic!("plain")).unwrap_err().starts_with("plain"));
        assert_eq!(catch(|| 3), Ok(3));
    }
}
