//! Clients that are slow, and those that want too much.

use crate::world::{World, limits};
use std::net::SocketAddr;
use std::time::Duration;
use throng_mix::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

#[tokio::test(flavor = "multi_thread")]
async fn who_drips_is_cut_off_while_others_are_served() {
    let world = World::new(Limits { patience: 1, ..limits() }).await;
    let report = world.reports(0, 1).await.remove(0);
    let head = format!(
        "POST /v1/collections/{}/epochs/0/reports HTTP/1.1\r\nhost: x\r\n\
         content-length: {}\r\n\r\n",
        world.id,
        report.len()
    );
    let long = format!("{}x: {}\r\n\r\n", head.trim_end_matches("\r\n"), "y".repeat(500));
    let batch = format!("PUT /v1/collections/{}/batches/2/0/0 HTTP/1.1\r\nhost: x\r\n", world.id);
    let batch = format!("{batch}content-length: 100000\r\n\r\n");
    let drips = [
        // Nothing at all, half a preface, headers, and the body of an upload.
        tokio::spawn(drip(world.addresses[0], String::new(), String::new())),
        tokio::spawn(drip(world.addresses[0], "PRI * HT".into(), String::new())),
        tokio::spawn(drip(world.addresses[0], "GET".into(), long[3..].into())),
        tokio::spawn(drip(world.addresses[0], head.clone(), "z".repeat(1_000))),
    ];
    // A batch may take its time, but each piece has to come soon.
    let stuck = tokio::spawn(drip(world.addresses[1], batch, String::new()));
    for _ in 0..20 {
        assert_eq!(world.post(0, report.clone()).await, 202);
        sleep(Duration::from_millis(20)).await;
    }
    for (which, drip) in drips.into_iter().enumerate() {
        let answer = drip.await.unwrap();
        assert!(!answer.contains(" 202 "), "{which}: {answer}");
        if which == 3 {
            assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        }
    }
    assert!(stuck.await.unwrap().starts_with("HTTP/1.1 408 "));
}

/// Says the first part, then the second one byte at a time, and returns what comes back until the
/// connection is closed.
async fn drip(to: SocketAddr, first: String, rest: String) -> String {
    let stream = TcpStream::connect(to).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let writer = tokio::spawn(async move {
        let _ = writing.write_all(first.as_bytes()).await;
        for byte in rest.bytes() {
            sleep(Duration::from_millis(50)).await;
            if writing.write_all(&[byte]).await.is_err() {
                return;
            }
        }
        sleep(Duration::from_mins(1)).await;
    });
    let mut answer = Vec::new();
    // A reset is an end too.
    let _ = timeout(Duration::from_secs(30), reading.read_to_end(&mut answer))
        .await
        .expect("the connection is still open");
    writer.abort();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_is_not_taken() {
    let world = World::new(limits()).await;
    let report = world.reports(0, 1).await.remove(0);
    let head = format!(
        "POST /v1/collections/{}/epochs/0/reports HTTP/1.1\r\nhost: x\r\n\
         content-length: {}\r\n\r\n",
        world.id,
        2 * report.len()
    );
    let mut stream = TcpStream::connect(world.addresses[0]).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&report).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains(" 202 "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_a_length_is_read_only_so_far() {
    let world = World::new(Limits { upload: 1_000, ..limits() }).await;
    let report = world.reports(0, 1).await.remove(0);
    let most = 1_000 / report.len();
    assert_eq!(world.post(0, report.repeat(most)).await, 202);
    assert_eq!(world.post(0, report.repeat(most + 1)).await, 413);
    let head = format!(
        "POST /v1/collections/{}/epochs/0/reports HTTP/1.1\r\nhost: x\r\n\
         transfer-encoding: chunked\r\n\r\n",
        world.id
    );
    let mut stream = TcpStream::connect(world.addresses[0]).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut chunk = format!("{:x}\r\n", report.len()).into_bytes();
    chunk.extend_from_slice(&report);
    chunk.extend_from_slice(b"\r\n");
    for _ in 0..most + 5 {
        // The server may have closed already.
        let _ = stream.write_all(&chunk).await;
    }
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_is_spoken_too() {
    let world = World::new(limits()).await;
    let mut stream = TcpStream::connect(world.addresses[0]).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "a SETTINGS frame");
    // One connection is no way to have more at once: few streams, short headers, small windows.
    let mut settings = vec![0; usize::from(u16::from_be_bytes([frame[1], frame[2]]))];
    stream.read_exact(&mut settings).await.unwrap();
    let value = |id: u8| {
        let found = settings.chunks(6).find(|setting| setting[1] == id);
        found.map(|setting| u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]))
    };
    assert_eq!((value(3), value(6)), (Some(64), Some(8 << 10)));
    assert!(value(4).is_none_or(|window| window < 1 << 16), "{settings:?}");
}
