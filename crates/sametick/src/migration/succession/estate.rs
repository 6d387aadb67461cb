//! The state of a server in pieces: cut on the host, put together on a successor. Knows neither what the bytes mean nor
//! which machine sends them.

use super::STATE_PIECE_BYTES_MAX;
use super::words::Piece;
use crate::core::bits::Malformed;
use crate::core::tick::Tick;
use std::sync::Arc;

/// A state on its way to one successor.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) tick: Tick,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) is_last_word: bool,
    next: usize,
}

impl Parcel {
    pub(crate) fn new(tick: Tick, bytes: Arc<[u8]>, is_last_word: bool) -> Self {
        Self { tick, bytes, is_last_word, next: 0 }
    }

    /// The next message, until all are taken.
    pub(crate) fn take(&mut self, epoch: u32) -> Option<Vec<u8>> {
        let count = self.bytes.len().div_ceil(STATE_PIECE_BYTES_MAX);
        let bytes = self.bytes.chunks(STATE_PIECE_BYTES_MAX).nth(self.next)?;
        let (tick, index, is_last_word) = (self.tick, self.next, self.is_last_word);
        self.next += 1;
        Some(Piece { epoch, tick, index, count, is_last_word, bytes }.write())
    }
}

/// A state as it comes in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    of: Option<(u32, Tick, usize)>,
    bytes: Vec<u8>,
    next: usize,
}

impl Gathering {
    /// Takes a piece; gives the bytes when they are whole. One that does not follow is refused, and so
    /// is all that came before it.
    pub(crate) fn take(&mut self, piece: &Piece<'_>) -> Result<Option<Vec<u8>>, Malformed> {
        let of = Some((piece.epoch, piece.tick, piece.count));
        if piece.index == 0 {
            *self = Self { of, ..Self::default() };
        }
        if self.of != of || self.next != piece.index {
            *self = Self::default();
            return Err(Malformed);
        }
        self.bytes.extend_from_slice(piece.bytes);
        self.next += 1;
        if self.next < piece.count {
            return Ok(None);
        }
        Ok(Some(std::mem::take(self).bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(index: usize, count: usize, bytes: &[u8]) -> Piece<'_> {
        Piece { epoch: 1, tick: Tick(5), index, count, is_last_word: false, bytes }
    }

    #[test]
    fn pieces_make_up_what_was_cut() {
        let bytes: Vec<u8> = (0..STATE_PIECE_BYTES_MAX * 2 + 5).map(|i| i as u8).collect();
        let mut parcel = Parcel::new(Tick(5), bytes.clone().into(), false);
        let mut gathering = Gathering::default();
        let mut whole = None;
        while let Some(message) = parcel.take(1) {
            assert!(whole.is_none());
            whole = gathering.take(&Piece::read(&message[1..]).unwrap()).unwrap();
        }
        assert_eq!(whole, Some(bytes));
    }

    #[test]
    fn a_piece_that_does_not_follow_spoils_the_rest() {
        let full = [1; STATE_PIECE_BYTES_MAX];
        let mut gathering = Gathering::default();
        assert!(gathering.take(&piece(1, 2, &full)).is_err());
        assert_eq!(gathering.take(&piece(0, 3, &full)), Ok(None));
        assert!(gathering.take(&piece(2, 3, &full)).is_err());
        assert!(gathering.take(&piece(1, 3, &full)).is_err());
        assert_eq!(gathering.take(&piece(0, 1, &[3])), Ok(Some(vec![3])));
    }
}
