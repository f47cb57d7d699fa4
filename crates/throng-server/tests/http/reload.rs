//! A configuration that changes while the parties run.

use crate::folder::Folder;
use crate::tls::pem;
use crate::world::{CROWD, START, World, eventually};
use reqwest::header::SET_COOKIE;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use throng_server::{AuditLog, Reader, Reloaded, Running, Token};
use throng_wire::CollectionId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Uploads go on over kept connections while every party is told of a second question.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_added_to_a_running_chain_and_no_connection_ends() {
    let mut folder = Folder::new().await;
    let mut parties = Vec::new();
    for hop in 0..3 {
        parties.push(folder.start(hop).await);
    }
    let first = folder.world(folder.question("a"));
    let path = format!("/v1/collections/{}/epochs/0/reports", first.id);
    let (sent, enough) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = TcpStream::connect(folder.addresses[0]).await.unwrap();
        let (own, path) = (first.reports(0, OWN).await, path.clone());
        let (sent, enough) = (Arc::clone(&sent), Arc::clone(&enough));
        clients.push(tokio::spawn(async move {
            let mut count = 0;
            // Whoever has sent all of its reports sends them again, which counts once.
            while !enough.load(Ordering::SeqCst) {
                assert_eq!(upload(&mut stream, &path, &own[count % OWN]).await, 202);
                sent.fetch_add(1, Ordering::SeqCst);
                count += 1;
            }
            count.min(OWN)
        }));
    }
    let more = async |count| {
        let until = sent.load(Ordering::SeqCst) + count;
        eventually(async || (sent.load(Ordering::SeqCst) >= until).then_some(())).await;
    };
    more(50).await;
    let second = folder.world(folder.question("b"));
    folder.write("b.toml", second.collection.to_toml());
    for (hop, party) in parties.iter_mut().enumerate() {
        folder.configure(hop, "[\"a.toml\", \"b.toml\"]", "");
        let reloaded = party.reload(&folder.config(hop)).await.unwrap();
        assert_eq!(reloaded, Reloaded { added: vec![second.id], ..Reloaded::default() });
        more(50).await;
    }
    let crowd = second.reports(0, CROWD as usize + 5).await;
    assert_eq!(second.post(0, crowd.concat()).await, 202);
    more(50).await;
    enough.store(true, Ordering::SeqCst);
    let mut distinct = 0;
    for client in clients {
        distinct += client.await.unwrap();
    }
    folder.clock.set(START + 110);
    assert_eq!(second.releases(1).await[0]["reports"], CROWD + 5);
    assert_eq!(first.releases(1).await[0]["reports"], distinct);
    for (hop, party) in parties.into_iter().enumerate() {
        assert_eq!(first.metric(hop, "throng_reloads_total{result=\"ok\"}").await, 1);
        party.stop().await;
        let acts = AuditLog::verify(&folder.data(hop)).unwrap();
        let added = format!(r#""act":"collection added","collection":"{}""#, second.id);
        assert!(acts.lines.iter().any(|line| line.contains(&added)), "{acts:?}");
    }
}

/// Sends a report over a connection that stays, and returns the status.
async fn upload(stream: &mut TcpStream, path: &str, report: &[u8]) -> u16 {
    let length = report.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: mix\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), report].concat()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    let text = String::from_utf8(answer).unwrap();
    assert!(text.contains("content-length: 0") && !text.contains("connection: close"), "{text}");
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Each of these files is wrong in one place, and right in others that would change something.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_fails_changes_nothing_and_says_why() {
    let mut folder = Folder::new().await;
    let (old, kept) = Token::generate("old", Reader::Operator).unwrap();
    let (new, other) = Token::generate("new", Reader::Operator).unwrap();
    folder.write_tokens(&[&kept]);
    let tokens = "[access]\ntokens = \"tokens.toml\"";
    folder.configure(2, "[\"a.toml\"]", tokens);
    let mut running = folder.start(2).await;
    let world = folder.world(folder.question("a"));
    folder.write("b.toml", folder.question("b").to_toml());
    let (one, another) = (pem(), pem());
    folder.write("cert.pem", &one.certificate);
    folder.write("other.key", &another.key);
    folder.write_tokens(&[&other]);
    let both = "[\"a.toml\", \"b.toml\"]";
    let cases = [
        ("[\"a.toml\", \"b.toml\", \"no.toml\"]", tokens, "no.toml"),
        ("[\"b.toml\", \"b.toml\"]", tokens, "collections: "),
        (both, "[access]\ntokens = \"a.toml\"", "a.toml: "),
        (both, "[acess]\ntokens = \"tokens.toml\"", "acess: not known here"),
        ("[\"a.toml\", \"foreign.toml\"]", tokens, "collections: "),
        (
            both,
            "[access]\ntokens = \"tokens.toml\"\n[tls]\ncertificate = \"cert.pem\"\n\
             key = \"other.key\"",
            "tls.key: ",
        ),
    ];
    // A question in which this party has no place.
    let mut foreign = folder.question("foreign");
    foreign.chain.analyzer.identity = throng_wire::Identity::from_seed(&[9; 32]).public();
    folder.write("foreign.toml", foreign.to_toml());
    let count = cases.len() as u64;
    for (collections, more, why) in cases {
        folder.configure(2, collections, more);
        let error = running.reload(&folder.config(2)).await.unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
        assert_eq!(listed(&world, 2).await, [world.id.to_string()]);
        assert_eq!(status(&world, "/metrics", &new).await, 401, "{why}");
        assert_eq!(status(&world, "/metrics", &old).await, 200, "{why}");
    }
    std::fs::remove_file(folder.config(2)).unwrap();
    assert!(running.reload(&folder.config(2)).await.is_err());
    let text = world.http.get(format!("{}/metrics", world.root(2))).bearer_auth(&*old);
    let text = text.send().await.unwrap().text().await.unwrap();
    assert!(text.contains(&format!("throng_reloads_total{{result=\"failed\"}} {}\n", count + 1)));
    assert!(text.contains("throng_reloads_total{result=\"ok\"} 0\n"), "{text}");
    // All of it right, all of it is done.
    folder.configure(2, both, tokens);
    running.reload(&folder.config(2)).await.unwrap();
    assert_eq!(listed(&world, 2).await.len(), 2);
    assert_eq!(status(&world, "/metrics", &new).await, 200);
    assert_eq!(status(&world, "/metrics", &old).await, 401);
    running.stop().await;
    let acts = AuditLog::verify(&folder.data(2)).unwrap();
    let failed = |line: &&String| line.contains(r#""act":"reload","result":"failed""#);
    assert_eq!(acts.lines.iter().filter(failed).count() as u64, count + 1);
    let all = acts.lines.concat();
    assert!(all.contains(r#""act":"token removed","name":"old","role":"operator""#), "{all}");
    assert!(all.contains(r#""act":"token added","name":"new","role":"operator""#), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_gone_takes_its_session_along() {
    let mut folder = Folder::new().await;
    let (first, one) = Token::generate("one", Reader::Operator).unwrap();
    let (second, two) = Token::generate("two", Reader::Viewer).unwrap();
    folder.write_tokens(&[&one, &two]);
    folder.configure(0, "[\"a.toml\"]", "[access]\ntokens = \"tokens.toml\"");
    let mut running = folder.start(0).await;
    let world = folder.world(folder.question("a"));
    let cookie = async |secret: &str| {
        let login = world.http.post(format!("{}/login", world.root(0)));
        let entered = login.body(format!("token={secret}")).send().await.unwrap();
        entered.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned()
    };
    let (first, second) = (cookie(&first).await, cookie(&second).await);
    let seen = async |cookie: &str| {
        let asked = world.http.get(world.root(0)).header("cookie", cookie).send().await;
        asked.unwrap().status().as_u16()
    };
    // A viewer may sign in at a mix, whose page is for operators.
    assert_eq!((seen(&first).await, seen(&second).await), (200, 403));
    folder.write_tokens(&[&two]);
    assert_eq!(seen(&first).await, 200, "a file that nobody was told of");
    running.reload(&folder.config(0)).await.unwrap();
    assert_eq!((seen(&first).await, seen(&second).await), (401, 403));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_connections_see_the_new_certificate_and_those_there_are_go_on() {
    let mut folder = Folder::new().await;
    let (before, after) = (pem(), pem());
    let tls = "[tls]\ncertificate = \"cert.pem\"\nkey = \"tls.key\"";
    folder.write("cert.pem", &before.certificate);
    folder.write("tls.key", &before.key);
    folder.configure(0, "[\"a.toml\"]", tls);
    let mut running = folder.start(0).await;
    let client = |authority: &[u8]| {
        let roots = [reqwest::Certificate::from_pem(authority).unwrap()];
        reqwest::Client::builder().no_proxy().tls_certs_only(roots).build().unwrap()
    };
    let url = format!("https://localhost:{}/metrics", folder.addresses[0].port());
    let well = async |client: &reqwest::Client| client.get(&url).send().await.is_ok();
    let old = client(&before.authority);
    let expires = async |client: &reqwest::Client| {
        let text = client.get(&url).send().await.unwrap().text().await.unwrap();
        let name = "throng_certificate_expires_seconds ";
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse::<u64>().unwrap()
    };
    // The end that rcgen gives a certificate unless it is told another: the year 4096.
    assert_eq!(expires(&old).await, 67_090_118_400);
    assert!(!well(&client(&after.authority)).await);

    folder.write("cert.pem", &after.certificate);
    folder.write("tls.key", &after.key);
    assert!(well(&client(&before.authority)).await, "nobody was told yet");
    running.reload(&folder.config(0)).await.unwrap();
    assert!(well(&client(&after.authority)).await);
    assert!(!well(&client(&before.authority)).await);
    assert!(well(&old).await, "the connection was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_named_no_more_stays_until_its_keys_are_destroyed() {
    let mut folder = Folder::new().await;
    let mut later = folder.question("later");
    later.schedule.start = START + 1_000_000;
    folder.write("b.toml", folder.question("b").to_toml());
    folder.write("later.toml", later.to_toml());
    folder.configure(0, "[\"a.toml\", \"b.toml\", \"later.toml\"]", "");
    let mut running = folder.start(0).await;
    let (a, b) = (folder.world(folder.question("a")), folder.world(folder.question("b")));
    let has_key = async |world: &World| world.get(&world.at(0, "/keys/0")).await.status() == 200;
    eventually(async || has_key(&a).await.then_some(())).await;
    eventually(async || has_key(&b).await.then_some(())).await;
    folder.configure(0, "[\"a.toml\"]", "");
    let reload = async |running: &mut Running| running.reload(&folder.config(0)).await.unwrap();
    let mut left = reload(&mut running).await.leaving;
    let mut expected = vec![b.id, later.id()];
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
    // No key of the later one was ever made, so that nothing is left to do.
    let gone = async |id: CollectionId| {
        eventually(async || (!listed(&a, 0).await.contains(&id.to_string())).then_some(())).await;
    };
    gone(later.id()).await;
    // It is served as before, for many times as long as its task takes to look.
    for _ in 0..60 {
        assert!(has_key(&b).await, "its keys are not destroyed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    // Named again, it stays.
    folder.configure(0, "[\"a.toml\", \"b.toml\"]", "");
    assert_eq!(reload(&mut running).await, Reloaded::default());
    folder.configure(0, "[\"a.toml\"]", "");
    assert_eq!(reload(&mut running).await.leaving, [b.id]);
    assert!(has_key(&b).await);
    folder.clock.set(START + 10 * 100 + 10 + 1_000);
    gone(b.id).await;
    assert_eq!(b.get(&b.at(0, "/keys/0")).await.status(), 404);
    assert_eq!(listed(&a, 0).await, [a.id.to_string()], "and the other one is still there");
    let secrets = std::fs::read_dir(folder.data(0).join("secrets")).unwrap();
    let mut names = secrets.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| name.starts_with(&b.id.to_string())));
    running.stop().await;
    let acts = AuditLog::verify(&folder.data(0)).unwrap().lines.concat();
    let removed = format!(r#""act":"collection removed","collection":"{}""#, b.id);
    assert!(acts.contains(&removed), "{acts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_wait_for_a_restart_are_told_and_the_rest_is_done() {
    let mut folder = Folder::new().await;
    let mut running = folder.start(1).await;
    let world = folder.world(folder.question("a"));
    folder.write("b.toml", folder.question("b").to_toml());
    folder.configure(1, "[\"a.toml\", \"b.toml\"]", "");
    let text = std::fs::read_to_string(folder.config(1)).unwrap();
    let port = folder.addresses[1].port().to_string();
    let text = text.replace(&port, "1").replace("data-1", "data-9").replace("threads = 1", "");
    folder.write("1.toml", text);
    let reloaded = running.reload(&folder.config(1)).await.unwrap();
    assert_eq!(reloaded.waiting, ["listen", "data", "limits"]);
    assert_eq!((reloaded.added.len(), listed(&world, 1).await.len()), (1, 2));
    assert!(!folder.path("data-9").exists());
}

/// A server that was made from parts has nothing to read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_file_does_not_reload() {
    let mut world = World::new(crate::world::limits()).await;
    let folder = Folder::new().await;
    let reloaded = world.parties[0].as_mut().unwrap().reload(&folder.config(0)).await;
    assert!(reloaded.unwrap_err().to_string().starts_with("reload: "));
}

/// The ids of the collections that a party serves.
async fn listed(world: &World, hop: usize) -> Vec<String> {
    let list = world.json(&format!("{}/v1/collections", world.root(hop))).await;
    let ids = list["collections"].as_array().unwrap().iter();
    ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

async fn status(world: &World, path: &str, token: &str) -> u16 {
    let request = world.http.get(format!("{}{path}", world.root(2))).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

/// The connections that stay, and the reports that are sent over each.
const CLIENTS: usize = 8;
const OWN: usize = 100;
