//! Stopping in the middle of everything.

use crate::world::{START, World, limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use throng_server::{Listener, Server};

#[tokio::test(flavor = "multi_thread")]
async fn no_upload_that_was_acknowledged_is_lost() {
    let mut world = World::new(limits()).await;
    // Nobody takes the batch, so that the first mix still has it at the end.
    world.seal(0).await;
    world.stop(1).await;
    let reports = Arc::new(world.reports(0, 3_000).await);
    let acknowledged = Arc::new(AtomicU64::new(0));
    let url = world.at(0, "/epochs/0/reports");
    let mut clients = Vec::new();
    for client in 0..16 {
        let (reports, acknowledged) = (Arc::clone(&reports), Arc::clone(&acknowledged));
        let (http, url) = (world.http.clone(), url.clone());
        clients.push(tokio::spawn(async move {
            for report in reports.iter().skip(client).step_by(16) {
                match http.post(&url).body(report.clone()).send().await {
                    Ok(answer) if answer.status() == 202 => {
                        acknowledged.fetch_add(1, Ordering::SeqCst);
                    }
                    _ => return,
                }
            }
        }));
    }
    while acknowledged.load(Ordering::SeqCst) < 300 {
        tokio::task::yield_now().await;
    }
    world.stop(0).await;
    for client in clients {
        client.await.unwrap();
    }
    let acknowledged = acknowledged.load(Ordering::SeqCst);
    let server = Server::from_parts(world.parts(0), world.clock.clone()).unwrap();
    let listener = Listener::bind(world.addresses[0]).await.unwrap();
    world.parties[0] = Some(server.start_on(listener).unwrap());
    world.clock.set(START + 110);
    let kept = world.slot(0, 0, "sealed").await["reports"].as_u64().unwrap();
    // One per client may have been on disk when its answer was cut off.
    assert!((acknowledged..=acknowledged + 16).contains(&kept), "{kept} of {acknowledged}");
}
