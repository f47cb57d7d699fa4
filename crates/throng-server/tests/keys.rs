//! The keys of a window die when it is settled, whatever becomes of other windows and of the next
//! party. What is on the disks is asked, not what the parties say of it.

mod common;

use common::{DRAIN, EVERY, Network, Setup, identity};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use throng_mix::store::{Blob, BlobWriter, Blobs, Scratch, Secrets, Store, StoreError};
use throng_wire::{Below, Manifest, SignedManifest};
use zeroize::Zeroizing;

/// The windows of which a party has keys on its disk.
fn on_disk(network: &Network, hop: u8) -> Vec<u64> {
    let names = network.nodes[usize::from(hop) - 1].store.store().secrets.names().unwrap();
    let window = |name: &String| name.rsplit_once('-').unwrap().1.parse().unwrap();
    let mut windows: Vec<u64> = names.iter().map(window).collect();
    windows.sort_unstable();
    windows
}

/// Lets an epoch pass in which these many report.
fn pass(network: &mut Network, epoch: u64, reports: u8) {
    network.exchange();
    network.upload(epoch, 0..reports);
    network.close(epoch);
    network.run();
}

/// One epoch that was short once kept the keys of all later windows at every later party for as
/// long as late batches are waited for, a week by default.
#[test]
fn one_short_epoch_keeps_no_key_alive() {
    let mut network = Setup { epochs: 8, ..Setup::default() }.network(1);
    for (epoch, reports) in [2, 3, 3, 1, 3, 3].into_iter().enumerate() {
        let epoch = epoch as u64;
        pass(&mut network, epoch, reports);
        network.exchange();
        for hop in 1..=3 {
            // The keys of the running epoch and of the next one.
            let due = network.collection.epoch_at(network.now).unwrap();
            assert_eq!(on_disk(&network, hop), [due, due + 1], "hop {hop} after epoch {epoch}");
        }
    }
    assert_eq!(network.releases().len(), 4);
}

/// A first mix that withholds an epoch keeps the keys of that window alive at the others, since it
/// may still come, and of no other.
#[test]
fn an_epoch_that_is_withheld_keeps_its_own_keys_alone() {
    let mut network = Setup { epochs: 8, ..Setup::default() }.network(2);
    network.upload(0, 0..3);
    network.close(0);
    network.settle(1);
    for epoch in 1..4 {
        network.exchange();
        network.upload(epoch, 0..3);
        network.close(epoch);
        network.settle(1);
        // What waits longest is what the corrupt mix keeps back.
        let waiting = network.mix(1).waiting();
        for first in waiting.into_iter().filter(|first| *first > 0) {
            let outgoing = network.mix(1).outgoing(first).unwrap().unwrap();
            let receipt = network.hand_over(2, &common::wire(outgoing)).unwrap();
            network.mix(1).delivered(first, receipt).unwrap();
        }
        network.settle(2);
        network.deliver(2);
        network.settle(3);
        for hop in [2, 3] {
            let kept = on_disk(&network, hop);
            let settled: Vec<_> = kept.into_iter().filter(|window| *window <= epoch).collect();
            // Keys that nothing came for are kept until the drain is over.
            let waits = network.now < network.collection.schedule.deadline(0) + DRAIN;
            assert_eq!(settled, vec![0; usize::from(waits)], "hop {hop} after epoch {epoch}");
        }
    }
}

/// While the next party is away a batch waits. The keys that opened what it was made of do not.
#[test]
fn a_next_party_that_is_away_keeps_no_key_alive() {
    for (below, window) in [(Below::Expire, 1), (Below::Merge { window: 2 }, 2)] {
        let mut network = Setup { epochs: 4, below, ..Setup::default() }.network(3);
        for epoch in 0..window {
            network.exchange();
            network.upload(epoch, 3 * epoch as u8..3 * epoch as u8 + 3);
            network.close(epoch);
            network.settle(1);
        }
        let settled = |hop| on_disk(&network, hop).into_iter().filter(|w| *w < window).count();
        assert_eq!(network.mix(1).waiting(), (0..window).collect::<Vec<_>>());
        assert_eq!(settled(1), 0, "{below:?}");
        // The later ones wait for it.
        assert!(settled(2) > 0 && settled(3) > 0);
        let blobs = network.nodes[0].store.store().blobs.names().unwrap();
        assert!(blobs.iter().all(|name| !name.contains(".in")), "{blobs:?}");
        // It is resent as it is, and counted.
        network.nodes[0].restart().unwrap();
        network.run();
        assert_eq!(network.releases().len() as u64, window);
        assert!((1..=3).all(|hop| on_disk(&network, hop).iter().all(|other| *other >= window)));
    }
}

/// A corrupt first mix says that an epoch was dropped long before it is over. Nobody takes its word,
/// and no key dies early.
#[test]
fn a_word_that_comes_early_destroys_nothing() {
    let network = Setup::default().network(4);
    let bytes = network.collection.shape().record_bytes(2) as u32;
    let id = network.collection.id();
    for epoch in [0, 1] {
        let word = Manifest::empty(id, epoch..=epoch, 1, bytes, [0; 32]);
        let word = SignedManifest::sign(word, &identity(1)).encode();
        let course = network.nodes[1].role().course();
        for now in [network.now, network.now + EVERY * (epoch + 1) - 21] {
            let taken = common::hand_over(course, &word, now);
            assert!(matches!(taken, Err(throng_mix::Error::Early)), "epoch {epoch} at {now}");
        }
    }
    assert_eq!(on_disk(&network, 2), [0, 1]);
}

/// A batch that its disk had lost once stopped its party for good: every step was that one again, and
/// all later keys were kept.
#[test]
fn a_batch_that_cannot_be_read_holds_up_no_other() {
    for hop in [2, 3] {
        let mut network = Setup { drain: 10 * EVERY, ..Setup::default() }.network(5);
        for epoch in 0..3 {
            network.exchange();
            network.upload(epoch, 0..3);
            network.close(epoch);
            for before in 1..hop {
                network.settle(before);
                network.deliver(before);
            }
            if epoch == 0 {
                let blobs = network.nodes[usize::from(hop) - 1].store.store().blobs;
                let batch = blobs.names().unwrap().into_iter().find(|name| name.contains(".in"));
                blobs.remove(&batch.unwrap()).unwrap();
            }
            let steps = (0..20).map(|_| network.step(hop).map_err(drop));
            // It is tried again when all else is done, and fails again.
            assert_eq!(steps.last(), Some(Err(())));
            let kept = on_disk(&network, hop).into_iter().filter(|window| *window <= epoch);
            assert_eq!(kept.collect::<Vec<_>>(), [0], "hop {hop} after epoch {epoch}");
        }
        if hop == 3 {
            assert_eq!(network.releases().len(), 2);
        } else {
            assert_eq!(network.mix(2).waiting(), [1, 2]);
        }
    }
}

/// A disk that is broken at one place: a secret that cannot be destroyed, or a batch that cannot be
/// removed.
struct Broken<T: ?Sized> {
    disk: Arc<T>,
    broken: Arc<AtomicBool>,
}

impl<T: ?Sized> Broken<T> {
    fn refuse(&self, refused: bool) -> Result<(), StoreError> {
        let broken = refused && self.broken.load(Ordering::Relaxed);
        if broken { Err(StoreError::io("removing")(ErrorKind::Other.into())) } else { Ok(()) }
    }
}

impl Secrets for Broken<dyn Secrets> {
    fn put(&self, name: &str, secret: &[u8]) -> Result<(), StoreError> {
        self.disk.put(name, secret)
    }

    fn get(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        self.disk.get(name)
    }

    fn destroy(&self, name: &str) -> Result<(), StoreError> {
        self.refuse(name.ends_with("-0"))?;
        self.disk.destroy(name)
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        self.disk.names()
    }
}

impl Blobs for Broken<dyn Blobs> {
    fn create(&self, name: &str) -> Result<Box<dyn BlobWriter>, StoreError> {
        self.disk.create(name)
    }

    fn open(&self, name: &str) -> Result<Blob, StoreError> {
        self.disk.open(name)
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        // That of epoch 0, which comes first.
        let first = self.disk.names()?.into_iter().find(|name| name.contains(".in"));
        self.refuse(first.as_deref() == Some(name))?;
        self.disk.remove(name)
    }

    fn names(&self) -> Result<Vec<String>, StoreError> {
        self.disk.names()
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, StoreError> {
        self.disk.scratch()
    }
}

/// A key that its disk would not destroy once kept all later ones alive, and a file that it would not
/// remove did.
#[test]
fn a_disk_that_does_not_remove_one_thing_keeps_no_other_key_alive() {
    for batch in [false, true] {
        let mut network = Setup { drain: 10 * EVERY, ..Setup::default() }.network(6);
        let (broken, node) = (Arc::new(AtomicBool::new(true)), &mut network.nodes[1]);
        let disk = node.store.store();
        let blobs = Arc::new(Broken { disk: disk.blobs.clone(), broken: broken.clone() });
        let secrets = Arc::new(Broken { disk: disk.secrets.clone(), broken: broken.clone() });
        node.disk = Some(if batch { Store { blobs, ..disk } } else { Store { secrets, ..disk } });
        node.restart().unwrap();
        for epoch in 0..3 {
            network.exchange();
            network.upload(epoch, 0..3);
            network.close(epoch);
            network.settle(1);
            network.deliver(1);
            let steps = (0..20).map(|_| network.step(2).map_err(drop));
            assert_eq!(steps.last(), Some(Err(())), "it is told");
            let kept: Vec<_> = on_disk(&network, 2).into_iter().filter(|w| *w <= epoch).collect();
            assert_eq!(kept, [0], "after epoch {epoch}, batch {batch}");
        }
        // Another disk, and all of it goes by itself.
        broken.store(false, Ordering::Relaxed);
        network.run();
        assert!(on_disk(&network, 2).iter().all(|window| *window > 2));
        let left = network.nodes[1].store.store().blobs.names().unwrap();
        assert!(left.iter().all(|name| !name.contains(".in")), "{left:?}");
        assert_eq!(network.releases().len(), 3);
    }
}
