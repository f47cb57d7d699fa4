//! The words of parties on the running epoch and on each other, and the pages made of them.

use crate::world::{CROWD, START, World, eventually, limits};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_is_told_of_once_it_is_one_and_at_the_next_look() {
    let world = World::new(limits()).await;
    let open = async |hop| world.json(&world.at(hop, "/status")).await["open"].clone();
    let told = |reached: bool, at_least: Value| -> Value {
        json!({ "epoch": 0, "crowd": CROWD, "reached": reached, "at_least": at_least })
    };
    let page = async || world.get(world.root(0)).await.text().await.unwrap();
    let reports = world.reports(0, CROWD as usize).await;
    assert_eq!(world.post(0, reports[1..].concat()).await, 202);
    assert_eq!(open(0).await, told(false, Value::Null));
    assert!(page().await.contains("not yet a crowd"));

    assert_eq!(world.post(0, reports[0].clone()).await, 202);
    assert_eq!(open(0).await, told(false, Value::Null), "not before the next look");
    world.clock.set(START + 5);
    assert_eq!(open(0).await, told(true, CROWD.into()));
    assert!(page().await.contains("at least 20"));
    // What is refused does not count, and what comes twice does.
    assert_eq!(world.post(0, vec![0; 3]).await, 400);
    assert_eq!(world.post(0, reports[..3].concat()).await, 202);
    world.clock.set(START + 10);
    assert_eq!(open(0).await, told(true, (CROWD + 2).into()));
    assert_eq!((open(1).await, open(2).await), (Value::Null, Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_see_who_answers_and_what_became_of_batches() {
    let mut world = World::new(limits()).await;
    // The analyzer heard that the first mix is there.
    let operations = format!("{}/operations", world.root(2));
    let page = async |url: &str| world.get(url).await.text().await.unwrap();
    eventually(async || page(&operations).await.contains(">answers<").then_some(())).await;

    let few = world.reports(0, 3).await;
    assert_eq!(world.post(0, few.concat()).await, 202);
    world.clock.set(START + 110);
    world.slot(0, 0, "short").await;
    world.slot(2, 0, "short").await;
    let crowd = world.reports(1, 25).await;
    assert_eq!(world.post(1, crowd.concat()).await, 202);
    world.clock.set(START + 210);
    world.releases(1).await;
    world.slot(0, 1, "delivered").await;

    let text = page(&operations).await;
    assert!(text.contains("Is 1 &#60; 2?") && !text.contains("Is 1 < 2?"));
    assert!(text.contains("1 released, 1 dropped, 1 takes reports"), "{text}");
    assert!(text.contains("1: too few reports") && !text.contains("not decided"), "{text}");
    assert!(text.contains("epoch 1, closed 0 seconds ago"));
    let text = page(world.root(0)).await;
    assert!(text.contains("1 handed over, 0 of them merged; 0 on the way; 1 dropped"), "{text}");
    assert!(text.contains("1: too few reports") && text.contains("epoch 1, 25 reports"));
    for text in [text, page(world.root(1)).await] {
        assert!(!text.contains("3 reports") && !text.contains("style="));
    }
    world.stop(2).await;
}
