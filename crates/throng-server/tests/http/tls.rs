//! The chain over TLS.

use crate::world::{Pem, World, limits};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

pub fn pem() -> Pem {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    Pem {
        certificate: certificate.pem().into_bytes(),
        key: key.serialize_pem().into_bytes(),
        authority: authority.pem().into_bytes(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parties_and_clients_talk_over_tls() {
    let world = World::with(limits(), Some(pem())).await;
    let reports = world.reports(0, 20).await;
    assert_eq!(world.post(0, reports.concat()).await, 202);
    world.clock.set(crate::world::START + 110);
    assert_eq!(world.releases(1).await[0]["reports"], 20);
    // Without the authority nobody believes the certificate, and without TLS nobody answers.
    let stranger = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/healthz", world.root(0));
    assert!(stranger.get(&url).send().await.is_err());
    assert!(stranger.get(url.replace("https", "http")).send().await.is_err());
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (one, other) = (pem(), pem());
    let data = tempfile::tempdir().unwrap();
    for (certificate, key, field) in [
        (&one.certificate, &other.key, "tls.key"),
        (&one.key, &one.key, "tls.certificate"),
        (&one.certificate, &one.certificate, "tls.key"),
    ] {
        let parts = throng_server::Parts {
            role: throng_server::Role::Mix,
            identity: throng_wire::Identity::from_seed(&[1; 32]),
            collections: Vec::new(),
            boards: Vec::new(),
            store: throng_mix::store::Store::on_disk(data.path()).unwrap(),
            limits: limits(),
            tls: Some((certificate.clone(), key.clone().into())),
            authority: None,
            access: None,
        };
        let refused = throng_server::Server::from_parts(parts, throng_server::Clock::System);
        assert!(refused.err().unwrap().to_string().starts_with(field));
    }
}
