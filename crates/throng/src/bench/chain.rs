//! `throng bench seal|mix|shuffle`: what the chain is made of, each beside a limit of the same run.

use super::rate::{cores, millions, on, repeat};
use crate::parallel::generator;
use crate::report::{Report, Rows};
use anyhow::{Context, Result};
use chacha20::rand_core::Rng;
use serde_json::json;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use throng_account::show::Near;
use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::{Collection, Promise, Prompt, Terms};
use throng_mechanism::{Ask, Key, Question};
use throng_mix::store::Store;
use throng_mix::{Limits, Mix, Shuffler, Step};
use throng_wire::{
    AgreementKey, Below, Binding, Chain, CollectionId, Identity, LAYER, LayerPublic, LayerSecret,
    Opener, Party, Route, Schedule, Seal, Shape,
};

/// Measures the work of a client: whole reports through two mixes.
pub fn seal() -> Result<Report> {
    let raw = on(cores(), agreements);
    let mut rows = Vec::new();
    let mut fields = Vec::new();
    for messages in [1, 2, 9] {
        let shape = Shape { mixes: 2, messages, payload: 32 };
        let keys: Vec<LayerPublic> = (0..3_u64).map(|hop| secret(hop).public()).collect();
        let seal = Seal::new(&shape, CollectionId::new([1; 32]), 0, 0, &keys)?;
        let payload = vec![0; 32 * messages as usize];
        let rate = |threads| {
            on(threads, |seed| {
                let mut rng = generator(seed, 1);
                repeat(1, || {
                    black_box(seal.report(&payload, &mut rng).expect("keys that are points"));
                })
            })
        };
        let (one, all) = (rate(1), rate(cores()));
        let layers = f64::from(1 + 2 * messages);
        rows.push(vec![
            messages.to_string(),
            shape.report_bytes().to_string(),
            format!("{one:.0}"),
            format!("{all:.0}"),
            format!("{:.0}", all * layers),
            format!("{:.2}", raw / (all * layers)),
        ]);
        fields.push(json!({"messages": messages, "bytes": shape.report_bytes(),
            "reports_per_second": one, "reports_per_second_all_cores": all,
            "agreements_per_layer": raw / (all * layers)}));
    }
    Ok(Report::default()
        .field("agreements_per_second_all_cores", raw)
        .field("rows", fields)
        .table(Rows {
            head: vec![
                "messages",
                "bytes",
                "reports/s",
                "all cores",
                "layers/s",
                "agreements a layer",
            ],
            rows,
        })
        .note(format!(
            "32-byte messages through two mixes. A layer takes the client a fresh key and an \
             agreement; aws-lc does {raw:.0} agreements a second on all cores in this run."
        )))
}

/// Measures the work of a mix: opening, and a whole epoch from the log to a sealed batch.
pub fn mix() -> Result<Report> {
    let len = 32 + 3 * LAYER;
    let binding =
        Binding { collection: CollectionId::new([1; 32]), epoch: 0, hop: 1, analyzer: false };
    let opener = Opener::new(&secret(0), &binding)?;
    let layer = throng_wire::Layer::new(&secret(0).public(), &binding)?;
    let mut rng = generator(0, 2);
    let count = 2_000;
    let mut sealed = Vec::with_capacity(count * len);
    for _ in 0..count {
        sealed.extend(layer.seal(&vec![0; len - LAYER], &mut rng)?);
    }
    let (mut opened, mut ok) = (vec![0; count * (len - LAYER)], vec![false; count]);
    let mut opening = |threads| {
        repeat(count as u64, || {
            let opening = opener.open_batch(&sealed, len, &mut opened, &mut ok, threads);
            opening.expect("lengths that fit");
        })
    };
    // In turns, so that other work on the machine slows both.
    let (mut raw, mut open) = (0.0_f64, 0.0_f64);
    for _ in 0..5 {
        raw = raw.max(on(cores(), agreements));
        open = open.max(opening(cores()));
    }
    let epoch = whole_epoch()?;
    let ratio = open / raw;
    Ok(Report::default()
        .field("agreements_per_second", raw)
        .line("opens_per_second", "layers opened a second, all cores", Near(open.round()))
        .line("open_over_agreement", "over agreements of the same library", Near(round(ratio)))
        .line(
            "mixed_per_second",
            "reports a second, from log to sealed batch",
            Near(epoch.rate.round()),
        )
        .line("mix_over_open", "over layers opened", Near(round(epoch.rate / open)))
        .line("bytes_per_report", "bytes of a report on the wire", epoch.bytes)
        .line(
            "memory_per_million",
            "MB of memory per million reports while mixing",
            Near(epoch.memory),
        )
        .note(format!(
            "aws-lc does {raw:.0} X25519 agreements a second on all cores in this run, which \
             bounds opening. An epoch of {} reports was read from disk, freed of copies, opened, \
             permuted, written and signed; reports that wait for their deadline take disk, not \
             memory.",
            epoch.reports
        )))
}

/// Measures permuting, in memory and on disk.
pub fn shuffle() -> Result<Report> {
    let mut rows = Vec::new();
    let mut fields = Vec::new();
    let directory = tempfile::tempdir()?;
    let store = Store::on_disk(directory.path())?;
    for (records, size) in [(1_000_000, 64), (1_000_000, 128), (4_000_000, 128)] {
        let mut bag = vec![0_u8; records * size];
        let mut rng = generator(0, 3);
        rng.fill_bytes(&mut bag);
        let mut copy = vec![0; bag.len()];
        let memcpy = repeat(records as u64, || copy.copy_from_slice(black_box(&bag)));
        let mut shuffled = |limit: usize| -> Result<f64> {
            let start = Instant::now();
            let mut shuffler = Shuffler::new(size, limit, &*store.blobs);
            shuffler.push(&bag)?;
            copy.clear();
            shuffler.finish(&mut rng, &mut |some| {
                copy.extend_from_slice(some);
                Ok(())
            })?;
            Ok(records as f64 / start.elapsed().as_secs_f64())
        };
        let memory = shuffled(bag.len())?.max(shuffled(bag.len())?);
        let disk = shuffled(bag.len() / 8)?;
        rows.push(vec![
            format!("{records} x {size} B"),
            millions(memcpy),
            millions(memory),
            format!("{:.3}", memory / memcpy),
            millions(disk),
        ]);
        fields.push(json!({"records": records, "bytes": size, "memcpy_per_second": memcpy,
            "shuffled_per_second": memory, "over_memcpy": memory / memcpy,
            "on_disk_per_second": disk}));
    }
    Ok(Report::default().field("rows", fields).table(Rows {
        head: vec![
            "records",
            "M/s copied",
            "M/s permuted",
            "ratio",
            "M/s on disk, in an eighth of the memory",
        ],
        rows,
    }))
}

/// One epoch at the first mix.
struct Epoch {
    reports: u64,
    rate: f64,
    bytes: u64,
    memory: f64,
}

fn whole_epoch() -> Result<Epoch> {
    let reports = 40_000_u64;
    let identities: Vec<Identity> = (0..3_u8).map(|i| Identity::from_seed(&[i + 1; 32])).collect();
    let collection = Arc::new(collection(reports, &identities)?);
    let directory = tempfile::tempdir()?;
    let store = Store::on_disk(directory.path())?;
    let mut rng = generator(0, 4);
    let route = Arc::new(Route::from(&*collection));
    let mix = Mix::open(store, route, identities[0].clone(), Limits::default())?;
    mix.course().keyring.publish(0, &mut rng)?;
    let first = mix.course().keyring.statement(0)?.key;
    let keys = [first, secret(1).public(), secret(2).public()];
    let seal = Seal::new(&collection.shape(), collection.id(), 0, 0, &keys)?;
    eprintln!("sealing {reports} reports");
    let share = reports / cores() as u64;
    let payload = vec![0; collection.terms.payload()];
    let parts: Vec<Vec<u8>> = thread::scope(|scope| {
        let work = |seed: u64| {
            let (seal, payload) = (&seal, &payload);
            move || {
                let mut rng = generator(seed, 5);
                let one = |_| seal.report(payload, &mut rng).expect("keys that are points");
                (0..share).flat_map(one).collect()
            }
        };
        let workers: Vec<_> = (0..cores() as u64).map(|seed| scope.spawn(work(seed))).collect();
        workers.into_iter().map(|w| w.join().expect("a worker that does not panic")).collect()
    });
    let each = collection.shape().report_bytes();
    for part in &parts {
        for body in part.chunks(each * 1_000) {
            mix.accept(0, body, 0)?;
        }
    }
    let before = resident();
    let start = Instant::now();
    let step = mix.step(collection.schedule.deadline(0), &mut rng)?;
    let time = start.elapsed().as_secs_f64();
    let memory = resident() - before;
    let sealed = mix.outgoing()?.context("the crowd is large enough")?;
    anyhow::ensure!(step == Some(Step::Close { first: 0, last: 0 }), "an epoch that closes");
    let mixed = sealed.manifest.unverified().records;
    Ok(Epoch {
        reports: mixed,
        rate: mixed as f64 / time,
        bytes: each as u64,
        memory: (memory / mixed as f64).max(0.0).round(),
    })
}

fn collection(reports: u64, identities: &[Identity]) -> Result<Collection> {
    let crowd = Crowd::new(reports / 2)?;
    let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
    let ask = Ask::new(Question::Bit, crowd, epsilon, delta).with_reports(reports);
    let party = |i: usize| Party {
        name: format!("party {i}"),
        url: "http://127.0.0.1:1".into(),
        identity: identities[i].public(),
    };
    let lifetime = (epsilon, delta);
    Ok(Collection {
        terms: Terms {
            question: Prompt::new("Does it work?"),
            promise: Promise { epsilon, delta, crowd, corrupt: 0.0, epochs: 1, lifetime },
            mechanism: ask.calibrate(Key::BitSum)?,
        },
        schedule: Schedule { start: 0, every: 3_600, grace: 0, below: Below::Expire },
        chain: Chain { mixes: vec![party(0), party(1)], analyzer: party(2) },
    })
}

/// X25519 agreements a second of one thread.
pub fn agreements(seed: u64) -> f64 {
    let key = AgreementKey::new(&secret(seed)).expect("any 32 bytes are a scalar");
    let point = *secret(seed + 100).public().as_bytes();
    repeat(64, || {
        key.agree([&point; 64], |shared| {
            black_box(shared);
        });
    })
}

/// Fresh X25519 keys a second of one thread.
pub fn fresh_keys(seed: u64) -> f64 {
    let secret = secret(seed);
    repeat(1, || {
        let key = AgreementKey::new(black_box(&secret)).and_then(|key| key.public());
        black_box(key.expect("any 32 bytes are a scalar"));
    })
}

fn secret(seed: u64) -> LayerSecret {
    LayerSecret::generate(&mut generator(seed, 6))
}

/// Bytes of memory that this process holds.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<f64>().ok());
    pages.unwrap_or(0.0) * 4096.0
}

fn round(ratio: f64) -> f64 {
    (ratio * 1_000.0).round() / 1_000.0
}
