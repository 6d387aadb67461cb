//! Sorts what is nearly in order. Knows nothing of what it sorts.

/// Sorts by a key, in place; what has the same key keeps its order. Takes time in proportion to the length and to how
/// far elements are out of place, and a fraction of the code of the standard library's sort: pages have it once for
/// each game.
pub(crate) fn sort_nearly_sorted<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && key(&items[at - 1]) > key(&items[at]) {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(mut items: Vec<(u8, u16)>) {
            let mut expected = items.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_nearly_sorted(&mut items, |(key, _)| *key);
            prop_assert_eq!(items, expected);
        }
    }
}
