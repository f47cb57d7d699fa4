//! `throng bench seal|mix|shuffle`: what the chain is made of, each beside a limit of the same run.

use super::rate::{all_cores, millions, one_and_all, repeat};
use crate::collection::draft;
use crate::parallel::{cores, generator, on};
use crate::report::{Printable, Report};
use anyhow::{Context, Result};
use chacha20::rand_core::Rng;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use throng_account::show::Near;
use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::{Collection, Terms};
use throng_mechanism::{Ask, Key, Question};
use throng_mix::store::Store;
use throng_mix::{Limits, Mix, Shuffler, Step};
use throng_wire::{
    AgreementKey, Binding, CollectionId, LAYER, LayerPublic, LayerSecret, Opener, Route, Schedule,
    Seal, Shape, example,
};

/// Measures the work of a client: whole reports through two mixes.
pub fn seal() -> Result<Report> {
    let raw = all_cores(agreements);
    let mut rows = Vec::new();
    for messages in [1, 2, 9] {
        let shape = Shape { mixes: 2, messages, payload: 32 };
        let keys: Vec<LayerPublic> = (0..3_u64).map(|hop| secret(hop).public()).collect();
        let seal = Seal::new(&shape, CollectionId::new([1; 32]), 0, 0, &keys)?;
        let payload = vec![0; 32 * messages as usize];
        let (one, all) = one_and_all(|seed| {
            let mut rng = generator(seed, 1);
            repeat(1, || {
                black_box(seal.report(&payload, &mut rng).expect("keys that are points"));
            })
        });
        let layers = all * f64::from(1 + 2 * messages);
        let per_layer = Printable::places(raw / layers, 2);
        rows.push(
            Report::default()
                .line("messages", "messages", messages)
                .line("bytes", "bytes", shape.report_bytes())
                .line("reports_per_second", "reports/s", Printable::places(one, 0))
                .line("reports_per_second_all_cores", "all cores", Printable::places(all, 0))
                .say("layers/s", format!("{layers:.0}"))
                .line("agreements_per_layer", "agreements a layer", per_layer),
        );
    }
    Ok(Report::default().field("agreements_per_second_all_cores", raw).rows("rows", rows).note(
        format!(
            "32-byte messages through two mixes. A layer takes the client a fresh key and an \
             agreement; aws-lc does {raw:.0} agreements a second on all cores in this run."
        ),
    ))
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
    // In turns, so that other work on the machine slows both.
    let (mut raw, mut open) = (0.0_f64, 0.0_f64);
    for _ in 0..5 {
        raw = raw.max(all_cores(agreements));
        open = open.max(repeat(count as u64, || {
            let opening = opener.open_batch(&sealed, len, &mut opened, &mut ok, cores());
            opening.expect("lengths that fit");
        }));
    }
    let (reports, bytes, rate, memory) = whole_epoch()?;
    Ok(Report::default()
        .field("agreements_per_second", raw)
        .line("opens_per_second", "layers opened a second, all cores", Near(open.round()))
        .line("open_over_agreement", "over agreements of the same library", ratio(open, raw))
        .line("mixed_per_second", "reports a second, from log to sealed batch", Near(rate.round()))
        .line("mix_over_open", "over layers opened", ratio(rate, open))
        .line("bytes_per_report", "bytes of a report on the wire", bytes)
        .line("memory_per_million", "MB of memory per million reports while mixing", Near(memory))
        .note(format!(
            "aws-lc does {raw:.0} X25519 agreements a second on all cores in this run, which \
             bounds opening. An epoch of {reports} reports was read from disk, freed of copies, \
             opened, permuted, written and signed; reports that wait for their deadline take disk, \
             not memory."
        )))
}

/// Measures permuting, in memory and on disk.
pub fn shuffle() -> Result<Report> {
    let mut rows = Vec::new();
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
        let disk = millions(shuffled(bag.len() / 8)?);
        rows.push(
            Report::default()
                .field("records", records)
                .field("bytes", size)
                .say("records", format!("{records} x {size} B"))
                .line("memcpy_per_second", "M/s copied", millions(memcpy))
                .line("shuffled_per_second", "M/s permuted", millions(memory))
                .line("over_memcpy", "ratio", Printable::places(memory / memcpy, 3))
                .line("on_disk_per_second", "M/s on disk, in an eighth of the memory", disk),
        );
    }
    Ok(Report::default().rows("rows", rows))
}

/// One epoch at the first mix: reports, bytes of each, reports a second, bytes of memory for each.
fn whole_epoch() -> Result<(u64, usize, f64, f64)> {
    let reports = 40_000_u64;
    let collection = Collection {
        terms: terms(reports)?,
        schedule: Schedule { start: 0, ..example::schedule() },
        chain: example::chain_through(&["north", "south"]),
    };
    let directory = tempfile::tempdir()?;
    let store = Store::on_disk(directory.path())?;
    let mut rng = generator(0, 4);
    let route = Arc::new(Route::from(&collection));
    let [identity, _] = example::identities();
    let mix = Mix::open(store, route, identity, Limits::default())?;
    mix.course.keyring.publish(0, &mut rng)?;
    let first = mix.course.keyring.statement(0)?.key;
    let keys = [first, secret(1).public(), secret(2).public()];
    let seal = Seal::new(&collection.shape(), collection.id(), 0, 0, &keys)?;
    eprintln!("sealing {reports} reports");
    let share = reports / cores() as u64;
    let payload = vec![0; collection.terms.payload()];
    let parts: Vec<Vec<u8>> = on(cores(), |seed| {
        let mut rng = generator(seed, 5);
        let one = |_| seal.report(&payload, &mut rng).expect("keys that are points");
        (0..share).flat_map(one).collect()
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
    let sealed = mix.outgoing(0)?.context("the crowd is large enough")?;
    anyhow::ensure!(step == Some(Step::Close { first: 0, last: 0 }), "an epoch that closes");
    let mixed = sealed.manifest.unverified().records;
    Ok((mixed, each, mixed as f64 / time, (memory / mixed as f64).max(0.0).round()))
}

/// A count among `reports` users, of whom half are counted on, made once.
pub fn terms(reports: u64) -> Result<Terms> {
    let (epsilon, delta, crowd) = (Epsilon::new(1.0)?, Delta::new(1e-6)?, Crowd::new(reports / 2)?);
    let ask = Ask::new(Question::Bit, crowd, epsilon, delta).with_reports(reports);
    draft(&ask, ask.calibrate(Key::BitSum)?, 0.0)
}

/// X25519 agreements a second of one thread.
pub fn agreements(seed: u64) -> f64 {
    let key = AgreementKey::new(&secret(seed)).expect("any 32 bytes are a scalar");
    let point = secret(seed + 100).public().0;
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

/// A measured number over another, to a thousandth.
pub fn ratio(number: f64, over: f64) -> Near {
    Near((number / over * 1_000.0).round() / 1_000.0)
}
