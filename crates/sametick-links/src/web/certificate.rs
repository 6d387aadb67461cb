//! Certificates: one that is made here and renewed before browsers refuse it, or one that browsers know,
//! read from files again and again so that a renewed one is used.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use wtransport::Identity;

/// Browsers take a certificate by its hash only if it lasts at most 14 days.
const DAYS: u32 = 13;
/// How often one is made, or read again. The certificate before it is good for a week more, so a page
/// that was given its hash gets in.
pub(super) const RENEWED_EVERY: Duration = Duration::from_secs(6 * 3_600);

/// Where certificates come from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// From here, for these names.
    Made(Vec<String>),
    /// From a PEM file with the chain and one with the key.
    Files(PathBuf, PathBuf),
}

impl Source {
    pub(super) async fn identity(&self) -> io::Result<Identity> {
        match self {
            Self::Made(names) => Identity::self_signed_builder()
                .subject_alt_names(names)
                .from_now_utc()
                .validity_days(DAYS)
                .build()
                .map_err(io::Error::other),
            Self::Files(chain, key) => Identity::load_pemfiles(chain, key).await.map_err(|error| {
                let (chain, key) = (chain.display(), key.display());
                let advice = "two PEM files are wanted, the chain and its PKCS#8 key";
                io::Error::other(format!("{chain} and {key} are no certificate: {error}; {advice}"))
            }),
        }
    }

    /// Whether browsers know it without being told its hash.
    pub(super) fn is_known(&self) -> bool {
        matches!(self, Self::Files(..))
    }
}

/// The SHA-256 of the certificate itself, as browsers want it.
pub(super) fn hash(identity: &Identity) -> Option<[u8; 32]> {
    identity.certificate_chain().as_slice().first().map(|first| *first.hash().as_ref())
}

/// Opens TLS for pages with the same certificate.
pub(super) fn page_tls(identity: &Identity) -> io::Result<Arc<ServerConfig>> {
    let chain = identity.certificate_chain().as_slice().iter();
    let chain = chain.map(|one| CertificateDer::from(one.der().to_vec())).collect();
    let key = PrivateKeyDer::try_from(identity.private_key().secret_der().to_vec());
    let key = key.map_err(io::Error::other)?;
    let versions = &[&rustls::version::TLS13];
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config = config.map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
