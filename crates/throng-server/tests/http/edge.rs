//! One source that wants everything, while others want a little.
//!
//! Every address of 127.0.0.0/8 is this machine's. The attacker is at 127.0.1.1, everybody else at
//! 127.0.2.1 or 127.0.0.1, which are other networks.

use crate::world::{CROWD, START, World, eventually, limits};
use axum::body::Bytes;
use axum::http::Request;
use h2::RecvStream;
use h2::client::SendRequest;
use reqwest::Client;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use throng_mix::simulated::{Fault, Faults, MemoryStore};
use throng_mix::{Limits, Network};
use throng_server::{Clock, Listener, Parts, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
const HONEST: Ipv4Addr = Ipv4Addr::new(127, 0, 2, 1);

/// A connection from one of our addresses.
async fn connect(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// A client at one of our addresses, which makes a connection for every request.
fn client(from: Ipv4Addr) -> Client {
    let client = Client::builder().no_proxy().pool_max_idle_per_host(0);
    client.local_address(IpAddr::V4(from)).timeout(Duration::from_secs(30)).build().unwrap()
}

/// The head of an upload with a body of this length.
fn head(world: &World, length: usize) -> String {
    format!(
        "POST /v1/collections/{}/epochs/0/reports HTTP/1.1\r\nhost: x\r\n\
         content-length: {length}\r\n\r\n",
        world.id
    )
}

/// Connections that begin an upload of as many reports as are taken at once, and do not end it.
async fn unfinished(world: &World, from: Ipv4Addr, count: usize, body: &[u8]) -> Vec<TcpStream> {
    let each = world.collection.shape().report_bytes();
    let head = head(world, (1 << 20) / each * each);
    let mut streams = Vec::new();
    for _ in 0..count {
        let mut stream = connect(from, world.addresses[0]).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        // The server may have cut it off already.
        let _ = stream.write_all(body).await;
        streams.push(stream);
    }
    streams
}

async fn post(world: &World, client: &Client, body: Vec<u8>) -> u16 {
    let url = world.at(0, "/epochs/0/reports");
    client.post(url).body(body).send().await.unwrap().status().as_u16()
}

/// True if the server closes a connection, after an answer or without one.
async fn closed(mut stream: TcpStream) -> bool {
    let mut answer = Vec::new();
    timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_byte_uploads_from_one_source_does_not_starve_another() {
    // Requests of all: one source has at most six of eight.
    let world = World::new(Limits { requests: 8, patience: 30, ..limits() }).await;
    let report = world.reports(0, 1).await.remove(0);
    let flood = unfinished(&world, HOSTILE, 40, b"x").await;
    let busy = "throng_uploads_refused_total{reason=\"busy\"}";
    eventually(async || (world.metric_or_zero(0, busy).await > 0).then_some(())).await;
    for _ in 0..20 {
        assert_eq!(post(&world, &client(HONEST), report.clone()).await, 202);
    }
    drop(flood);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_of_one_source_make_way_for_others() {
    // With one request at a time there is room for 42 connections, and for 24 in the reserve.
    let world = World::new(Limits { requests: 1, patience: 30, ..limits() }).await;
    let report = world.reports(0, 1).await.remove(0);
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(connect(HOSTILE, world.addresses[0]).await);
    }
    let full = "throng_connections_refused_total{reason=\"full\"}";
    eventually(async || (world.metric_or_zero(0, full).await > 50).then_some(())).await;
    // The analyzer asks for the status now and then, which takes the one place there is.
    let client = client(HONEST);
    for _ in 0..20 {
        let taken = async || post(&world, &client, report.clone()).await == 202;
        eventually(async || taken().await.then_some(())).await;
    }
    assert!(world.metric(0, "throng_connections_refused_total{reason=\"share\"}").await > 0);
    drop(idle);
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_are_bounded() {
    let limits = Limits { bodies: 8 << 20, patience: 30, ..limits() };
    let world = World::new(limits).await;
    let report = world.reports(0, 1).await.remove(0);
    let each = vec![0; (1 << 20) - 1_000];
    let flood = unfinished(&world, HOSTILE, 20, &each).await;
    // It is looked at once a minute.
    let mut minutes = (1..).map(|minute| START + 60 * minute);
    let mut held = async || {
        world.clock.set(minutes.next().unwrap());
        world.metric(0, "throng_bodies_bytes").await
    };
    let busy = "throng_uploads_refused_total{reason=\"busy\"}";
    eventually(async || (world.metric_or_zero(0, busy).await >= 10).then_some(())).await;
    // It is rounded to a mebibyte: three quarters of the room are one source's at most.
    let told = held().await;
    assert!((5 << 20..=6 << 20).contains(&told), "{told}");
    assert_eq!(post(&world, &client(HONEST), report.repeat(1_000)).await, 202);
    drop(flood);
    eventually(async || (held().await == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drip_is_cut_off_long_before_its_end() {
    let world = World::new(Limits { patience: 9, ..limits() }).await;
    world.seal(0).await;
    // It would be done within the patience. It has a third of that for the first bytes; a thousand a
    // second are asked of it then.
    let mut stream = connect(HOSTILE, world.addresses[0]).await;
    stream.write_all(head(&world, 1_000).as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let drip = tokio::spawn(async move {
        let mut sent = 0;
        while sent < 1_000 && writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(4)).await;
            sent += 1;
        }
        sent
    });
    let mut answer = Vec::new();
    let read = timeout(Duration::from_mins(1), reading.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "it is still open");
    assert!(answer.starts_with(b"HTTP/1.1 408 "), "{}", String::from_utf8_lossy(&answer));
    assert!(drip.await.unwrap() < 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_network_sends_so_many_reports_for_an_epoch_and_no_more() {
    let world = World::new(Limits { source: Some(5), ..limits() }).await;
    let report = world.reports(0, 1).await.remove(0);
    let (hostile, honest) = (client(HOSTILE), client(HONEST));
    assert_eq!(post(&world, &hostile, report.repeat(4)).await, 202);
    // What is refused for another reason does not count.
    assert_eq!(post(&world, &hostile, vec![0; report.len() + 1]).await, 400);
    assert_eq!(post(&world, &hostile, report.repeat(2)).await, 429);
    assert_eq!(post(&world, &hostile, report.clone()).await, 202);
    let url = world.at(0, "/epochs/0/reports");
    let refused = hostile.post(&url).body(report.clone()).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "60");
    assert!(refused.text().await.unwrap().contains("urn:throng:problem:source"));
    assert_eq!(world.metric(0, "throng_uploads_refused_total{reason=\"source\"}").await, 2);
    assert_eq!(post(&world, &honest, report.repeat(5)).await, 202);
    // Another epoch is another count.
    world.clock.set(START + 100);
    let later = world.reports(1, 1).await.remove(0);
    let url = world.at(0, "/epochs/1/reports");
    assert_eq!(hostile.post(url).body(later.repeat(5)).send().await.unwrap().status(), 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_address_is_believed_only_from_a_proxy() {
    let proxies = vec![Network::parse("127.0.2.1").unwrap()];
    let world = World::new(Limits { source: Some(1), proxies, ..limits() }).await;
    let reports = world.reports(0, 6).await;
    let url = world.at(0, "/epochs/0/reports");
    let mut sent = reports.into_iter();
    let mut send = async |from: Ipv4Addr, forwarded: &str| {
        let request = client(from).post(&url).header("x-forwarded-for", forwarded);
        request.body(sent.next().unwrap()).send().await.unwrap().status().as_u16()
    };
    // Each client of a proxy has its own count, whatever it says itself.
    assert_eq!(send(HONEST, "203.0.113.1").await, 202);
    assert_eq!(send(HONEST, "198.51.100.1").await, 202);
    assert_eq!(send(HONEST, "192.0.2.1, 203.0.113.9").await, 429);
    // Nobody else speaks for others.
    assert_eq!(send(HOSTILE, "192.0.2.1").await, 202);
    assert_eq!(send(HOSTILE, "192.0.2.2").await, 429);
    assert_eq!(send(HONEST, "192.0.2.1").await, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn parties_and_operators_get_through_when_there_is_no_room_for_others() {
    let world = World::new(Limits { requests: 1, patience: 30, ..limits() }).await;
    let reports = world.reports(0, CROWD as usize + 5).await;
    eventually(async || (world.post(0, reports.concat()).await == 202).then_some(())).await;
    // Both later parties are held up by uploads that do not end; those are read before they are
    // refused.
    let head = head(&world, 100);
    let mut flood = Vec::new();
    for hop in [1, 2] {
        let directory = world.at(hop, "/directories/0");
        eventually(async || (world.get(&directory).await.status() == 200).then_some(())).await;
        for _ in 0..100 {
            let mut stream = connect(HOSTILE, world.addresses[hop]).await;
            let _ = stream.write_all(head.as_bytes()).await;
            flood.push(stream);
        }
        let url = world.at(hop, "/status");
        eventually(async || (world.get(&url).await.status() == 429).then_some(())).await;
        for path in ["/healthz", "/readyz", "/metrics"] {
            let url = format!("{}{path}", world.root(hop));
            assert_eq!(client(HONEST).get(url).send().await.unwrap().status(), 200, "{path}");
        }
        for path in ["/keys/0", "/cosignatures/0"] {
            let url = world.at(hop, path);
            assert_eq!(client(HONEST).get(url).send().await.unwrap().status(), 200, "{path}");
        }
    }
    // The batch goes through both of them, to the release. Whoever looks may have to come back.
    world.clock.set(START + 110);
    let told = async |url: &str, what: &str| {
        let answer = world.get(url).await;
        let there = answer.status() == 200 && answer.text().await.unwrap().contains(what);
        there.then_some(())
    };
    let status = world.at(0, "/status");
    eventually(async || told(&status, "\"stage\":\"delivered\"").await).await;
    let metrics = format!("{}/metrics", world.root(2));
    eventually(async || told(&metrics, "stage=\"released\"} 1").await).await;
    drop(flood);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reserve_is_for_parties_and_operators_alone() {
    let world = World::new(Limits { requests: 1, patience: 30, ..limits() }).await;
    world.seal(0).await;
    // One source has every seat; what it opens further is in the reserve.
    let mut idle = Vec::new();
    for _ in 0..60 {
        idle.push(connect(HOSTILE, world.addresses[0]).await);
    }
    let ask = async |path: &str| {
        let mut stream = connect(HOSTILE, world.addresses[0]).await;
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
    };
    let keys = format!("/v1/collections/{}/keys/0", world.id);
    let directory = format!("/v1/collections/{}/directories/0", world.id);
    assert_eq!(ask("/healthz").await, "HTTP/1.1 200 OK");
    assert_eq!(ask(&keys).await, "HTTP/1.1 200 OK");
    assert_eq!(ask(&directory).await, "HTTP/1.1 429 Too Many Requests");
    // There, silence is over soon, long before the patience of the server.
    let last = idle.pop().unwrap();
    assert!(timeout(Duration::from_secs(20), closed(last)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_the_answer_is_cut_off() {
    let world = World::new(Limits { patience: 1, ..limits() }).await;
    let mut stream = connect(HOSTILE, world.addresses[0]).await;
    let ask = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
    // Questions without end, of whose answers not a byte is read.
    let asking = async { while stream.write_all(ask).await.is_ok() {} };
    assert!(timeout(Duration::from_mins(1), asking).await.is_ok(), "it is still open");
    assert_eq!(world.get(&format!("{}/healthz", world.root(0))).await.status(), 200);
}

/// Somebody who speaks HTTP/2, and gives no answer any room.
async fn without_windows(to: SocketAddr) -> (SendRequest<Bytes>, JoinHandle<()>) {
    let stream = connect(HOSTILE, to).await;
    let speaking = h2::client::Builder::new().initial_window_size(0).handshake(stream);
    let (asking, connection) = speaking.await.unwrap();
    // However it ends.
    (asking, tokio::spawn(async { drop(connection.await) }))
}

/// Asks for something that is not there, and returns the answer without its words.
async fn ask(asking: SendRequest<Bytes>, path: &str) -> axum::http::Response<RecvStream> {
    let request = Request::get(format!("http://x{path}")).body(()).unwrap();
    let mut asking = asking.ready().await.unwrap();
    asking.send_request(request, true).unwrap().0.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_answers_no_room_is_cut_off() {
    let world = World::new(Limits { patience: 3, ..limits() }).await;
    let (asking, connection) = without_windows(world.addresses[0]).await;
    // Answers with words keep it open, those without do not matter.
    let answer = ask(asking.clone(), "/nowhere").await;
    assert_eq!(answer.status(), 404);
    assert!(timeout(Duration::from_mins(1), connection).await.is_ok(), "it is still open");
    drop(answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_given_no_room_are_bounded() {
    // A mebibyte for answers.
    let limits = Limits { upload: 1 << 20, bodies: 2 << 20, patience: 60, ..limits() };
    let world = World::new(limits).await;
    let (mut given, mut refused, mut open) = (Vec::new(), 0, Vec::new());
    for _ in 0..20 {
        let (asking, connection) = without_windows(world.addresses[0]).await;
        for _ in 0..64 {
            let answer = ask(asking.clone(), "/nowhere").await;
            match answer.status().as_u16() {
                404 => given.push(answer),
                429 => {
                    // It is over with its head, and frees its stream.
                    assert!(answer.body().is_end_stream());
                    assert_eq!(answer.headers()["retry-after"], "1");
                    refused += 1;
                }
                other => panic!("{other}"),
            }
        }
        open.push((asking, connection));
    }
    // Each takes two kibibytes and its words, and one source has three quarters of them.
    assert!((100..=384).contains(&given.len()), "{} were given", given.len());
    assert_eq!(given.len() + refused, 20 * 64);
    world.clock.set(START + 60);
    let held = world.metric(0, "throng_bodies_bytes").await;
    assert!(held <= 1 << 20, "{held}");
    // Others are answered, and whoever asks what operators ask, here too.
    let url = format!("{}/nowhere", world.root(0));
    assert_eq!(client(HONEST).get(url).send().await.unwrap().status(), 404);
    let (asking, _connection) = without_windows(world.addresses[0]).await;
    assert_eq!(ask(asking, "/healthz").await.status(), 200);
    drop(open);
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_ends_when_reports_are_refused_by_the_disk() {
    let mut world = World::new(limits()).await;
    let report = world.reports(0, 1).await.remove(0);
    world.stop(0).await;
    let disk = MemoryStore::new();
    let parts = Parts { store: disk.store(), ..world.parts(0) };
    let clock = Clock::manual(START);
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = listener.address().unwrap();
    let id = parts.collections[0].id();
    let running = Server::from_parts(parts, clock.clone()).unwrap().start_on(listener).unwrap();
    let http = client(HONEST);
    let store = async || {
        let answer = http.get(format!("http://{address}/readyz")).send().await.unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        // Without the others there are no keys, so that it is never quite ready.
        assert_eq!(status, 503);
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["store"].clone()
    };
    let url = format!("http://{address}/v1/collections/{id}/epochs/0/reports");
    let upload = async || http.post(&url).body(report.clone()).send().await.unwrap().status();
    eventually(async || (upload().await == 202).then_some(())).await;
    assert_eq!(store().await, "writable");
    disk.set_faults(Faults::by(|_| Fault::FailBefore));
    assert_eq!(upload().await, 503);
    // The disk is well again at once, but was not a moment ago.
    disk.set_faults(Faults::none());
    assert_eq!(store().await, "not writable");
    clock.set(START + 29);
    assert_eq!(store().await, "not writable");
    clock.set(START + 30);
    assert_eq!(store().await, "writable");
    running.stop().await;
}
