//! From reports to a release.

use crate::world::{CROWD, START, World, eventually, limits};
use serde_json::Value;
use throng_collection::Collection;

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_goes_through_the_chain_and_comes_out_as_a_release() {
    let world = World::new(limits()).await;
    let reports = world.reports(0, 30).await;
    for report in &reports[..10] {
        assert_eq!(world.post(0, report.clone()).await, 202);
    }
    // Twenty at once, three of them again, and two that are noise.
    assert_eq!(world.post(0, reports[10..].concat()).await, 202);
    assert_eq!(world.post(0, reports[..3].concat()).await, 202);
    assert_eq!(world.post(0, vec![7; 2 * reports[0].len()]).await, 202);
    let open = world.json(&world.at(0, "/status")).await;
    assert_eq!((&open["epoch"], &open["slots"]), (&Value::from(0), &Value::from(Vec::<u8>::new())));
    assert_eq!(world.metric(0, "throng_uploads_accepted_total").await, 0);

    world.clock.set(START + 110);
    let release = &world.releases(1).await[0];
    assert_eq!(release["reports"], 30);
    // Two equal noises: one is malformed, the other its replay, the fourth. Hundreds are told.
    for name in ["replayed", "malformed"] {
        let told = &release["dropped"]["mixes"][0][name];
        assert!(*told == 0 || *told == 100, "{name}: {told}");
    }
    assert_eq!(release["privacy"]["honest"], 30);
    let value = release["estimates"][0]["value"].as_f64().unwrap();
    // Fifteen of thirty said yes: (15 − 30·¼)/(1 − 2·¼).
    assert!((value - 15.0).abs() < 1e-6, "{value}");

    let slot = world.slot(0, 0, "delivered").await;
    assert_eq!(slot["reports"], 30);
    assert_eq!(world.metric(1, "throng_batches_received_total").await, 1);
    let line = format!("throng_reports_total{{collection=\"{}\"}}", world.id);
    assert_eq!(world.metric(1, &line).await, 30);

    for path in ["/".to_owned(), format!("/collections/{}", world.id)] {
        let page = world.get(&format!("{}{path}", world.root(2))).await.text().await.unwrap();
        assert!(page.contains("Is 1 &#60; 2?") && page.contains("of 30 said yes"), "{path}");
    }
    let table = world.get(&world.at(2, "/releases.csv")).await.text().await.unwrap();
    let row = format!(
        "{},\"Is 1 < 2?\",1970-01-12T13:46:40Z,1970-01-12T13:48:20Z,0,0,30,\"yes\",15",
        world.id
    );
    assert!(table.lines().nth(1).unwrap().starts_with(&row), "{table}");
    let published = world.json(&world.at(2, "/releases")).await;
    assert_eq!(
        (&published["question"], &published["clock"]),
        (&"Is 1 < 2?".into(), &"simulated".into())
    );
    assert_eq!(published["releases"][0]["begin"], "1970-01-12T13:46:40Z");
    assert_eq!(published["releases"][0]["end"], "1970-01-12T13:48:20Z");
    assert_eq!(published["fates"][0]["fate"], "released");

    let file = world.get(&world.at(1, "")).await;
    assert_eq!(file.headers()["content-type"], "application/toml");
    let listed = world.json(&format!("{}/v1/collections", world.root(1))).await;
    assert_eq!(listed["collections"][0]["id"], world.id.to_string());
    assert_eq!(listed["collections"][0]["hop"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_are_dropped_and_the_next_epoch_goes_on() {
    let world = World::new(limits()).await;
    let few = world.reports(0, CROWD as usize - 1).await;
    assert_eq!(world.post(0, few.concat()).await, 202);
    world.clock.set(START + 110);
    let slot = world.slot(0, 0, "short").await;
    assert!(slot["reports"].is_null(), "how many are too few is nobody's business");
    let enough = world.reports(1, CROWD as usize).await;
    assert_eq!(world.post(1, enough.concat()).await, 202);
    world.clock.set(START + 210);
    let release = &world.releases(1).await[0];
    assert_eq!((&release["first"], &release["reports"]), (&1.into(), &CROWD.into()));
    // The analyzer heard of the first one: no number, and no guess.
    world.slot(2, 0, "short").await;
    let status = world.json(&world.at(2, "/status")).await;
    assert_eq!(
        (&status["fates"][0]["fate"], &status["fates"][0]["words"]),
        (&"short".into(), &"too few reports".into())
    );
    assert_eq!(status["slots"][0]["stage"], "short");
    assert!(status["slots"][0]["reports"].is_null());
    let page = world.get(&format!("{}/collections/{}", world.root(2), world.id)).await;
    let page = page.text().await.unwrap();
    assert!(page.contains("too few reports") && page.contains("Simulated clock"), "{page}");
}

/// A world whose first mix has a batch of 25 reports, and whose second is away.
async fn sealed_for_nobody() -> World {
    let mut world = World::new(limits()).await;
    let reports = world.reports(0, 25).await;
    assert_eq!(world.post(0, reports.concat()).await, 202);
    world.stop(1).await;
    world.clock.set(START + 110);
    world.slot(0, 0, "sealed").await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_comes_back_gets_what_waits_for_it() {
    let mut world = sealed_for_nobody().await;
    world.start(1).await;
    assert_eq!(world.releases(1).await[0]["reports"], 25);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_takes_is_given_up_and_its_keys_are_destroyed() {
    let world = sealed_for_nobody().await;
    world.clock.set(START + 110 + 1_000);
    let slot = world.slot(0, 0, "keys").await;
    assert_eq!(slot["reports"], 25);
    eventually(async || (world.get(&world.at(0, "/keys/0")).await.status() == 410).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_may_be_cached_until_its_window_is_over() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    let answer = world.get(&world.at(0, "/directories/0")).await;
    assert_eq!(answer.headers()["cache-control"], "public, max-age=110");
    let ready = world.get(&format!("{}/readyz", world.root(0))).await;
    assert_eq!(ready.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_waits_for_keys_says_whose() {
    let mut world = World::new(limits()).await;
    world.stop(2).await;
    // The keys of epoch 5 are nobody's yet, and the analyzer is away.
    world.clock.set(START + 500);
    let url = format!("{}/readyz", world.root(0));
    let waiting = eventually(async || {
        let answer = world.get(&url).await;
        let status = answer.status();
        let body: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        (status == 503 && body["waiting"][0]["keys"] == serde_json::json!([3])).then_some(body)
    });
    let waiting = waiting.await;
    assert_eq!(waiting["waiting"][0]["window"], 5);
    assert_eq!(waiting["store"], "writable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_reads_its_files() {
    let world = World::new(limits()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let mut collection = world.collection.clone();
    // A promise that is kept: what a bit that is flipped once in four costs by itself.
    collection.terms.promise.epochs = 1;
    let text = collection.to_toml();
    assert!(Collection::parse(&text).is_ok(), "{:?}", Collection::parse(&text));
    std::fs::write(path("a.toml"), text).unwrap();
    world.identities[0].write(&path("mix.key")).unwrap();
    let file = "listen = \"127.0.0.1:0\"\nidentity = \"mix.key\"\ndata = \"data\"\n\
                collections = [\"a.toml\"]\n";
    std::fs::write(path("mix.toml"), file).unwrap();
    let open = |role| {
        let config = throng_server::Config::read(role, &path("mix.toml")).unwrap();
        throng_server::Server::open(&config, world.clock.clone())
    };
    let refused = open(throng_server::Role::Analyzer).err().unwrap().to_string();
    assert!(refused.starts_with("collections: ") && refused.contains("analyzer"), "{refused}");
    let running = open(throng_server::Role::Mix).unwrap().start().await.unwrap();
    let answer = world.get(&format!("http://{}/healthz", running.address())).await;
    assert_eq!(answer.status(), 200);
    running.stop().await;
}
