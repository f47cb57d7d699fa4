//! An analyzer with a year behind it, to look at.
//!
//! ```text
//! cargo run --example gallery -- [--collections 50] [--epochs 365] [--tokens]
//! ```
//!
//! Questions of every kind, with estimates drawn from the laws of their mechanisms and with a
//! ledger that is reckoned as the analyzer reckons it; one question that tries to break the page,
//! and one that has nothing to show yet. The mixes are not there. It prints one line of JSON with
//! the address, tokens if asked for, and the collections; then how long pages take, to stderr; and
//! it ends with its standard input.

mod draw;
mod history;
mod question;

use history::History;
use question::Kind;
use reqwest::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use throng_collection::Collection;
use throng_mix::Limits;
use throng_mix::store::Store;
use throng_server::{Access, Clock, Listener, Parts, Reader, Role, Server, Token};
use throng_wire::{Chain, Identity, Party};
use tokio::sync::oneshot;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[tokio::main]
async fn main() -> Result<()> {
    let wish = Wish::read()?;
    let begun = Instant::now();
    let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await?;
    let url = format!("http://{}", listener.address()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let data = tempfile::tempdir()?;
    let store = Store::on_disk(data.path())?;
    let asked = Past { wish: &wish, now, chain: chain(&url), store: &store }.write()?;

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
        boards: Vec::new(),
        store,
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

/// The wishes on the command line.
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

/// The past that is written.
struct Past<'a> {
    wish: &'a Wish,
    now: u64,
    chain: Chain,
    store: &'a Store,
}

impl Past<'_> {
    /// Writes all collections, in the order of the gallery. Two threads compute, one kind at a
    /// time.
    fn write(&self) -> Result<Vec<(Kind, Collection)>> {
        let kinds = question::kinds(self.wish.collections);
        let (left, written) = (Mutex::new(BASES.to_vec()), Mutex::new(BTreeMap::new()));
        let next = || left.lock().ok().and_then(|mut left| left.pop());
        let work = || {
            while let Some(base) = next() {
                let of = kinds.iter().enumerate().filter(|(_, kind)| kind.base() == base);
                let all = self.write_all(base, &of.map(|(p, k)| (p, *k)).collect::<Vec<_>>())?;
                written.lock().map_err(|_| "another kind failed")?.extend(all);
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        };
        thread::scope(|scope| {
            let other = scope.spawn(work);
            work()?;
            other.join().map_err(|_| "a thread failed")?
        })?;
        Ok(written.into_inner().map_err(|_| "a kind failed")?.into_values().collect())
    }

    /// Writes the collections that share the mechanism, promise and past of one.
    fn write_all(
        &self,
        base: Kind,
        kinds: &[(usize, Kind)],
    ) -> Result<Vec<(usize, (Kind, Collection))>> {
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let terms = question::terms(base, self.wish.epochs)?;
        let make = |kind: Kind, place: usize| {
            let schedule = question::schedule(kind, self.wish.epochs, self.now);
            question::collection(kind, place, &terms, schedule, &self.chain)
        };
        let history = History::new(&make(base, 0)?, self.now)?;
        let mut all = Vec::new();
        for (place, kind) in kinds {
            let collection = make(*kind, *place)?;
            if *kind != Kind::Young {
                history.write(&collection, *place as u64, self.store)?;
            }
            all.push((*place, (*kind, collection)));
        }
        Ok(all)
    }
}

/// Measures how long pages take, the first and the second time.
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
        let mut line = vec![format!("{name:12}")];
        for _ in 0..2 {
            let mut request = http.get(format!("{url}{path}"));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let begun = Instant::now();
            let answer = request.send().await?;
            let (status, bytes) = (answer.status().as_u16(), answer.bytes().await?.len());
            let taken = begun.elapsed().as_millis();
            line.push(format!("{taken:7} ms ({status}, {} KB)", bytes / 1_024));
        }
        eprintln!("{}", line.concat());
    }
    Ok(())
}

/// Waits until standard input ends.
async fn standard_input() -> Result<()> {
    let (ended, wait) = oneshot::channel();
    // Not a task: nothing could end it before its input.
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    Ok(wait.await?)
}

/// The kinds that have a past of their own. The slowest is last, and is taken first.
const BASES: [Kind; 7] = [
    Kind::State,
    Kind::Text,
    Kind::Bit,
    Kind::Attributes,
    Kind::Thousand,
    Kind::Real,
    Kind::Category,
];
