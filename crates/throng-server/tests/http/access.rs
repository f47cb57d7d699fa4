//! Access by tokens, and the content of pages.

use crate::world::{START, World, limits};
use reqwest::Response;
use reqwest::header::{ACCEPT, LOCATION, SET_COOKIE};
use throng_server::{Access, Config, Reader, Role, Server, Token};

/// A world whose analyzer asks for tokens: a viewer's and an operator's.
async fn guarded() -> (World, String, String) {
    let mut world = World::new(limits()).await;
    world.parties[2].take().unwrap().stop().await;
    let mut access = Access::default();
    let (viewer, token) = Token::generate("a viewer", Reader::Viewer).unwrap();
    access.add(token).unwrap();
    let (operator, token) = Token::generate("an operator", Reader::Operator).unwrap();
    access.add(token).unwrap();
    let mut parts = world.parts(2);
    parts.access = Some(access);
    let server = Server::from_parts(parts, world.clock.clone()).unwrap();
    let listener = throng_server::Listener::bind(world.addresses[2]).await.unwrap();
    world.parties[2] = Some(server.start_on(listener).unwrap());
    (world, viewer.to_string(), operator.to_string())
}

async fn ask(world: &World, path: &str, token: Option<&str>) -> u16 {
    let request = world.http.get(format!("{}{path}", world.root(2)));
    let request = token.map_or(request.try_clone().unwrap(), |token| request.bearer_auth(token));
    request.send().await.unwrap().status().as_u16()
}

async fn browse(world: &World, path: &str) -> Response {
    let request = world.http.get(format!("{}{path}", world.root(2)));
    request.header(ACCEPT, "text/html,*/*").send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_token_opens_what_it_is_for() {
    let (world, viewer, operator) = guarded().await;
    let id = world.id;
    let results = [
        "/".to_owned(),
        format!("/collections/{id}"),
        format!("/collections/{id}/privacy"),
        "/planner?value=string".to_owned(),
        format!("/v1/collections/{id}/releases"),
        format!("/v1/collections/{id}/releases.csv"),
    ];
    let operations =
        ["/operations".to_owned(), "/metrics".to_owned(), format!("/v1/collections/{id}/status")];
    for path in &results {
        assert_eq!(ask(&world, path, None).await, 401, "{path}");
        assert_eq!(ask(&world, path, Some("throng_00")).await, 401, "{path}");
        assert_eq!(ask(&world, path, Some(&viewer)).await, 200, "{path}");
        assert_eq!(ask(&world, path, Some(&operator)).await, 200, "{path}");
    }
    for path in &operations {
        assert_eq!(ask(&world, path, None).await, 401, "{path}");
        assert_eq!(ask(&world, path, Some(&viewer)).await, 403, "{path}");
        assert_eq!(ask(&world, path, Some(&operator)).await, 200, "{path}");
    }
    // What the other parties and clients need is for everybody.
    let open = ["/healthz", "/readyz", "/v1/collections", "/openapi.json", "/docs/README.md"];
    for path in open {
        assert!([200, 503].contains(&ask(&world, path, None).await), "{path}");
    }
    assert_eq!(ask(&world, &format!("/v1/collections/{id}"), None).await, 200);
    assert_eq!(ask(&world, &format!("/v1/collections/{id}/bulletins/0"), None).await, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_signs_in_and_out() {
    let (world, viewer, _) = guarded().await;
    let sent = browse(&world, "/planner?value=bit").await;
    assert_eq!(sent.status(), 303);
    assert_eq!(sent.headers()[LOCATION], "/login?next=%2Fplanner%3Fvalue%3Dbit");
    let sign_in = |token: String, next: &str| {
        let form = form_urlencoded(&[("token", &token), ("next", next)]);
        world.http.post(format!("{}/login", world.root(2))).body(form).send()
    };
    let refused = sign_in("throng_00".into(), "/planner").await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key(SET_COOKIE));
    let page = refused.text().await.unwrap();
    assert!(page.contains("not known here") && !page.contains("throng_00"));
    let elsewhere = sign_in(viewer.clone(), "//evil.example/").await.unwrap();
    assert_eq!(elsewhere.headers()[LOCATION], "/");
    let entered = sign_in(viewer.clone(), "/planner?value=bit").await.unwrap();
    assert_eq!(
        (entered.status().as_u16(), &entered.headers()[LOCATION]),
        (303, &"/planner?value=bit".parse().unwrap())
    );
    assert_eq!(entered.headers()["cache-control"], "no-store");
    let cookie = entered.headers()[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let session = cookie.split(';').next().unwrap();
    let with = async |path: &str| {
        let request = world.http.get(format!("{}{path}", world.root(2)));
        let request = request.header(ACCEPT, "text/html").header("cookie", session);
        request.send().await.unwrap()
    };
    let page = with("/").await;
    assert_eq!(page.status(), 200);
    assert!(page.text().await.unwrap().contains("a viewer"));
    let forbidden = with("/operations").await;
    assert_eq!(forbidden.status(), 403);
    assert!(forbidden.text().await.unwrap().contains("the token of an operator"));
    let out = world.http.post(format!("{}/logout", world.root(2))).send().await.unwrap();
    assert!(out.headers()[SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
    world.clock.set(START + 13 * 3_600);
    assert_eq!(with("/").await.status(), 303, "the session is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_its_headers_and_pages_hold_nothing_inline() {
    let world = World::new(limits()).await;
    let id = world.id;
    let releases = format!("/v1/collections/{id}/releases");
    let paths = [
        "/".into(),
        format!("/collections/{id}"),
        format!("{releases}.csv"),
        releases,
        "/login".into(),
        "/nothing".into(),
    ];
    for path in paths {
        for hop in [0, 2] {
            let request = world.http.get(format!("{}{path}", world.root(hop)));
            let answer = request.header(ACCEPT, "text/html").send().await.unwrap();
            let headers = answer.headers().clone();
            assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
            assert_eq!(headers["referrer-policy"], "no-referrer");
            assert_eq!(headers["cache-control"], "no-store", "{path}");
            assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
            let policy = headers["content-security-policy"].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
            assert!(policy.contains("frame-ancestors 'none'"));
            let page = answer.text().await.unwrap();
            for inline in ["<style", " style=", " onclick=", "javascript:", "<script>"] {
                assert!(!page.contains(inline), "{inline} in {path}");
            }
            for elsewhere in ["src=\"http", "href=\"http", "action=\"http", "src=\"//"] {
                assert!(!page.contains(elsewhere), "{elsewhere} in {path}");
            }
        }
    }
    let page = browse(&world, "/").await.text().await.unwrap();
    assert!(page.contains("no tokens are set"), "an open page says so");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_analyzer_answers_to_this_machine_only() {
    let world = World::new(limits()).await;
    let paths = ["/".to_owned(), format!("/v1/collections/{}/releases", world.id)];
    for path in paths {
        let url = format!("{}{path}", world.root(2));
        let with = async |name: &str, value: &str| {
            world.http.get(&url).header(name, value).send().await.unwrap().status().as_u16()
        };
        assert_eq!(with("host", "localhost:8003").await, 200, "{path}");
        // A page elsewhere whose name leads here, and a proxy that forgot about tokens.
        assert_eq!(with("host", "evil.example").await, 421, "{path}");
        assert_eq!(with("x-forwarded-for", "192.0.2.1").await, 421, "{path}");
    }
    let foreign = world.http.post(format!("{}/logout", world.root(2)));
    let foreign = foreign.header("sec-fetch-site", "cross-site").send().await.unwrap();
    assert_eq!(foreign.status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_who_look_do_not_keep_the_threads_that_work_needs() {
    let world = World::new(limits()).await;
    let mut looking = tokio::task::JoinSet::new();
    for place in 0..600 {
        let path = if place % 3 == 0 { "readyz" } else { "" };
        let request = world.http.get(format!("{}/{path}", world.root(place % 2)));
        looking.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    while let Some(status) = looking.join_next().await {
        assert!([200, 429, 503].contains(&status.unwrap()));
    }
    assert_eq!(world.get(&format!("{}/", world.root(0))).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analyzer_beyond_loopback_must_ask_for_tokens() {
    let world = World::new(limits()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("c.toml"), world.collection.to_toml()).unwrap();
    let config = |role, hop: usize| {
        let identity = file(&format!("{hop}.key"));
        if !identity.exists() {
            world.identities[hop].write(&identity).unwrap();
        }
        // The address is refused before it is bound.
        let text = format!(
            "listen = \"192.0.2.1:0\"\n\
             identity = \"{hop}.key\"\n\
             data = \"data-{hop}\"\n\
             collections = [\"c.toml\"]\n"
        );
        Config { limits: limits(), ..Config::parse(role, &text, folder.path()).unwrap() }
    };
    let start = async |config: Config| {
        let server = Server::open(&config, world.clock.clone()).unwrap();
        server.start().await.err().unwrap().to_string()
    };
    let error = start(config(Role::Analyzer, 2)).await;
    assert!(error.starts_with("access: ") && error.contains("throng token"), "{error}");
    // Whoever asks for tokens, and a mix, gets as far as the address, which nobody here has.
    std::fs::write(file("tokens.toml"), Access::default().to_toml()).unwrap();
    let guarded = Config { access: Some(file("tokens.toml")), ..config(Role::Analyzer, 2) };
    for config in [guarded, config(Role::Mix, 1)] {
        assert!(start(config).await.starts_with("listen: "));
    }
}

fn form_urlencoded(pairs: &[(&str, &str)]) -> String {
    let escape = |text: &str| {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
                other => format!("%{other:02x}"),
            })
            .collect::<String>()
    };
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
    pairs.join("&")
}
