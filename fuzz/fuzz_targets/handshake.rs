//! Any bytes to every reader of the handshake: no panic, and what is taken would be written so.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sametick::secure::hello::{ACCEPT_BYTES_MAX, Accept, Hello, Retry};
use sametick::secure::{ClientToken, Token, TokenHead, TokenKey, TokenKind, connection_id_of};

const KEY: TokenKey = TokenKey::from_bytes([9; 32]);

fuzz_target!(|bytes: &[u8]| {
    if let Ok(hello) = Hello::read(bytes) {
        assert_eq!(hello.write(), bytes);
        assert_eq!(Token::open(hello.head, hello.sealed_token, &KEY), None, "nobody sealed it");
    }
    if let Some(retry) = Retry::read(bytes) {
        assert_eq!(retry.write(), bytes);
    }
    if let Some(accept) = Accept::read(bytes) {
        let mut written = [0; ACCEPT_BYTES_MAX];
        let length = accept.write(&mut written);
        assert_eq!(&written[..length], bytes);
    }
    if let Some(token) = ClientToken::from_bytes(bytes) {
        assert_eq!(token.to_bytes(), bytes);
        assert_eq!(ClientToken::from_text(&token.to_text()), Some(token));
    }
    if let Some(token) = std::str::from_utf8(bytes).ok().and_then(ClientToken::from_text) {
        assert_eq!(Some(token.to_text().as_str()), std::str::from_utf8(bytes).ok().map(str::trim));
    }
    for kind in [TokenKind::Connect, TokenKind::Resume] {
        let head =
            TokenHead { kind, protocol_id: 7, client_id: 17, expires_unix_seconds: u64::MAX };
        assert_eq!(Token::open(head, bytes, &KEY), None, "nobody sealed it");
    }
    if let Some(id) = connection_id_of(bytes) {
        assert_eq!(bytes[1..5], id.to_bytes());
    }
});
