//! TLS 1.2 and 1.3, for servers that have no proxy in front.

use super::not_after::not_after;
use crate::Error;
use crate::config::wrong;
use crate::current::Current;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

/// Certificate chain and key in PEM.
pub(crate) type Pem = (Vec<u8>, Zeroizing<Vec<u8>>);

/// The certificate that every new connection is shown. Connections that there are keep theirs.
pub(crate) struct Certificate(Current<Shown>);

/// A certificate chain, its key, and the time when it ends.
pub(crate) struct Shown {
    key: Arc<CertifiedKey>,
    expires: Option<u64>,
}

impl Shown {
    /// Reads PEM: the chain with the server's own certificate first, and its key.
    pub fn read((certificate, key): &Pem) -> Result<Self, Error> {
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain =
            chain.ok_or_else(|| wrong("tls.certificate", "a PEM file with at least one"))?;
        // What the parser says of a key is not repeated.
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|_| wrong("tls.key", "a PEM file with a private key"))?;
        let expires = chain.first().and_then(|own| not_after(own));
        let key = CertifiedKey::from_der(chain, key, &provider());
        let key = key.map_err(|_| wrong("tls.key", "the private key of the first certificate"))?;
        Ok(Self { key: Arc::new(key), expires })
    }
}

impl Certificate {
    /// The certificate to begin with.
    pub fn new(shown: Shown) -> Self {
        Self(Current::new(shown))
    }

    /// Shows another one from now on.
    pub fn replace(&self, shown: Shown) {
        self.0.replace(shown);
    }

    /// The time when it ends, in seconds since 1970.
    pub fn expires(&self) -> Option<u64> {
        self.0.read().expires
    }

    /// Accepts connections with it.
    pub fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, Error> {
        // A provider of its own: another part of the process may have chosen another default.
        let config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong("tls", error.to_string()))?;
        let own: Arc<Self> = Arc::clone(self);
        let mut config = config.with_no_client_auth().with_cert_resolver(own);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().key))
    }
}

/// The key is not shown.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("expires", &self.expires()).finish_non_exhaustive()
    }
}

fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}
