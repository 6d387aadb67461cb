//! Short lists and texts that live inside a value: a maximum in the type, no allocation, plain copies.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// At most `N` items, in place.
///
/// ```
/// use sametick::List;
/// let mut ammunition = List::<u8, 4>::default();
/// assert!(ammunition.push(30));
/// assert_eq!(&ammunition[..], &[30]);
/// ```
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    length: usize,
    items: [T; N],
}

/// At most `N` bytes of UTF-8, in place.
///
/// ```
/// use sametick::Text;
/// let name = Text::<8>::cut("Ada Lovelace");
/// assert_eq!(&*name, "Ada Love");
/// ```
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    length: usize,
    bytes: [u8; N],
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    /// Appends `item` and says whether there was room.
    pub fn push(&mut self, item: T) -> bool {
        let room = self.length < N;
        if room {
            self.items[self.length] = item;
            self.length += 1;
        }
        room
    }

    /// Takes the last item away.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.last().copied()?;
        self.truncate(self.length - 1);
        Some(last)
    }

    /// Takes an item out; those behind it move up.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        let item = self.get(index).copied()?;
        self.items.copy_within(index + 1..self.length, index);
        self.truncate(self.length - 1);
        Some(item)
    }

    /// Forgets all items.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Keeps the first `length` items; those past them are forgotten.
    pub fn truncate(&mut self, length: usize) {
        self.resize(length.min(self.length));
    }

    /// Makes the list `length` long (at most `N`): new items are the default.
    pub(crate) fn resize(&mut self, length: usize) {
        let length = length.min(N);
        self.items[length.min(self.length)..].fill(T::default());
        self.length = length;
    }
}

impl<const N: usize> Text<N> {
    /// As much of `text` as fits, cut between characters.
    pub fn cut(text: &str) -> Self {
        let length = (0..=N.min(text.len())).rev().find(|&n| text.is_char_boundary(n));
        Self::from_valid(&text.as_bytes()[..length.unwrap_or(0)])
    }

    /// The longest valid text at the start of the first `length` of `bytes`.
    pub(crate) fn from_bytes(bytes: &[u8; N], length: usize) -> Self {
        let bytes = &bytes[..length.min(N)];
        match str::from_utf8(bytes) {
            Ok(text) => Self::cut(text),
            Err(error) => Self::from_valid(&bytes[..error.valid_up_to()]),
        }
    }

    fn from_valid(bytes: &[u8]) -> Self {
        let mut text = Self { length: bytes.len(), bytes: [0; N] };
        text.bytes[..bytes.len()].copy_from_slice(bytes);
        text
    }

    pub(crate) fn padded_bytes(&self) -> &[u8; N] {
        &self.bytes
    }
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self { length: 0, items: [T::default(); N] }
    }
}

/// As many of the items as there is room for.
impl<T: Copy + Default, const N: usize> FromIterator<T> for List<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        items.into_iter().take(N).for_each(|item| {
            list.push(item);
        });
        list
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a List<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..self.length]
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.length]
    }
}

impl<T: PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for List<T, N> {}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { length: 0, bytes: [0; N] }
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;
    fn deref(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl<const N: usize> PartialEq for Text<N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<const N: usize> Eq for Text<N> {}

impl<const N: usize> PartialEq<&str> for Text<N> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_takes_no_more_and_a_shrunk_one_forgets() {
        let mut list = List::<u8, 2>::default();
        assert!(list.push(1) && list.push(2) && !list.push(3));
        list.truncate(1);
        list.resize(2);
        assert_eq!(&list[..], &[1, 0]);
        assert_eq!((list.pop(), list.pop(), list.pop()), (Some(0), Some(1), None));
        let mut list: List<u8, 3> = (1..9).collect();
        assert_eq!((list.remove(0), list.remove(7)), (Some(1), None));
        assert_eq!(list.into_iter().copied().collect::<Vec<u8>>(), [2, 3]);
        list.clear();
        assert!(list.is_empty());
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(&*Text::<4>::cut("año"), "año");
        assert_eq!(&*Text::<2>::cut("año"), "a");
        assert_eq!(&*Text::<0>::cut("año"), "");
        assert_eq!(&*Text::<4>::from_bytes(&[b'a', 0xff, b'b', b'c'], 4), "a");
        assert_eq!(&*Text::<4>::from_bytes(b"abcd", 9), "abcd");
    }
}
