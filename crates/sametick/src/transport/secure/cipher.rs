//! ChaCha20-Poly1305 for packets: by ring natively, by portable code in the browser, where ring would
//! need a C compiler. Both give the same bytes.

use super::secret::Secret;

/// What a sealed packet has after its payload.
pub(super) const TAG_BYTES: usize = 16;

#[cfg(not(target_arch = "wasm32"))]
pub(super) type Cipher = native::Cipher;
#[cfg(target_arch = "wasm32")]
pub(super) type Cipher = portable::Cipher;

/// Four zeros and the whole number.
fn nonce(number: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    bytes
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use super::{Secret, TAG_BYTES, nonce};
    use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

    /// One direction's key.
    #[derive(Debug)]
    pub(in super::super) struct Cipher(LessSafeKey);

    impl Cipher {
        pub(in super::super) fn new(key: &Secret) -> Self {
            let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_bytes());
            Self(LessSafeKey::new(key.expect("a secret has the length of a key")))
        }

        /// Encrypts a payload where it lies and gives its tag. No number is used twice.
        #[inline]
        pub(in super::super) fn seal(
            &self,
            number: u64,
            header: &[u8],
            payload: &mut [u8],
        ) -> [u8; TAG_BYTES] {
            let nonce = Nonce::assume_unique_for_key(nonce(number));
            let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(header), payload);
            let tag = tag.expect("a datagram is below the cipher's limit");
            *tag.as_ref().first_chunk().expect("a tag has 16 bytes")
        }

        /// Decrypts what is before the tag, if the other end sealed it.
        #[inline]
        pub(in super::super) fn open<'a>(
            &self,
            number: u64,
            header: &[u8],
            sealed: &'a mut [u8],
        ) -> Option<&'a mut [u8]> {
            let nonce = Nonce::assume_unique_for_key(nonce(number));
            self.0.open_in_place(nonce, Aad::from(header), sealed).ok()
        }
    }
}

#[cfg(any(test, target_arch = "wasm32"))]
mod portable {
    use super::{Secret, TAG_BYTES, nonce};
    use chacha20poly1305::aead::AeadInOut;
    use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce, Tag};
    use std::fmt;

    /// One direction's key.
    pub(in super::super) struct Cipher(ChaCha20Poly1305);

    impl Cipher {
        pub(in super::super) fn new(key: &Secret) -> Self {
            Self(ChaCha20Poly1305::new(key.as_bytes().into()))
        }

        /// Encrypts a payload where it lies and gives its tag. No number is used twice.
        pub(in super::super) fn seal(
            &self,
            number: u64,
            header: &[u8],
            payload: &mut [u8],
        ) -> [u8; TAG_BYTES] {
            let nonce = Nonce::from(nonce(number));
            let tag = self.0.encrypt_inout_detached(&nonce, header, payload.into());
            tag.expect("a datagram is below the cipher's limit").into()
        }

        /// Decrypts what is before the tag, if the other end sealed it.
        pub(in super::super) fn open<'a>(
            &self,
            number: u64,
            header: &[u8],
            sealed: &'a mut [u8],
        ) -> Option<&'a mut [u8]> {
            let (payload, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>()?;
            let (nonce, tag) = (Nonce::from(nonce(number)), Tag::from(*tag));
            self.0.decrypt_inout_detached(&nonce, header, (&mut *payload).into(), &tag).ok()?;
            Some(payload)
        }
    }

    impl fmt::Debug for Cipher {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Cipher")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browsers_cipher_gives_the_bytes_of_the_native_one() {
        let key = Secret::from_bytes([7; 32]);
        let (native, portable) = (native::Cipher::new(&key), portable::Cipher::new(&key));
        for (number, length) in [(0, 0), (1, 1), (77, 64), (1 << 40, 100), (u64::MAX, 1_177)] {
            let plain: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let (mut one, mut other) = (plain.clone(), plain.clone());
            let tag = native.seal(number, b"header", &mut one);
            assert_eq!(portable.seal(number, b"header", &mut other), tag);
            assert_eq!(one, other);
            one.extend_from_slice(&tag);
            let mut copy = one.clone();
            assert_eq!(portable.open(number, b"header", &mut copy).as_deref(), Some(&plain[..]));
            let mut copy = one.clone();
            assert_eq!(native.open(number, b"header", &mut copy).as_deref(), Some(&plain[..]));
            for (number, header) in [(number ^ 1, &b"header"[..]), (number, b"headex")] {
                assert_eq!(portable.open(number, header, &mut one.clone()), None);
                assert_eq!(native.open(number, header, &mut one.clone()), None);
            }
            assert_eq!(portable.open(number, b"header", &mut [0; 15]), None);
        }
    }
}
