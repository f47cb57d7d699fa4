//! A party's certificate: readable, its key's, in force, and for its host.

use super::finding::Findings;
use super::read;
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error, RootCertStore, ServerConfig};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Looks at both files, for these hosts.
pub fn examine<'a>(
    certificate: &Path,
    key: &Path,
    hosts: impl Iterator<Item = &'a str>,
    findings: &mut Findings,
) -> Option<()> {
    let name = certificate.display();
    let chain = chain(certificate, findings)?;
    pair(&chain, key, findings);
    let own = chain.first().and_then(|own| ParsedCertificate::try_from(own).ok());
    let own = own.ok_or_else(|| format!("{name} begins with no certificate"));
    let remedy = "ask who issued it for a PEM file of X.509, version 3";
    let own = findings.need("TLS", own, remedy)?;
    if let Some(trouble) = out_of_force(&own, &chain[1..]) {
        findings.fail("TLS", format!("{name} {trouble}"), "renew it, or set the clock");
    }
    for host in hosts {
        let host = host.trim_matches(['[', ']']);
        let covers =
            ServerName::try_from(host).is_ok_and(|host| verify_server_name(&own, &host).is_ok());
        let covers = covers.then(|| format!("{name} is for {host}"));
        let covers =
            covers.ok_or_else(|| format!("{name} is not for {host}, the host of the party's url"));
        findings.judge("TLS", covers, "get one that names it; the others refuse this one");
    }
    Some(())
}

fn chain(file: &Path, findings: &mut Findings) -> Option<Vec<CertificateDer<'static>>> {
    let remedy = "`certificate` under [tls] names a PEM file, the party's own certificate first";
    let bytes = findings.need("TLS", read(file), remedy)?;
    let chain = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| format!("{} holds no certificates", file.display()));
    findings.need("TLS", chain, remedy)
}

/// Checks that the key belongs to the first certificate.
fn pair(chain: &[CertificateDer<'static>], key: &Path, findings: &mut Findings) -> Option<()> {
    let name = key.display();
    let remedy = "`key` under [tls] names the PEM file of the private key of that certificate";
    let bytes = Zeroizing::new(findings.need("TLS", read(key), remedy)?);
    let mode = fs::metadata(key).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o077 != 0 {
        findings.fail("TLS", format!("others may read {name}"), &format!("chmod 600 {name}"));
    }
    // The parser's message about a key is not repeated.
    let key = PrivateKeyDer::from_pem_slice(&bytes);
    let key = key.map_err(|_| format!("{name} holds no private key"));
    let key = findings.need("TLS", key, remedy)?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain.to_vec(), key));
    let config = config.map_err(|_| format!("{name} is the key of another certificate"));
    findings.need("TLS", config, remedy).map(drop)
}

/// A certificate that has not begun or has ended, in words. Those who connect check who signed it:
/// without roots nothing is trusted, but the dates are looked at first.
fn out_of_force(own: &ParsedCertificate, others: &[CertificateDer]) -> Option<&'static str> {
    let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
    let trust = RootCertStore::empty();
    let now = UnixTime::now();
    let checked =
        verify_server_cert_signed_by_trust_anchor(own, &trust, others, now, algorithms.all);
    match checked {
        Err(Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        )) => Some("has expired"),
        Err(Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        )) => Some("is not valid yet"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    fn found(years: (i32, i32), host: &str, other_key: bool) -> String {
        found_of(years, host, other_key, 0o600)
    }

    fn found_of(years: (i32, i32), host: &str, other_key: bool, mode: u32) -> String {
        let directory = tempfile::tempdir().unwrap();
        let files = ["cert.pem", "key.pem"].map(|name| directory.path().join(name));
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(vec!["north.example".into()]).unwrap();
        parameters.not_before = date_time_ymd(years.0, 1, 1);
        parameters.not_after = date_time_ymd(years.1, 1, 1);
        let certificate = parameters.self_signed(&key).unwrap();
        let written = if other_key { KeyPair::generate().unwrap() } else { key };
        fs::write(&files[0], certificate.pem()).unwrap();
        fs::write(&files[1], written.serialize_pem()).unwrap();
        fs::set_permissions(&files[1], fs::Permissions::from_mode(mode)).unwrap();
        let mut findings = Findings::default();
        examine(&files[0], &files[1], [host].into_iter(), &mut findings);
        findings.lines().join("\n")
    }

    #[test]
    fn a_certificate_is_for_a_host_and_a_time() {
        assert!(found((2000, 4000), "north.example", false).ends_with("is for north.example"));
        let wrong = found((2000, 4000), "south.example", false);
        assert!(wrong.contains("is not for south.example"), "{wrong}");
        assert!(found((2000, 2001), "north.example", false).contains("has expired"));
        assert!(found((3000, 4000), "north.example", false).contains("is not valid yet"));
        let other = found((2000, 4000), "north.example", true);
        assert!(other.contains("is the key of another certificate"), "{other}");
    }

    #[test]
    fn a_key_that_others_may_read_is_found() {
        for (mode, found) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            let lines = found_of((2000, 4000), "north.example", false, mode);
            assert_eq!(lines.contains("others may read"), found, "{mode:o}: {lines}");
        }
    }
}
