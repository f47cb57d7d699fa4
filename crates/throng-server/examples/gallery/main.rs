//! An analyzer with a year behind it, to look at.
//!
//! ```text
//! cargo run --example gallery -- [--collections 50] [--epochs 365] [--tokens]
//! ```
//!
//! Questions of every kind, with estimates drawn from the laws of their mechanisms and with a ledger that
//! is reckoned as the analyzer reckons it; one question that tries to break the page, and one that has
//! nothing to show yet. The mixes are not there. It prints one line of JSON with the address, tokens if
//! asked for, and the collections; then how long pages take, to stderr; and it ends with its standard
//! input.

mod draw;
mod history;
mod question;

use history::History;
use question::Kind;
use reqwest::Client;
use serde_json::{Value, json};
use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use throng_server::{
    Access, Clock, DiskStore, Limits, Listener, Parts, Reader, Role, Server, Token,
};
use throng_wire::{Chain, Collection, Identity, Party};
use tokio::sync::oneshot;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result<()> {
    let wish = Wish::read()?;
    let begun = Instant::now();
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
    let url = format!("http://{}", listener.address()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let asked = question::gallery(wish.collections, wish.epochs, now, &chain(&url))?;
    let data = tempfile::tempdir()?;
    fill(&Arc::new(DiskStore::open(data.path())?), &asked, now)?;

    let (mut access, mut secrets) = (Access::default(), Vec::new());
    for reader in [Reader::Viewer, Reader::Operator] {
        let (secret, token) = Token::generate(&reader.to_string(), reader)?;
        access.add(token)?;
        secrets.push(wish.tokens.then(|| secret.to_string()));
    }
    let parts = Parts {
        role: Role::Analyzer,
        identity: identity(3),
        collections: asked.iter().map(|(_, collection)| collection.clone()).collect(),
        data: data.path().to_owned(),
        limits: Limits::default(),
        tls: None,
        authority: None,
        access: wish.tokens.then_some(access),
    };
    let running = Server::from_parts(parts, Clock::manual(now))?.start_on(listener)?;
    let told = |(kind, collection): &(Kind, Collection)| {
        let (id, question) = (collection.id().to_string(), &collection.terms.question.text);
        json!({ "id": id, "question": question, "kind": kind.name() })
    };
    let all: Vec<Value> = asked.iter().map(told).collect();
    let [viewer, operator] = [&secrets[0], &secrets[1]];
    println!(
        "{}",
        json!({ "url": url, "viewer": viewer, "operator": operator, "collections": all })
    );
    eprintln!("ready after {:.1} s", begun.elapsed().as_secs_f64());
    measure(&url, operator.as_deref(), &asked).await?;
    tokio::select! {
        ended = standard_input() => ended?,
        ended = tokio::signal::ctrl_c() => ended?,
    }
    running.stop().await;
    Ok(())
}

/// What is asked for on the command line.
struct Wish {
    collections: usize,
    epochs: u64,
    tokens: bool,
}

impl Wish {
    fn read() -> Result<Self> {
        let mut wish = Self { collections: 50, epochs: 365, tokens: false };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().ok_or("a number is missing");
            match argument.as_str() {
                "--collections" => wish.collections = number()?.parse()?,
                "--epochs" => wish.epochs = number()?.parse()?,
                "--tokens" => wish.tokens = true,
                other => return Err(format!("{other} is not known here").into()),
            }
        }
        Ok(wish)
    }
}

/// Two mixes at ports where nobody listens, and this analyzer.
fn chain(url: &str) -> Chain {
    let party = |name: &str, url: &str, seed| Party {
        name: name.to_owned(),
        url: url.to_owned(),
        identity: identity(seed).public(),
    };
    Chain {
        mixes: vec![
            party("North mix", "http://127.0.0.1:1", 1),
            party("South mix", "http://127.0.0.1:2", 2),
        ],
        analyzer: party("Counting house", url, 3),
    }
}

fn identity(seed: u8) -> Identity {
    Identity::from_seed(&[seed; 32])
}

/// Writes the past of all collections. Those of one kind share what is reckoned.
fn fill(store: &Arc<DiskStore>, asked: &[(Kind, Collection)], now: u64) -> Result<()> {
    let mut kinds: Vec<Kind> = asked.iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    thread::scope(|scope| {
        let halves: Vec<_> = (0..2)
            .map(|half| {
                let kinds: Vec<Kind> = kinds.iter().skip(half).step_by(2).copied().collect();
                scope.spawn(move || {
                    for kind in kinds {
                        let mut history = None;
                        for (seed, (_, collection)) in
                            (0..).zip(asked).filter(|(_, asked)| asked.0 == kind)
                        {
                            let history = match &mut history {
                                Some(history) => history,
                                none => { let t=Instant::now(); let h=History::new(collection, now)?; eprintln!("history {kind:?} {:?}", t.elapsed()); none.insert(h) },
                            };
                            let t=Instant::now(); history.write(collection, seed, store)?; eprintln!("write {kind:?} {:?}", t.elapsed());
                        }
                    }
                    Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
                })
            })
            .collect();
        halves.into_iter().try_for_each(|half| half.join().map_err(|_| "a history failed")?)
    })
}

/// How long pages take, the first and the second time.
async fn measure(url: &str, token: Option<&str>, asked: &[(Kind, Collection)]) -> Result<()> {
    let http = Client::builder().no_proxy().build()?;
    let of = |wanted: Kind| {
        let mut found = asked.iter().filter(|(kind, _)| *kind == wanted);
        found.next().map(|(_, collection)| format!("/collections/{}", collection.id()))
    };
    let pages = [
        ("overview", Some("/".to_owned())),
        ("one count", of(Kind::Bit)),
        ("1,000 bins", of(Kind::Thousand)),
        ("operations", Some("/operations".to_owned())),
    ];
    for (name, path) in pages {
        let Some(path) = path else { continue };
        let mut line = format!("{name:12}");
        for _ in 0..2 {
            let mut request = http.get(format!("{url}{path}"));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let begun = Instant::now();
            let answer = request.send().await?;
            let (status, bytes) = (answer.status().as_u16(), answer.bytes().await?.len());
            let taken = begun.elapsed().as_millis();
            line.push_str(&format!("{taken:7} ms ({status}, {} KB)", bytes / 1_024));
        }
        eprintln!("{line}");
    }
    Ok(())
}

/// Until nobody writes to us any more.
async fn standard_input() -> Result<()> {
    let (ended, wait) = oneshot::channel();
    // Not a task: nothing could end it before its input.
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    Ok(wait.await?)
}
