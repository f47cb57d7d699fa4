//! The names under which a server without tokens shows what is for operators.

use crate::world::{World, eventually, limits};

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_a_mix_shows_its_state_to_this_machine_only() {
    let world = World::new(limits()).await;
    world.seal(0).await;
    let status = |path: &str| format!("/v1/collections/{}{path}", world.id);
    let shown = ["/".to_owned(), "/metrics".to_owned(), status("/status")];
    let open = [
        "/healthz".to_owned(),
        "/v1/collections".to_owned(),
        "/docs/README.md".to_owned(),
        status(""),
        status("/keys/0"),
        status("/directories/0"),
    ];
    for hop in 0..2 {
        // Every party has the directory a moment later than the first.
        let directory = world.at(hop, "/directories/0");
        eventually(async || (world.get(&directory).await.status() == 200).then_some(())).await;
        let ask = async |path: &str, header: &str, value: &str| {
            let request = world.http.get(format!("{}{path}", world.root(hop)));
            request.header(header, value).send().await.unwrap().status().as_u16()
        };
        for path in &shown {
            for (header, value, expected) in [
                ("host", "localhost:8001", 200),
                ("host", "mix.example", 421),
                ("x-forwarded-for", "192.0.2.1", 421),
                ("forwarded", "for=192.0.2.1", 421),
            ] {
                assert_eq!(ask(path, header, value).await, expected, "{path}, {value}");
            }
        }
        // What clients and the other parties need is for everybody, under any name.
        for path in &open {
            assert_eq!(ask(path, "host", "mix.example").await, 200, "{path}");
        }
        assert_ne!(ask("/readyz", "host", "mix.example").await, 421);
    }
    let reports = world.reports(0, 1).await;
    let request = world.http.post(world.at(0, "/epochs/0/reports")).header("host", "mix.example");
    assert_eq!(request.body(reports[0].clone()).send().await.unwrap().status(), 202);
}
