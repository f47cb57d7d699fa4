//! Every status, as a problem document.

use crate::world::{START, World, limits};
use reqwest::Method;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use throng_collection::Collection;
use throng_mix::Limits;

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_answered_by_address_and_length_alone() {
    let world = World::new(limits()).await;
    let report = world.reports(0, 1).await.remove(0);
    let each = report.len();
    for (epoch, body, status) in [
        (0, report.clone(), 202),
        (0, vec![0; each], 202),
        (0, vec![0xff; 3 * each], 202),
        (0, Vec::new(), 400),
        (0, vec![0; each - 1], 400),
        (0, vec![0; each + 1], 400),
        (1, report.clone(), 409),
        (99, report.clone(), 409),
        (0, vec![0; (1 << 20) + each], 413),
    ] {
        let length = body.len();
        assert_eq!(world.post(epoch, body).await, status, "epoch {epoch}, {length} bytes");
    }
    let stranger =
        world.at(0, "/epochs/0/reports").replace(&world.id.to_string(), &"ab".repeat(32));
    for url in [stranger, world.at(1, "/epochs/0/reports"), world.at(0, "/epochs/x/reports")] {
        let answer = world.http.post(&url).body(report.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{url}");
    }
    world.clock.set(START + 110);
    assert_eq!(world.post(0, report).await, 409);
    let refused = "throng_uploads_refused_total{reason=\"epoch-closed\"}";
    assert_eq!(world.metric(0, refused).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_are_documents_that_repeat_nothing() {
    let world = World::new(limits()).await;
    let root = world.root(0);
    for (method, url, status) in [
        (Method::GET, format!("{root}/canary"), 404),
        (Method::DELETE, format!("{root}/healthz"), 405),
        (Method::GET, world.at(0, "/canary"), 404),
        (Method::GET, world.at(0, "/keys/canary"), 404),
        (Method::GET, world.at(0, "/keys/9"), 404),
        (Method::GET, world.at(0, "/cosignatures/9"), 404),
        (Method::GET, world.at(0, "/directories/9"), 404),
        (Method::GET, world.at(0, "/releases"), 404),
        (Method::GET, format!("{root}/planner"), 404),
        (Method::GET, format!("{root}/operations"), 404),
        (Method::GET, format!("{root}/assets/canary"), 404),
        (Method::GET, format!("{root}/docs/canary"), 404),
        (Method::GET, format!("{root}/docs/%ff"), 404),
        (Method::GET, format!("{root}/assets/%ff"), 404),
        (Method::GET, world.at(0, "/keys/%ff"), 404),
        (Method::PUT, world.at(1, "/batches/2/0/0"), 400),
        (Method::POST, world.at(0, "/epochs/0/reports"), 400),
    ] {
        let answer = world.http.request(method, &url).body("canary").send().await.unwrap();
        assert_eq!(answer.status(), status, "{url}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers()["referrer-policy"], "no-referrer");
        assert!(answer.headers().contains_key("content-security-policy"));
        let text = answer.text().await.unwrap();
        assert!(!text.contains("canary"));
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(problem["status"], status);
        assert!(problem["type"].as_str().unwrap().starts_with("urn:throng:problem:"));
        assert!(!problem["title"].as_str().unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_window_that_is_over_are_gone() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    world.clock.set(START + 10 * 100 + 10 + 1_000);
    for hop in 0..3 {
        crate::world::eventually(async || {
            let status = world.get(&world.at(hop, "/keys/0")).await.status();
            (status == 410).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_documented_is_there() {
    // Nobody posted anything on the board while it was open, so that the first mix dropped its
    // rounds.
    let over = |collection: &Collection| {
        let mut board = crate::boards::board(collection);
        board.schedule.start = START - 1_000;
        vec![board]
    };
    let world = World::made(limits(), None, over).await;
    let board = world.boards[0].id().to_string();
    world.seal(0).await;
    crate::world::eventually(async || {
        let url = format!("{}/v1/collections/{board}/bulletins/0", world.root(0));
        (world.get(&url).await.status() == 410).then_some(())
    })
    .await;
    let document = world.json(&format!("{}/openapi.json", world.root(0))).await;
    assert_eq!(document["openapi"], "3.1.0");
    for (path, operations) in document["paths"].as_object().unwrap() {
        let id = if path.contains("{round}") { board.clone() } else { world.id.to_string() };
        let hop = if path.contains("batches") { "3" } else { "" };
        let filled = path.replace("{id}", &id).replace("{hop}", hop);
        let filled = filled.replace("{name}", "dashboard.css").replace("{path}", "README.md");
        let filled = ["{window}", "{epoch}", "{round}", "{first}", "{last}"]
            .iter()
            .fold(filled, |path, name| path.replace(name, "0"));
        for method in ["get", "post", "put", "delete", "patch"] {
            let mut statuses = Vec::new();
            for hop in 0..3 {
                let url = format!("{}{filled}", world.root(hop));
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let answer = world.http.request(method, url).send().await.unwrap();
                statuses.push(answer.status().as_u16());
            }
            let documented = operations.get(method).is_some();
            // Not every party does everything, but one does.
            let there = statuses.iter().any(|status| ![404, 405].contains(status));
            assert_eq!(documented, there, "{method} {path}: {statuses:?}");
            assert_eq!(documented, !statuses.contains(&405), "{method} {path}: {statuses:?}");
            for status in statuses {
                let status = status.to_string();
                let said = &operations[method]["responses"];
                assert!(!documented || said.get(&status).is_some(), "{method} {path}: {status}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_room_one_is_asked_to_come_back() {
    let world = World::new(Limits { requests: 1, ..limits() }).await;
    let report = world.reports(0, 1).await.remove(0);
    let mut slow = TcpStream::connect(world.addresses[0]).unwrap();
    let head = format!(
        "POST /v1/collections/{}/epochs/0/reports HTTP/1.1\r\nhost: x\r\n\
         content-length: {}\r\n\r\n",
        world.id,
        report.len()
    );
    slow.write_all(head.as_bytes()).unwrap();
    let url = world.at(0, "/status");
    let busy = crate::world::eventually(async || {
        let answer = world.get(&url).await;
        (answer.status() == 429).then_some(answer)
    });
    let busy = busy.await;
    assert_eq!(busy.headers()["retry-after"], "1");
    assert_eq!(busy.headers()["content-type"], "application/problem+json");
    // What watches a server is served all the same.
    assert_eq!(world.get(&format!("{}/healthz", world.root(0))).await.status(), 200);
    slow.write_all(&report).unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 202");
    crate::world::eventually(async || (world.get(&url).await.status() == 200).then_some(())).await;
}
