//! The key agreement, `Noise_NNpsk0_25519_ChaChaPoly_SHA256`, and the keys that come out of it.
//! Knows two messages and a shared key; what else stands in a datagram is a prologue to it.
//!
//! The first message is authenticated by the shared key alone, so junk costs the server hashes and
//! no curve arithmetic. Both sides' keys are drawn for one handshake, so no two sessions share a
//! key, whatever token they use, and recorded traffic stays secret if a token key leaks later.
//!
//! Packets are sealed elsewhere, under numbers of our own: packets get lost and change places,
//! which Noise's transport does not expect. So the two direction keys are taken out of snow by
//! its raw split, which snow calls dangerous because nothing then counts nonces: here
//! [`super::Sealer`] does. They are the very keys that Noise's `Split()` defines, the first from
//! the initiator to the responder.

use curve25519_dalek::MontgomeryPoint;
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::CryptoResolver;
#[cfg(target_arch = "wasm32")]
use snow::resolvers::DefaultResolver as Primitives;
#[cfg(not(target_arch = "wasm32"))]
use snow::resolvers::RingResolver as Primitives;
use snow::types::{Cipher, Dh, Hash, Random as NoiseRandom};
use snow::{Builder, Error, HandshakeState};
use zeroize::Zeroize;

use super::hello::NOISE_1_BYTES;
use super::secret::{SECRET_BYTES, Secret, same};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Where in the pattern the shared key is mixed in.
const PSK_PLACE: u8 = 0;

/// The two keys of a session, one for each direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKeys {
    /// From the client to the server.
    pub up: Secret,
    /// From the server to the client.
    pub down: Secret,
}

/// The client's side of one handshake.
pub(super) struct Initiator(HandshakeState);

impl Initiator {
    /// Starts a handshake with an ephemeral key that is used in no other. Gives the first message.
    pub(super) fn start(
        psk: &Secret,
        prologue: &[u8],
        ephemeral: Secret,
    ) -> (Self, [u8; NOISE_1_BYTES]) {
        let builder = builder(psk, prologue, ephemeral).and_then(Builder::build_initiator);
        let mut state = builder.expect("the pattern needs a shared key and no other");
        let mut message = [0; NOISE_1_BYTES];
        let written = state.write_message(&[], &mut message);
        assert_eq!(written.ok(), Some(NOISE_1_BYTES), "an empty first message has this length");
        (Self(state), message)
    }

    /// Reads the server's message into `payload` and tells the payload's length and the keys.
    /// A forged message leaves the handshake as it was.
    pub(super) fn finish(
        &mut self,
        message: &[u8],
        payload: &mut [u8],
    ) -> Option<(usize, SessionKeys)> {
        let length = self.0.read_message(message, payload).ok()?;
        Some((length, split(&mut self.0)))
    }
}

/// The server's side of one handshake, of which the first message proved authentic.
pub(super) struct Responder(HandshakeState);

impl Responder {
    /// Checks the client's message; no curve arithmetic is done.
    pub(super) fn hear(
        psk: &Secret,
        prologue: &[u8],
        message: &[u8; NOISE_1_BYTES],
        ephemeral: Secret,
    ) -> Option<Self> {
        let mut state = builder(psk, prologue, ephemeral).ok()?.build_responder().ok()?;
        let length = state.read_message(message, &mut []).ok()?;
        (length == 0).then_some(Self(state))
    }

    /// Agrees on keys: the one place where a server multiplies points. Writes the second message to
    /// `message` and tells its length; nothing comes of a client whose key is no proper point.
    pub(super) fn answer(
        mut self,
        payload: &[u8],
        message: &mut [u8],
    ) -> Option<(usize, SessionKeys)> {
        let length = self.0.write_message(payload, message).ok()?;
        Some((length, split(&mut self.0)))
    }
}

fn builder<'a>(
    psk: &'a Secret,
    prologue: &'a [u8],
    ephemeral: Secret,
) -> Result<Builder<'a>, Error> {
    let parameters: NoiseParams = PATTERN.parse()?;
    let resolver = Box::new(Resolver { ephemeral });
    Builder::with_resolver(parameters, resolver).psk(PSK_PLACE, psk.as_bytes())?.prologue(prologue)
}

fn split(state: &mut HandshakeState) -> SessionKeys {
    let (up, down) = state.dangerously_get_raw_split();
    SessionKeys { up: Secret::from_bytes(up), down: Secret::from_bytes(down) }
}

/// Hash and cipher, ring's where there is ring, our curve, and the ephemeral key that the caller drew.
struct Resolver {
    ephemeral: Secret,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn NoiseRandom>> {
        Some(Box::new(Once(Some(self.ephemeral.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        (*choice == DHChoice::Curve25519).then(|| Box::new(Curve::default()) as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        Primitives.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        Primitives.resolve_cipher(choice)
    }
}

/// Gives the bytes of one ephemeral key, and no second one.
struct Once(Option<Secret>);

impl NoiseRandom for Once {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let secret = self.0.take().filter(|_| bytes.len() == SECRET_BYTES).ok_or(Error::Rng)?;
        bytes.copy_from_slice(secret.as_bytes());
        Ok(())
    }
}

/// X25519. Ring has it too, but draws its keys from the system and from nowhere else.
#[derive(Default)]
struct Curve {
    private: [u8; 32],
    public: [u8; 32],
}

impl Dh for Curve {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        self.public.len()
    }

    fn priv_len(&self) -> usize {
        self.private.len()
    }

    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.public = MontgomeryPoint::mul_base_clamped(self.private).to_bytes();
    }

    fn generate(&mut self, random: &mut dyn NoiseRandom) -> Result<(), Error> {
        let mut private = [0; SECRET_BYTES];
        random.try_fill_bytes(&mut private)?;
        self.set(&private);
        private.zeroize();
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    /// Refuses the few points that make any secret zero.
    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let point = public.first_chunk().ok_or(Error::Dh)?;
        let mut shared = MontgomeryPoint(*point).mul_clamped(self.private).to_bytes();
        if same(&shared, &[0; 32]) {
            return Err(Error::Dh);
        }
        out.get_mut(..32).ok_or(Error::Dh)?.copy_from_slice(&shared);
        shared.zeroize();
        Ok(())
    }
}

impl Drop for Curve {
    fn drop(&mut self) {
        self.private.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret::from_bytes([byte; 32])
    }

    /// The keys of both sides and the payload that the client read.
    fn shake(psk: u8, client: u8, server: u8) -> (SessionKeys, SessionKeys, Vec<u8>) {
        let (mut initiator, first) = Initiator::start(&secret(psk), b"prologue", secret(client));
        let responder =
            Responder::hear(&secret(psk), b"prologue", &first, secret(server)).expect("authentic");
        let (mut message, mut payload) = ([0; 200], [0; 200]);
        let (length, servers) = responder.answer(b"welcome", &mut message).expect("a point");
        assert_eq!(length, 48 + 7);
        let (read, clients) =
            initiator.finish(&message[..length], &mut payload).expect("authentic");
        (clients, servers, payload[..read].to_vec())
    }

    #[test]
    fn both_sides_get_the_same_two_keys() {
        let (client, server, payload) = shake(1, 2, 3);
        assert_eq!(client, server);
        assert_ne!(client.up, client.down);
        assert_eq!(payload, b"welcome");
    }

    #[test]
    fn fresh_keys_on_either_side_make_a_fresh_session() {
        let (keys, ..) = shake(1, 2, 3);
        for other in [shake(1, 2, 4).0, shake(1, 4, 3).0, shake(4, 2, 3).0] {
            for a in [&keys.up, &keys.down] {
                assert!(*a != other.up && *a != other.down);
            }
        }
    }

    #[test]
    fn the_first_message_is_bound_to_shared_key_and_prologue() {
        let (_, first) = Initiator::start(&secret(1), b"prologue", secret(2));
        let hears = |psk, prologue: &[u8], message: &[u8; 48]| {
            Responder::hear(&secret(psk), prologue, message, secret(3)).is_some()
        };
        assert!(hears(1, b"prologue", &first));
        assert!(!hears(2, b"prologue", &first));
        assert!(!hears(1, b"prologuE", &first));
        for bit in 0..first.len() * 8 {
            let mut forged = first;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(!hears(1, b"prologue", &forged), "bit {bit}");
        }
    }

    #[test]
    fn a_forged_second_message_leaves_the_handshake_as_it_was() {
        let (mut initiator, first) = Initiator::start(&secret(1), b"p", secret(2));
        let responder = Responder::hear(&secret(1), b"p", &first, secret(3)).expect("authentic");
        let (mut message, mut payload) = ([0; 48], [0; 0]);
        let (length, keys) = responder.answer(&[], &mut message).expect("a point");
        for bit in (0..length * 8).step_by(7) {
            let mut forged = message;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(initiator.finish(&forged, &mut payload), None, "bit {bit}");
        }
        assert_eq!(initiator.finish(&message[..20], &mut payload), None);
        assert_eq!(initiator.finish(&message, &mut payload), Some((0, keys)));
    }

    #[test]
    fn a_key_that_is_no_proper_point_gives_no_session() {
        struct Zero;
        impl CryptoResolver for Zero {
            fn resolve_rng(&self) -> Option<Box<dyn NoiseRandom>> {
                Some(Box::new(Once(None)))
            }
            fn resolve_dh(&self, _: &DHChoice) -> Option<Box<dyn Dh>> {
                Some(Box::new(ZeroCurve))
            }
            fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
                Primitives.resolve_hash(choice)
            }
            fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
                Primitives.resolve_cipher(choice)
            }
        }
        struct ZeroCurve;
        impl Dh for ZeroCurve {
            fn name(&self) -> &'static str {
                "25519"
            }
            fn pub_len(&self) -> usize {
                32
            }
            fn priv_len(&self) -> usize {
                32
            }
            fn set(&mut self, _: &[u8]) {}
            fn generate(&mut self, _: &mut dyn NoiseRandom) -> Result<(), Error> {
                Ok(())
            }
            fn pubkey(&self) -> &[u8] {
                &[0; 32]
            }
            fn privkey(&self) -> &[u8] {
                &[0; 32]
            }
            fn dh(&self, _: &[u8], _: &mut [u8]) -> Result<(), Error> {
                Ok(())
            }
        }
        let psk = secret(1);
        let builder = Builder::with_resolver(PATTERN.parse().unwrap(), Box::new(Zero));
        let mut state = builder.psk(0, psk.as_bytes()).unwrap().build_initiator().unwrap();
        let mut first = [0; 48];
        state.write_message(&[], &mut first).unwrap();
        let responder = Responder::hear(&psk, b"", &first, secret(3)).expect("it knows the key");
        assert_eq!(responder.answer(&[], &mut [0; 48]).map(|(length, _)| length), None);
    }
}
