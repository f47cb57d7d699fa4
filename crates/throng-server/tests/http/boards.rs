//! Boards: from messages to bulletins that everybody signed.

use crate::world::{START, World, eventually, limits, rng};
use serde_json::Value;
use std::collections::BTreeMap;
use throng_collection::{Board, Collection};
use throng_server::{Access, Config, Listener, Parts, Reader, Role, Server, Token};
use throng_wire::{Bag, Bulletin, Identity, Notice, PublicIdentity, Seal, SignedDirectory};

const CROWD: usize = 5;

/// A board with three rounds through the chain of the question.
pub fn board(collection: &Collection) -> Board {
    Board {
        about: "Keys of <you>".into(),
        messages: 2,
        payload: 4,
        crowd: CROWD as u64,
        rounds: 3,
        schedule: collection.schedule,
        chain: collection.chain.clone(),
    }
}

async fn world() -> World {
    World::made(limits(), None, |collection| vec![board(collection)]).await
}

fn at(world: &World, hop: usize, path: &str) -> String {
    format!("{}/v1/collections/{}{path}", world.root(hop), world.boards[0].id())
}

fn parties(world: &World) -> Vec<PublicIdentity> {
    world.identities.iter().map(Identity::public).collect()
}

/// The reports of a round, and all messages in them.
async fn reports(world: &World, round: u64, count: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (board, url) = (&world.boards[0], at(world, 0, &format!("/directories/{round}")));
    let bytes = eventually(async || {
        let answer = world.get(&url).await;
        let complete = answer.status() == 200;
        if complete { Some(answer.bytes().await.unwrap()) } else { None }
    });
    let directory = SignedDirectory::decode(&bytes.await).unwrap();
    let keys = &directory.verify(&board.id(), round, &parties(world)).unwrap().keys;
    let seal = Seal::new(&board.shape(), board.id(), round, round, keys).unwrap();
    let messages: Vec<[u8; 8]> = (0..count as u32)
        .map(|i| [i, round as u32].map(u32::to_be_bytes).concat())
        .map(|m| m.try_into().unwrap())
        .collect();
    let reports = messages.iter().map(|two| seal.report(two, &mut rng()).unwrap());
    (reports.collect(), messages.concat())
}

async fn post(world: &World, round: u64, reports: &[Vec<u8>]) {
    let url = at(world, 0, &format!("/epochs/{round}/reports"));
    let answer = world.http.post(url).body(reports.concat()).send().await.unwrap();
    assert_eq!(answer.status(), 202);
}

/// Sets the time to when a round is over.
fn close(world: &World, round: u64) {
    world.clock.set(START + 100 * (round + 1) + 10);
}

/// The status and the problem of a bulletin that is missing.
async fn missing(world: &World, hop: usize, round: u64) -> (u16, String) {
    let answer = world.get(&at(world, hop, &format!("/bulletins/{round}"))).await;
    let status = answer.status().as_u16();
    let problem: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    let name = problem["type"].as_str().unwrap().rsplit(':').next().unwrap();
    (status, name.to_owned())
}

async fn bulletin(world: &World, round: u64) -> Vec<u8> {
    let url = at(world, 2, &format!("/bulletins/{round}"));
    eventually(async || {
        let answer = world.get(&url).await;
        if answer.status() != 200 {
            return None;
        }
        assert_eq!(answer.headers()["content-type"], "application/octet-stream");
        let cache = &answer.headers()["cache-control"];
        assert_eq!(cache, "public, max-age=31536000, immutable");
        let length: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
        let bytes = answer.bytes().await.unwrap().to_vec();
        assert_eq!(bytes.len(), length);
        Some(bytes)
    })
    .await
}

async fn stage(world: &World, hop: usize, round: u64, stage: &str) {
    let url = at(world, hop, "/status");
    eventually(async || {
        let status = world.json(&url).await;
        let mut slots = status["slots"].as_array().unwrap().iter();
        slots.any(|slot| slot["first"] == round && slot["stage"] == stage).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_round_of_a_board_is_shown_to_everybody_and_signed_by_all() {
    let world = world().await;
    let id = world.boards[0].id();
    for round in 0..3 {
        let (sent, messages) = reports(&world, round, CROWD + 1).await;
        post(&world, round, &sent).await;
        // Three of them again: a replay is no second message.
        post(&world, round, &sent[..3]).await;
        assert_eq!(missing(&world, 2, round).await, (404, "not-yet".into()));
        close(&world, round);
        let bytes = bulletin(&world, round).await;
        let shown = Bulletin::decode(&bytes, &id, round, &parties(&world)).unwrap();
        assert_eq!(shown.bag(), &Bag::new(4, &messages).unwrap());
        assert_eq!(shown.notice().reports, CROWD as u64 + 1);
        assert_eq!(bulletin(&world, round).await, bytes, "it never changes");
    }
    assert_eq!(missing(&world, 2, 3).await, (404, "no-round".into()));
    assert_eq!(missing(&world, 0, 0).await, (404, "wrong-place".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_is_told_from_a_question_everywhere() {
    let world = world().await;
    let id = world.boards[0].id();
    let (sent, messages) = reports(&world, 0, CROWD).await;
    post(&world, 0, &sent).await;
    close(&world, 0);
    bulletin(&world, 0).await;

    let listed = world.json(&format!("{}/v1/collections", world.root(2))).await;
    let rows = listed["collections"].as_array().unwrap().iter();
    let kinds: BTreeMap<&str, &Value> = rows.map(|r| (r["kind"].as_str().unwrap(), r)).collect();
    assert_eq!(kinds["question"]["question"], "Is 1 < 2?");
    assert_eq!(kinds["question"]["title"], "Is 1 < 2?");
    assert_eq!(kinds["board"]["title"], "Keys of <you>");
    assert!(kinds["board"]["question"].is_null() && kinds["board"]["id"] == id.to_string());
    let file = world.get(&at(&world, 1, "")).await.text().await.unwrap();
    assert_eq!(Board::parse(&file).unwrap().id(), id);

    for (url, problem) in [
        (at(&world, 2, "/releases"), "is-board"),
        (at(&world, 2, "/releases.csv"), "is-board"),
        (world.at(2, "/bulletins/0"), "is-question"),
        (world.at(0, "/bulletins/0"), "is-question"),
    ] {
        let answer = world.get(&url).await;
        assert_eq!(answer.status(), 404, "{url}");
        let said: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        assert_eq!(said["type"], format!("urn:throng:problem:{problem}"), "{url}");
    }

    let page = async |hop: usize, path: &str| {
        world.get(&format!("{}{path}", world.root(hop))).await.text().await.unwrap()
    };
    let home = page(2, "/").await;
    for text in
        ["Boards", "Keys of &#60;you&#62;", "round 1, 3 in all", "published", "Is 1 &#60; 2?"]
    {
        assert!(home.contains(text), "{text}");
    }
    let digest = throng_wire::hex(&Bag::new(4, &messages).unwrap().digest());
    for path in ["", "/privacy"] {
        let shown = page(2, &format!("/collections/{id}{path}")).await;
        assert!(shown.contains(&digest) && shown.contains("Everybody sees all messages"), "{path}");
    }
    assert!(page(2, "/operations").await.contains("Keys of &#60;you&#62;"));
    assert!(page(0, "/").await.contains("Keys of &#60;you&#62;"));
    let ready = world.get(&format!("{}/readyz", world.root(2))).await;
    assert_eq!(ready.status(), 200);
    let line = format!("throng_slots{{collection=\"{id}\",stage=\"released\"}}");
    assert_eq!(world.metric(2, &line).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_below_the_crowd_is_gone_and_the_next_one_is_shown() {
    let world = world().await;
    let (few, _) = reports(&world, 0, CROWD - 1).await;
    post(&world, 0, &few).await;
    // Replays do not make a crowd.
    post(&world, 0, &few).await;
    close(&world, 0);
    eventually(async || (missing(&world, 2, 0).await == (410, "dropped".into())).then_some(()))
        .await;
    assert_eq!(missing(&world, 0, 0).await, (410, "dropped".into()));
    let told = world.get(&at(&world, 2, "/bulletins/0")).await.text().await.unwrap();
    assert!(
        told.contains("fewer reports") && told.contains("post again in a later round"),
        "{told}"
    );

    let (sent, messages) = reports(&world, 1, CROWD).await;
    post(&world, 1, &sent).await;
    close(&world, 1);
    let bytes = bulletin(&world, 1).await;
    let id = world.boards[0].id();
    let shown = Bulletin::decode(&bytes, &id, 1, &parties(&world)).unwrap();
    assert_eq!(shown.bag(), &Bag::new(4, &messages).unwrap());
    assert_eq!(missing(&world, 2, 0).await.0, 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulletin_waits_for_every_signature_through_restarts() {
    let mut world = world().await;
    let (sent, messages) = reports(&world, 0, CROWD).await;
    post(&world, 0, &sent).await;
    // The first mix hands over and goes before anything is published.
    world.stop(2).await;
    close(&world, 0);
    stage(&world, 0, 0, "delivered").await;
    world.stop(0).await;
    world.start(2).await;
    stage(&world, 2, 0, "released").await;
    assert_eq!(missing(&world, 2, 0).await, (404, "not-yet".into()));
    world.stop(2).await;
    world.start(2).await;
    assert_eq!(missing(&world, 2, 0).await, (404, "not-yet".into()));
    world.start(0).await;
    let bytes = bulletin(&world, 0).await;
    let id = world.boards[0].id();
    let shown = Bulletin::decode(&bytes, &id, 0, &parties(&world)).unwrap();
    assert_eq!(shown.bag(), &Bag::new(4, &messages).unwrap());

    // A mix that was stopped after it signed knows what it signed.
    world.stop(0).await;
    world.start(0).await;
    let notice = *shown.notice();
    let analyzer = &world.identities[2];
    let again = sign(&world, 0, &notice, analyzer).await;
    assert_eq!(again.status(), 200);
    assert_eq!(again.bytes().await.unwrap()[..], notice.cosign(&world.identities[0]));
    let alarms = "throng_alarms_total{kind=\"conflict\"}";
    assert_eq!(world.metric(0, alarms).await, 0);
    let other = Notice { digest: [9; 32], ..notice };
    assert_eq!(sign(&world, 0, &other, analyzer).await.status(), 409);
    assert_eq!(world.metric(0, alarms).await, 1);
    assert_eq!(sign(&world, 0, &notice, analyzer).await.status(), 200);
    // The analyzer starts with all of it, and asks no participant for a token.
    world.stop(2).await;
    let mut access = Access::default();
    access.add(Token::generate("a viewer", Reader::Viewer).unwrap().1).unwrap();
    let parts = Parts { access: Some(access), ..world.parts(2) };
    let server = Server::from_parts(parts, world.clock.clone()).unwrap();
    let listener = Listener::bind(world.addresses[2]).await.unwrap();
    world.parties[2] = Some(server.start_on(listener).unwrap());
    assert_eq!(bulletin(&world, 0).await, bytes);
    assert_eq!(world.get(&at(&world, 2, "/status")).await.status(), 401);
}

async fn sign(world: &World, hop: usize, notice: &Notice, by: &Identity) -> reqwest::Response {
    let body = [notice.encode(), notice.cosign(by).to_vec()].concat();
    let url = at(world, hop, &format!("/notices/{}", notice.round));
    world.http.put(url).body(body).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_notice_is_refused() {
    let world = world().await;
    let bag = Bag::new(4, &[1; 40]).unwrap();
    let notice = Notice::of(world.boards[0].id(), 0, 5, &bag);
    let analyzer = &world.identities[2];
    // Nothing left for any round.
    assert_eq!(sign(&world, 0, &notice, analyzer).await.status(), 400);
    assert_eq!(sign(&world, 0, &notice, &world.identities[0]).await.status(), 400);
    assert_eq!(sign(&world, 2, &notice, analyzer).await.status(), 404, "the analyzer");
    let whole = [notice.encode(), notice.cosign(analyzer).to_vec()].concat();
    for (what, url, body, status) in [
        ("nothing", at(&world, 0, "/notices/0"), Vec::new(), 400),
        ("half", at(&world, 0, "/notices/0"), whole[..100].to_vec(), 400),
        ("more", at(&world, 0, "/notices/0"), [&whole[..], b"x"].concat(), 413),
        ("another round", at(&world, 0, "/notices/1"), whole.clone(), 400),
        ("no round", at(&world, 0, "/notices/x"), whole.clone(), 404),
        ("a question", world.at(0, "/notices/0"), whole.clone(), 404),
    ] {
        let answer = world.http.put(url).body(body).send().await.unwrap();
        assert_eq!(answer.status(), status, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_reads_boards_among_its_collections() {
    let world = world().await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("a.toml"), world.boards[0].to_toml()).unwrap();
    world.identities[0].write(&path("mix.key")).unwrap();
    let file = "listen = \"127.0.0.1:0\"\nidentity = \"mix.key\"\ndata = \"data\"\n\
                collections = [\"a.toml\"]\n";
    std::fs::write(path("mix.toml"), file).unwrap();
    let open = |role| {
        let config = Config::read(role, &path("mix.toml")).unwrap();
        Server::open(&config, world.clock.clone())
    };
    let refused = open(Role::Analyzer).err().unwrap().to_string();
    assert!(refused.starts_with("collections: ") && refused.contains("analyzer"), "{refused}");
    let running = open(Role::Mix).unwrap().start().await.unwrap();
    let listed = world.json(&format!("http://{}/v1/collections", running.address())).await;
    assert_eq!(listed["collections"][0]["kind"], "board");
    running.stop().await;
    let bad = world.boards[0].to_toml().replace("crowd = 5", "crowd = 1");
    std::fs::write(path("a.toml"), bad).unwrap();
    let refused = open(Role::Mix).err().unwrap().to_string();
    assert!(refused.contains("a.toml") && refused.contains("board.crowd"), "{refused}");
}
