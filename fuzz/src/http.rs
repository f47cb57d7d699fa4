//! Targets of `throng-server`: what strangers ask it, and what it is told.

use crate::parties::{BOARD, COLLECTION, DISKS, NOTICES, NOW, limits, other_batches};
use crate::target::Target;
use crate::world::identity;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderValue, Request, StatusCode};
use futures_util::stream;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::str::FromStr;
use std::sync::{LazyLock, Mutex};
use throng_mix::simulated::MemoryStore;
use throng_mix::store::{RowKey, Store, Table};
use throng_mix::{Mix, Progress, read_statement, statement};
use throng_server::{
    Access, Analyzer, Clock, Noticeboard, Parts, Reader, Role, Server, Token, planner_query,
};
use throng_wire::{Notice, Route, hex};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// The place of a server in the list and the way in which the body comes, then a request: a method
/// and a path, headers one to a line, an empty line and a body.
pub const REQUEST: Target = Target {
    name: "request",
    rounds: 1_000,
    seeds: requests,
    body: |bytes| {
        let [place, request @ ..] = bytes else { return };
        let (place, pieces) = (usize::from(*place) % SERVERS.len(), *place / SERVERS.len() as u8);
        let Some(request) = read_request(request, pieces) else { return };
        // The planner computes for seconds; `query` looks at what it is asked.
        if request.uri().path() == "/planner" {
            return;
        }
        // Whoever logs in comes back with the cookie.
        if let Some(cookie) = answer(place, request) {
            let request = Request::get("/operations").header(COOKIE, cookie);
            answer(place, request.body(Body::empty()).unwrap());
        }
    },
};

/// The query of the planner.
pub const QUERY: Target = Target {
    name: "query",
    rounds: 20_000,
    seeds: || {
        let texts = [
            "value=category&n=1e6&n_step=0&epsilon_step=0&size=7&fragile=on",
            "value=state&n=5e4&epsilon=0.5&delta=1e-9&size=100&changes=2&corrupt=0.1",
            "value=string&max_messages=4&local_floor=3&fragile=1&epochs=30&size=1,000",
            "value=attributes&size_step=3&n=nan&epsilon=inf&corrupt=-1&n_step=99",
            "release=3&q=a%26b&part=1&other=x&view=&sort=label&order=down&label=%ff",
            "value=real",
        ];
        texts.map(Vec::from).to_vec()
    },
    body: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else { return };
        let (ask, shown) = planner_query(text).unwrap();
        assert!((100..=1_000_000_000).contains(&ask.reports) && ask.crowd.get() <= ask.reports);
        assert!((0.1..=8.0).contains(&ask.epsilon.get()) && (1..=1_000).contains(&ask.epochs));
        assert!((1e-12..=1e-4).contains(&ask.delta.get()) && ask.max_messages <= 128);
        // A link leads to the same page, whatever was asked.
        let (again, _) = planner_query(shown[0].trim_start_matches('?')).unwrap();
        assert!(again.reports >= 100 && shown.iter().all(|text| text.len() < 1 << 18));
    },
};

/// The file of tokens.
pub const TOKENS: Target = Target {
    name: "tokens",
    rounds: 10_000,
    seeds: || vec![TOKEN_FILE.clone().into_bytes(), b"viewer".to_vec(), Vec::new()],
    body: |bytes| {
        let Ok(text) = str::from_utf8(bytes) else { return };
        if let Ok(reader) = Reader::from_str(text) {
            assert_eq!(reader.to_string(), text);
        }
        if let Ok((secret, token)) = Token::generate(text, Reader::Viewer) {
            let mut access = Access::default();
            access.add(token).unwrap();
            let read = Access::parse(&access.to_toml()).unwrap();
            assert_eq!(read.who(&secret).map(|token| token.name.as_str()), Some(text));
        }
        let Ok(mut access) = Access::parse(text) else { return };
        assert_eq!(Access::parse(&access.to_toml()).unwrap(), access);
        let tokens = access.tokens().to_vec();
        // The file holds digests: what is in it opens nothing.
        assert!(text.split('"').all(|part| access.who(part).is_none()));
        for token in &tokens {
            assert!(access.add(token.clone()).is_err() && access.remove(&token.name));
        }
        assert!(access.tokens().is_empty());
    },
};

/// What a mix is asked to sign: a notice, and the analyzer's signature.
pub const STATEMENT: Target = Target {
    name: "statement",
    rounds: 5_000,
    seeds: || statements().to_vec(),
    body: |bytes| {
        let Ok((notice, signature)) = read_statement(bytes) else { return };
        assert_eq!(statement(&notice, &signature), bytes);
        let signed = MIX.countersign(&notice, &signature);
        assert!(signed.is_err() || statements().contains(&bytes.to_vec()));
        if let Ok(signature) = signed {
            assert!(notice.cosigned(&identity(1).public(), &signature));
            // The first notice of a round is the only one that is ever signed.
            let mut first = FIRST.lock().unwrap();
            assert_eq!(first.entry(notice.round).or_insert(notice), &notice);
        }
    },
};

/// Rows of a disk: a table, an epoch, a hop, two bytes of a length and a value.
pub const ROWS: Target = Target {
    name: "rows",
    rounds: 1_000,
    seeds: || {
        let (mix, analyzer) = (&DISKS.mix, &DISKS.analyzer);
        [(mix, BOARD.id()), (analyzer, BOARD.id()), (analyzer, COLLECTION.id())]
            .into_iter()
            .flat_map(|(store, id)| {
                let mut all = Vec::new();
                for (place, table) in (0..).zip(Table::ALL) {
                    for (key, value) in store.rows.under(table, &RowKey::of(id)).unwrap() {
                        let epoch = key.epoch().unwrap_or(0) as u8;
                        all.push(row([place, epoch, key.hop().unwrap_or(0)], &value));
                    }
                }
                let notice = statements()[0].clone();
                let notice = [row([5, 0, 0], &notice), row([7, 0, 1], &[1; 64])].concat();
                let secret = row([Table::ALL.len() as u8, 0, 0], &[3; 32]);
                let destroyed = [secret.clone(), row([3, 0, 0], b"1")].concat();
                // More keys than there are hops once were more than could be counted.
                let keys = [64, 256 * 32].map(|bytes| row([4, 0, 0], &vec![5; bytes])).concat();
                let whole = all.concat();
                [all, vec![whole, notice, secret, destroyed, keys]].concat()
            })
            .collect()
    },
    body: |bytes| {
        let store = MemoryStore::new().store();
        let mut rest = bytes;
        while let Some((&[table, epoch, hop, high, low], after)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes([high, low])).min(after.len());
            put(&store, [table, epoch, hop], &after[..length]);
            rest = &after[length..];
        }
        open(&store);
    },
};

/// What a mix says of the running epoch, once to a line.
pub const PROGRESS: Target = Target {
    name: "progress",
    rounds: 20_000,
    seeds: || {
        let said = |at_least| Progress { epoch: 3, crowd: 50, at_least }.to_json().to_string();
        [None, Some(55)].map(|at_least| said(at_least).into_bytes()).to_vec()
    },
    body: |bytes| {
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(said) = serde_json::from_slice(line) else { continue };
            let Some(progress) = Progress::parse(&said) else { continue };
            assert_eq!(Progress::parse(&progress.to_json()), Some(progress));
            assert!(progress.at_least.is_none_or(|count| count >= progress.crowd));
        }
    },
};

/// Asks a server, and returns the cookie that it sets, if it sets one.
fn answer(place: usize, request: Request<Body>) -> Option<HeaderValue> {
    let server = SERVERS[place].clone();
    RUNTIME.block_on(async {
        let response = server.oneshot(request).await.unwrap();
        assert_ne!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let cookie = response.headers().get(SET_COOKIE).cloned();
        let _ = to_bytes(response.into_body(), usize::MAX).await;
        let cookie = cookie?;
        HeaderValue::from_bytes(cookie.as_bytes().split(|byte| *byte == b';').next()?).ok()
    })
}

/// Puts a row of the collection and of the board, or a secret of theirs.
fn put(store: &Store, [table, epoch, hop]: [u8; 3], value: &[u8]) {
    let epoch = if epoch == u8::MAX { u64::MAX } else { epoch.into() };
    for id in [COLLECTION.id(), BOARD.id()] {
        let Some(&table) = Table::ALL.get(usize::from(table)) else {
            // A secret is put once.
            let _ = store.secrets.put(&format!("{id}-{epoch}"), value);
            continue;
        };
        let key = match table {
            Table::Destroyed | Table::Clock => RowKey::of(id),
            Table::Countersignatures => RowKey::signed(id, epoch, hop),
            _ => RowKey::at(id, epoch),
        };
        store.rows.put(table, &key, value).unwrap();
    }
}

/// Opens every role on a disk, and has it tell what it knows. Whatever is there is read or refused.
fn open(store: &Store) {
    if let Ok(analyzer) = Analyzer::open(store.clone(), COLLECTION.clone(), identity(2), limits()) {
        let _ = (analyzer.published(), analyzer.ledger(), analyzer.course.slots());
    }
    let route = || Route::from(&*BOARD).into();
    if let Ok(board) = Noticeboard::open(store.clone(), route(), identity(2), limits()) {
        let _ = (board.notices(), board.bulletin(0).is_ok(), board.unsigned(1));
    }
    if let Ok(mix) = Mix::open(store.clone(), route(), identity(1), limits()) {
        let keyring = &mix.course.keyring;
        for window in keyring.windows() {
            let _ = (keyring.directory(window), keyring.missing(window));
        }
        let _ = (mix.waiting(), mix.progress(NOW), keyring.destroyed());
    }
}

fn row(head: [u8; 3], value: &[u8]) -> Vec<u8> {
    [&head[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

/// The notices, each signed by the analyzer.
fn statements() -> &'static [Vec<u8>] {
    static ALL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let signed = |notice: &Notice| statement(notice, &notice.cosign(&identity(2)));
        NOTICES.iter().map(signed).collect()
    });
    &ALL
}

/// Reads a request, whose body comes whole, in pieces, or in pieces and is then cut off.
fn read_request(text: &[u8], pieces: u8) -> Option<Request<Body>> {
    let end = text.windows(2).position(|two| two == b"\n\n").unwrap_or(text.len());
    let (head, body) = (&text[..end], text.get(end + 2..).unwrap_or_default());
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.splitn(2, |byte| *byte == b' ');
    let mut request = Request::builder().method(first.next()?).uri(first.next()?);
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        request = request.header(parts.next()?, parts.next()?.trim_ascii());
    }
    if pieces.is_multiple_of(3) {
        return request.body(Body::from(body.to_vec())).ok();
    }
    let mut frames: Vec<_> = body.chunks(100).map(|piece| Ok(piece.to_vec())).collect();
    frames.extend((pieces % 3 == 2).then(|| Err(io::Error::other("cut"))));
    request.body(Body::from_stream(stream::iter(frames))).ok()
}

/// One request of every kind, of which each server answers some.
fn requests() -> Vec<Vec<u8>> {
    let (question, board) = (COLLECTION.id(), BOARD.id());
    let api = |id, path: &str| format!("/v1/collections/{id}/{path}");
    let page = |query: &str| format!("/collections/{question}{query}");
    let mut paths: Vec<String> = [
        "/",
        "/?part=1",
        "/operations",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/docs",
        "/docs/README.md",
        "/docs/../x",
        "/login?next=//evil",
        "/assets/icon.svg",
        "/nothing",
        "/v1/collections",
    ]
    .map(String::from)
    .to_vec();
    for id in [question, board] {
        let parts =
            ["keys/0", "cosignatures/0", "directories/0", "status", "releases", "bulletins/0"];
        paths.extend(parts.map(|part| api(id, part)));
        paths.extend([format!("/v1/collections/{id}"), format!("/collections/{id}")]);
    }
    paths.push(api(question, "releases.csv"));
    paths.push(page("?release=0&view=table&sort=value&order=down&q=y&label=yes"));
    paths.push(page("/privacy?release=0"));
    let cookie = "cookie: a=b; throng-8139770e=00.9.00; c";
    let heads = [
        format!("\nhost: 127.0.0.1:80\nauthorization: Bearer {SECRET}\naccept: text/html"),
        "\nhost: localhost\nauthorization: bearer other".into(),
        format!("\nhost: [::1]\nx-forwarded-for: 1\n{cookie}"),
    ];
    let get = |path: &String| heads.clone().map(|head| format!("GET {path}{head}").into_bytes());
    let mut requests: Vec<Vec<u8>> = paths.iter().flat_map(get).collect();

    let with = |line: String, body: &[u8]| [line.as_bytes(), b"\n\n", body].concat();
    let report = vec![5; Route::from(&**COLLECTION).shape.report_bytes()];
    let (sent, [other, none]) = (&DISKS.sent, other_batches());
    requests.extend([
        with(format!("POST {}", api(question, "epochs/1/reports")), &report),
        with(format!("POST {}", api(question, "epochs/1/reports")), &[0; 5_000]),
        with(format!("POST {}", api(question, "epochs/0/reports")), &report),
        with(format!("PUT {}", api(board, "batches/2/1/1")), &sent[..50]),
        with(format!("PUT {}", api(board, "batches/2/1/2")), sent),
        with(format!("PUT {}", api(board, "batches/2/1/1")), sent),
        with(format!("PUT {}", api(board, "batches/2/1/1")), &other),
        with(format!("PUT {}", api(board, "batches/2/2/2")), &none),
        with("POST /logout".into(), b""),
        with("POST /login\nsec-fetch-site: cross-site".into(), b""),
        with(
            "POST /login\nx-forwarded-proto: https".into(),
            format!("token={SECRET}&next=/operations").as_bytes(),
        ),
    ]);
    let notices = statements().iter();
    requests.extend(notices.map(|notice| with(format!("PUT {}", api(board, "notices/1")), notice)));
    let places = |request: &Vec<u8>| {
        let whole = (0..SERVERS.len() as u8).collect::<Vec<_>>();
        // Only bodies can come in pieces.
        let pieces = if request.starts_with(b"GET") { vec![] } else { vec![3, 4, 6, 7] };
        let each = whole.into_iter().chain(pieces);
        each.map(|place| [&[place][..], request].concat()).collect::<Vec<_>>()
    };
    requests.iter().flat_map(places).collect()
}

/// A mix, an analyzer that asks for tokens, and one that does not and has nothing to show yet.
static SERVERS: LazyLock<[Router; 3]> = LazyLock::new(|| {
    let _inside = RUNTIME.enter();
    let server = |role: Role, store: &Store, access| {
        let parts = Parts {
            role,
            identity: identity(if role == Role::Mix { 1 } else { 2 }),
            collections: vec![(**COLLECTION).clone()],
            boards: vec![BOARD.clone()],
            store: store.clone(),
            limits: limits(),
            tls: None,
            authority: None,
            access,
        };
        Server::from_parts(parts, Clock::manual(NOW)).unwrap().routes()
    };
    let access = Access::parse(&TOKEN_FILE).unwrap();
    [
        server(Role::Mix, &DISKS.mix, None),
        server(Role::Analyzer, &DISKS.analyzer, Some(access)),
        server(Role::Analyzer, &MemoryStore::new().store(), None),
    ]
});

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().unwrap());

static MIX: LazyLock<Mix> = LazyLock::new(|| {
    Mix::open(DISKS.mix.clone(), Route::from(&*BOARD).into(), identity(1), limits()).unwrap()
});

/// The notice of each round that the mix signed first.
static FIRST: Mutex<BTreeMap<u64, Notice>> = Mutex::new(BTreeMap::new());

static TOKEN_FILE: LazyLock<String> = LazyLock::new(|| {
    let entry = |name: &str, role: &str, secret: &str| {
        let digest = hex(&Sha256::digest(secret.as_bytes()));
        format!("[[token]]\nname = \"{name}\"\nrole = \"{role}\"\nsha256 = \"{digest}\"\n")
    };
    format!("{}\n{}", entry("grafana", "viewer", "other"), entry("night", "operator", SECRET))
});

const SECRET: &str = "throng_00";
