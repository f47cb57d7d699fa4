//! TLS 1.2 and 1.3, for servers that have no proxy in front.

use crate::Error;
use crate::config::wrong;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Reads PEM, the chain with the server's own certificate first and its key, to accept connections.
pub(crate) fn tls(certificate: &[u8], key: &[u8]) -> Result<TlsAcceptor, Error> {
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| wrong("tls.certificate", "a PEM file with at least one"))?;
    // What the parser says of a key is not repeated.
    let key = PrivateKeyDer::from_pem_slice(key);
    let key = key.map_err(|_| wrong("tls.key", "a PEM file with a private key"))?;
    // A provider of its own: another part of the process may have chosen another default.
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("tls", error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config =
        config.map_err(|_| wrong("tls.key", "the private key of the first certificate"))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
