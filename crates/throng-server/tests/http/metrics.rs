//! The metrics, and what is written of them.

use crate::folder::Folder;
use std::collections::BTreeSet;

/// The page of operations has a table with a row for each metric, or for a few alike.
#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_documented_and_no_other() {
    let mut folder = Folder::new().await;
    let _running = folder.start(0).await;
    let world = folder.world(folder.question("a"));
    let url = format!("{}/metrics", world.root(0));
    let text = world.get(&url).await.text().await.unwrap();
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let told: BTreeSet<&str> = kinds.filter_map(|kind| kind.split(' ').next()).collect();

    let page = include_str!("../../../../docs/operations.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let first = rows.filter_map(|row| row.split('|').nth(1));
    let names = first.flat_map(|cell| cell.split('`')).map(|name| name.split('{').next().unwrap());
    let ours = |name: &&str| name.starts_with("throng_") || name.starts_with("process_");
    let documented: BTreeSet<&str> = names.filter(ours).collect();
    assert_eq!(told, documented);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_and_the_process_are_told() {
    let mut folder = Folder::new().await;
    let _running = folder.start(0).await;
    let world = folder.world(folder.question("a"));
    let told = async |name: &str| world.metric(0, &format!("{name} ")).await;
    let (free, size) = (told("throng_disk_free_bytes").await, told("throng_disk_size_bytes").await);
    // It is rounded, and may come out as a step too much.
    assert!(0 < size && free < size + (256 << 20), "{free} of {size}");
    assert_eq!(told("throng_audit_intact").await, 1);
    assert_eq!(told("throng_queue_bytes").await, 0);
    assert_eq!(told("throng_upload_seconds_count").await, 0);
    let version = format!("throng_build_info{{version=\"{}\"}} ", env!("CARGO_PKG_VERSION"));
    assert_eq!(world.metric(0, &version).await, 1);
    if cfg!(target_os = "linux") {
        assert_eq!(told("process_open_fds").await % 64, 0);
        assert!(told("process_resident_memory_bytes").await > 0);
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert!(told("process_start_time_seconds").await.abs_diff(now) < 86_400);
    }
}

/// The first report of an epoch makes a file of a mebibyte, which showed to everybody who looked at
/// the free disk before and after it.
#[tokio::test(flavor = "multi_thread")]
async fn free_disk_is_told_in_steps_and_not_looked_at_again_within_the_minute() {
    let mut folder = Folder::new().await;
    let _running = folder.start(0).await;
    let world = folder.world(folder.question("a"));
    let told = async || world.metric(0, "throng_disk_free_bytes ").await;
    let first = told().await;
    assert_eq!(first % (256 << 20), 0);
    // Rounded anew each time, it would be another step now and then.
    for _ in 0..50 {
        assert_eq!(told().await, first);
    }
}
