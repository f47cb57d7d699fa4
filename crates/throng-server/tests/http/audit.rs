//! What operators did, as the server wrote it down.

use crate::folder::Folder;
use throng_server::{AuditLog, Reader, Token};

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_acts_are_written_down_without_secrets_or_addresses() {
    let mut folder = Folder::new().await;
    let (operator, night) = Token::generate("night shift", Reader::Operator).unwrap();
    let (viewer, grafana) = Token::generate("grafana", Reader::Viewer).unwrap();
    folder.write_tokens(&[&night, &grafana]);
    folder.configure(0, "[\"a.toml\"]", "[access]\ntokens = \"tokens.toml\"");
    let running = folder.start(0).await;
    let world = folder.world(folder.question("a"));
    let login = async |token: &str| {
        let request = world.http.post(format!("{}/login", world.root(0)));
        request.body(format!("token={token}")).send().await.unwrap().status().as_u16()
    };
    assert_eq!((login(&operator).await, login(&viewer).await), (303, 303));
    for _ in 0..12 {
        assert_eq!(login("throng_wrong").await, 403);
    }
    running.stop().await;

    let verdict = AuditLog::verify(&folder.data(0)).unwrap();
    assert!(verdict.is_intact());
    let acts: Vec<serde_json::Value> =
        verdict.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = acts.iter().map(|act| act["act"].as_str().unwrap()).collect();
    assert_eq!(names, ["start", "login", "logins refused", "logins refused", "stop"]);
    assert_eq!(acts[0]["role"], "mix");
    assert_eq!(acts[0]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(acts[0]["collections"][0], world.id.to_string());
    assert_eq!(acts[0]["tokens"][1]["name"], "grafana");
    assert_eq!(acts[1]["name"], "night shift");
    assert_eq!((&acts[2]["since_start"], &acts[3]["since_start"]), (&1.into(), &10.into()));
    let text = verdict.lines.concat();
    let port = format!(":{}", folder.addresses[0].port());
    for secret in [&operator[..20], &viewer[..20], "throng_wrong", "127.0.0.1", "localhost", &port]
    {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_somebody_changed_is_told_and_not_gone_on_with() {
    let mut folder = Folder::new().await;
    let world = folder.world(folder.question("a"));
    for intact in [1, 1] {
        let running = folder.start(0).await;
        assert_eq!(world.metric(0, "throng_audit_intact").await, intact);
        running.stop().await;
    }
    let file = folder.data(0).join("audit.log");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"stop\"", "\"nop!\"", 1)).unwrap();
    for lines in [7, 9] {
        let running = folder.start(0).await;
        assert_eq!(world.metric(0, "throng_audit_intact").await, 0);
        running.stop().await;
        let verdict = AuditLog::verify(&folder.data(0)).unwrap();
        assert_eq!(verdict.broken, [2]);
        // Two starts and two stops, the line that tells, a start and a stop; and once more.
        assert_eq!(verdict.lines.len(), lines);
        assert!(verdict.lines[4].contains(r#""act":"broken","line":2"#), "{verdict:?}");
    }
}
