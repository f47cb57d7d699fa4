//! Attacks, one test each, and the answers to them. The parties that are not under attack are real;
//! the attacker holds the keys and signs with the identity of whoever cheats.

mod common;
#[path = "attacks/dropouts.rs"]
mod dropouts;
#[path = "attacks/probing.rs"]
mod probing;

use common::{EVERY, Network, START, Setup, identity, wire};
use serde_json::Value;
use std::sync::Arc;
use throng_account::{Crowd, Probability, Threshold};
use throng_mechanism::{BinaryResponse, Mechanism};
use throng_mix::Error;
use throng_mix::simulated::MemoryStore;
use throng_mix::store::{Change, RowKey, Store, Table};
use throng_mix::{Intake, Mix, STEP, Slot, Stage, Why};
use throng_wire::{
    BatchId, Below, Binding, CollectionId, KeyStatement, LAYER, Layer, LayerSecret, Loss, Manifest,
    Opener, Receipt, RecordDigest, Route, Seal, SignedDirectory, SignedManifest, hex,
};

// Replays.

#[test]
fn a_report_that_is_sent_again_is_counted_once() {
    let mut network = Setup::default().network(1);
    let sent = network.upload(0, 0..3);
    // In one body, in another one, and after a restart.
    network.mix(1).accept(0, &[&sent[0][..], &sent[0]].concat(), network.now).unwrap();
    network.mix(1).accept(0, &sent[1], network.now).unwrap();
    network.nodes[0].restart().unwrap();
    network.mix(1).accept(0, &sent[2], network.now).unwrap();
    network.close(0);
    network.run();
    assert_eq!(network.counted(), [once(0..3)]);
    assert_told(&releases(&network)[0], &[(4, 0), (0, 0), (0, 0)]);
}

#[test]
fn replays_do_not_make_a_crowd() {
    let mut network = Setup::default().network(2);
    let sent = network.upload(0, 0..2);
    network.mix(1).accept(0, &sent.concat(), network.now).unwrap();
    network.close(0);
    network.run();
    assert_eq!(dropped(&network, 1), [(0, Why::Short, 2)]);
    assert!(network.counted().is_empty());
}

#[test]
fn a_mix_that_repeats_a_record_gains_nothing() {
    for hop in [2, 3] {
        let mut network = Setup::default().network(3);
        let mut records = onions(&mut network, hop, 0, 0..3);
        records.extend([records[1].clone(), records[1].clone()]);
        let batch = forged(&network, hop - 1, (0, 0), &records);
        network.hand_over(hop, &batch).unwrap();
        network.run();
        assert_eq!(network.counted(), [once(0..3)]);
        let losses = [1, 2, 3].map(|h| if h == hop { (2, 0) } else { (0, 0) });
        assert_told(&releases(&network)[0], &losses);
    }
}

/// A window's batches may come in any order, and the last epoch's first: none of them holds what
/// another one held.
#[test]
fn a_record_is_not_counted_again_in_another_batch_of_its_window() {
    let setup = Setup { below: Below::Merge { window: 3 }, ..Setup::default() };
    for hop in [2, 3] {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let mut network = setup.network(4);
            let records = onions(&mut network, hop, 0, 0..4);
            let more = onions(&mut network, hop, 0, 4..7);
            for (place, epoch) in order.into_iter().enumerate() {
                let all = [&records[..], if place == 1 { &more } else { &[] }].concat();
                let batch = forged(&network, hop - 1, (epoch, epoch), &all);
                network.hand_over(hop, &batch).unwrap();
                network.run();
                network.nodes[usize::from(hop) - 1].restart().unwrap();
            }
            let mut counted = network.counted();
            counted.sort();
            assert_eq!(counted, [once(0..4), once(4..7)], "hop {hop}, order {order:?}");
            assert_eq!(dropped(&network, hop), [(order[2], Why::Short, 0)]);
        }
    }
}

#[test]
fn a_report_of_an_earlier_epoch_does_not_open_in_a_later_one() {
    for below in [Below::Expire, Below::Merge { window: 2 }] {
        let mut network = Setup { below, ..Setup::default() }.network(5);
        let old = network.upload(0, 0..3);
        network.close(0);
        network.run();
        network.exchange();
        network.upload(1, 10..13);
        network.mix(1).accept(1, &old.concat(), network.now).unwrap();
        network.close(1);
        network.run();
        assert_eq!(network.counted(), [once(0..3), once(10..13)]);
        assert_told(&releases(&network)[1], &[(0, 3), (0, 0), (0, 0)]);
    }
}

// Altered, foreign and senseless bytes.

#[test]
fn a_bit_turned_over_anywhere_spoils_one_record_and_no_other() {
    for hop in 1..=3 {
        let mut network = Setup::default().network(6);
        let records = onions(&mut network, hop, 0, 0..3);
        // One copy for every byte, ahead of the original.
        let mut altered: Vec<Vec<u8>> = (0..records[1].len()).map(|_| records[1].clone()).collect();
        for (place, record) in altered.iter_mut().enumerate() {
            record[place] ^= 1 << (place % 8);
        }
        let copies = altered.len() as u64;
        let all = [altered, records].concat();
        if hop == 1 {
            network.mix(1).accept(0, &all.concat(), network.now).unwrap();
            network.close(0);
        } else {
            network.hand_over(hop, &forged(&network, hop - 1, (0, 0), &all)).unwrap();
        }
        network.run();
        assert_eq!(network.counted(), [once(0..3)], "hop {hop}");
        let losses = [1, 2, 3].map(|h| (0, if h == hop { copies } else { 0 }));
        assert_told(&releases(&network)[0], &losses);
    }
}

/// If copies were known by less than all their bytes, whoever saw a report could have it dropped.
#[test]
fn an_altered_copy_that_comes_first_does_not_drop_the_original() {
    let mut network = Setup::default().network(7);
    let report = network.seal(0, &[9]);
    let mut copy = report.clone();
    *copy.last_mut().unwrap() ^= 1;
    network.mix(1).accept(0, &copy, network.now).unwrap();
    network.mix(1).accept(0, &report, network.now).unwrap();
    network.upload(0, 0..2);
    network.close(0);
    network.run();
    assert_eq!(network.counted(), [once([0, 1, 9])]);
}

#[test]
fn what_is_sealed_for_another_collection_epoch_or_hop_is_dropped() {
    let mut network = Setup::default().network(8);
    let (shape, id, keys) = (network.collection.shape(), network.collection.id(), network.keys(0));
    let mut turned = keys.clone();
    turned.rotate_left(1);
    let mut foreign = Vec::new();
    for (collection, epoch, window, keys) in [
        (CollectionId::new([1; 32]), 0, 0, &keys),
        (id, 1, 0, &keys),
        (id, 0, 1, &keys),
        (id, 0, 0, &turned),
    ] {
        let seal = Seal::new(&shape, collection, epoch, window, keys).unwrap();
        foreign.extend(seal.report(&[7], &mut network.rng).unwrap());
    }
    network.mix(1).accept(0, &foreign, network.now).unwrap();
    network.upload(0, 0..3);
    network.close(0);
    network.run();
    assert_eq!(network.counted(), [once(0..3)]);
    // Another window opens at the first mix, which binds the epoch, and not at the second.
    assert_told(&releases(&network)[0], &[(0, 3), (0, 1), (0, 0)]);
}

#[test]
fn a_point_of_small_order_spoils_its_own_record_alone() {
    for hop in 1..=3 {
        let mut network = Setup::default().network(9);
        let mut records = onions(&mut network, hop, 0, 0..5);
        records[0][..32].fill(0);
        records[3][..32].fill(0);
        records[3][0] = 1;
        if hop == 1 {
            network.mix(1).accept(0, &records.concat(), network.now).unwrap();
            network.close(0);
        } else {
            network.hand_over(hop, &forged(&network, hop - 1, (0, 0), &records)).unwrap();
        }
        network.run();
        assert_eq!(network.counted(), [once([1, 2, 4])], "hop {hop}");
    }
}

#[test]
fn bodies_that_are_not_whole_reports_are_refused_whole() {
    let mut network = Setup::default().network(10);
    let report = network.seal(0, &[1]);
    let mut long = report.clone();
    long.push(0);
    let short = &report[..report.len() - 1];
    for body in [&[][..], short, &long, &[&report, short].concat()] {
        let refused = network.mix(1).accept(0, body, network.now);
        assert!(matches!(refused, Err(Error::Length)));
    }
    network.close(0);
    network.run();
    assert_eq!(dropped(&network, 1), [(0, Why::Short, 0)], "nothing of them was taken");
}

#[test]
fn a_batch_with_more_or_fewer_bytes_than_signed_is_not_taken() {
    let mut network = Setup::default().network(11);
    let records = onions(&mut network, 2, 0, 0..3);
    let batch = forged(&network, 1, (0, 0), &records);
    let longer = [&batch[..], &records[0]].concat();
    let mut other = batch.clone();
    *other.last_mut().unwrap() ^= 1;
    let whole = batch.len();
    for batch in [&batch[..whole - 1], &batch[..whole - records[0].len()], &longer, &other] {
        assert!(matches!(network.hand_over(2, batch), Err(Error::Batch(_))));
        assert!(network.mix(2).course.slots().is_empty());
    }
    network.hand_over(2, &batch).unwrap();
}

#[test]
fn a_layer_around_noise_is_lost_at_the_hop_that_finds_it() {
    let mut network = Setup::default().network(12);
    let keys = network.keys(0);
    let inside = vec![5; network.collection.shape().report_bytes() - LAYER];
    let binding =
        Binding { collection: network.collection.id(), epoch: 0, hop: 1, analyzer: false };
    let layer = Layer::new(&keys[0], &binding).unwrap();
    let hollow = layer.seal(&inside, &mut network.rng).unwrap();
    network.mix(1).accept(0, &hollow, network.now).unwrap();
    network.upload(0, 0..2);
    network.close(0);
    network.run();
    // A crowd of three for the first mix, of two for the second.
    assert_eq!(dropped(&network, 2), [(0, Why::Short, 2)]);
    assert!(network.counted().is_empty());
}

#[test]
fn messages_that_no_client_sends_hide_nobody() {
    let mut network = Setup::default().network(13);
    network.upload(0, [0, 1, 250, 255]);
    network.close(0);
    network.run();
    assert_eq!(dropped(&network, 3), [(0, Why::Short, 2)]);
    assert!(network.counted().is_empty());
}

// Crowds.

#[test]
fn a_crowd_that_is_one_short_is_never_released() {
    for below in [Below::Expire, Below::Merge { window: 2 }] {
        let mut network = Setup { below, epochs: 2, ..Setup::default() }.network(14);
        network.upload(0, 0..2);
        for epoch in 0..2 {
            network.close(epoch);
            network.run();
        }
        assert!(network.counted().is_empty());
        assert!(network.mix(1).waiting().is_empty());
        // Nothing left the first mix but the word that there were too few, and no number.
        for slot in network.mix(2).course.slots() {
            assert_eq!(slot.stage, Stage::Dropped { why: Why::Short, reports: 0 });
        }
        for hop in [2, 3] {
            let course = network.nodes[hop - 1].role().course();
            let words = course.store.rows.under(Table::Taken, &RowKey::all(course.id)).unwrap();
            assert!(!words.is_empty());
            for (_, word) in words {
                let signed = SignedManifest::decode(&word).unwrap();
                let manifest = signed.unverified();
                assert!(manifest.is_empty());
                assert!(manifest.losses.iter().all(|loss| *loss == Loss::default()));
            }
        }
    }
}

/// A corrupt mix says that an epoch had too few reports, and hands over another batch for it later:
/// it has signed for both, and the second is refused and kept.
#[test]
fn a_mix_cannot_take_back_that_an_epoch_was_short() {
    let mut network = Setup::default().network(15);
    network.upload(0, 0..1);
    network.close(0);
    network.run();
    let records = vec![vec![7; network.collection.shape().record_bytes(2)]; 3];
    let manifest = manifest(&network, 1, (0, 0), &records);
    let signed = SignedManifest::sign(manifest, &identity(1));
    let course = network.nodes[1].role().course();
    assert!(matches!(course.receive(signed.clone(), network.now), Err(Error::Conflict)));
    let kept = |table| course.store.rows.under(table, &RowKey::all(course.id)).unwrap();
    assert_eq!(kept(Table::Accused)[0].1, signed.encode());
    assert!(SignedManifest::decode(&kept(Table::Taken)[0].1).unwrap().unverified().is_empty());
}

/// All but one of the reports are the attacker's own. The claim is for the share of them that the
/// collection says may be corrupt, and not for all.
#[test]
fn a_flooded_crowd_is_credited_with_its_honest_share_only() {
    let setup = Setup { crowd: 10, corrupt: 0.5, ..Setup::default() };
    let mut network = setup.network(15);
    assert_eq!(network.collection.quorum(), 20);
    network.upload(0, 0..25);
    network.close(0);
    network.run();
    let privacy = &releases(&network)[0]["privacy"];
    assert_eq!(privacy["honest"], Crowd::honest(25, 0.5).unwrap().get());
    assert_eq!(privacy["honest"], 12);
    assert!(number(&privacy["epsilon"]) > number(&privacy["epsilon_if_all_honest"]));

    // As many reports as would do if nobody were corrupt.
    let mut network = setup.network(16);
    network.upload(0, 0..19);
    network.close(0);
    network.run();
    assert!(network.counted().is_empty());
    assert_eq!(dropped(&network, 1), [(0, Why::Short, 19)]);
}

#[test]
fn a_report_that_is_held_back_is_refused_and_never_mixed_into_another_epoch() {
    for below in [Below::Expire, Below::Merge { window: 2 }] {
        let mut network = Setup { below, ..Setup::default() }.network(17);
        let victim = network.seal(0, &[99]);
        network.upload(0, 0..3);
        network.close(0);
        let late = network.mix(1).accept(0, &victim, network.now);
        assert!(matches!(late, Err(Error::EpochClosed)), "before the epoch is counted");
        network.run();
        assert!(network.mix(1).accept(0, &victim, network.now).is_err());
        // The attacker sets the clock back.
        assert!(network.mix(1).accept(0, &victim, START).is_err());
        network.exchange();
        network.mix(1).accept(1, &victim, network.now).unwrap();
        network.upload(1, 10..13);
        network.close(1);
        network.run();
        assert_eq!(network.counted(), [once(0..3), once(10..13)]);
    }
}

#[test]
fn reports_are_not_taken_before_their_epoch() {
    let mut network = Setup::default().network(18);
    let early = network.seal(1, &[1]);
    assert!(matches!(network.mix(1).accept(1, &early, network.now), Err(Error::EpochClosed)));
}

// Mixes that cheat.

#[test]
fn two_batches_for_the_same_epochs_are_a_conflict() {
    let setup = Setup { below: Below::Merge { window: 3 }, epochs: 3, ..Setup::default() };
    for hop in [2, 3] {
        let mut network = setup.network(19);
        let records = onions(&mut network, hop, 0, 0..3);
        let others = onions(&mut network, hop, 0, 3..6);
        network.hand_over(hop, &forged(&network, hop - 1, (1, 1), &records)).unwrap();
        for settled in [false, true] {
            for range in [(1, 1), (0, 1), (1, 2), (0, 2)] {
                let batch = forged(&network, hop - 1, range, &others);
                assert!(matches!(network.hand_over(hop, &batch), Err(Error::Conflict)));
            }
            // The same records in another order are another batch.
            let mut turned = records.clone();
            turned.reverse();
            let batch = forged(&network, hop - 1, (1, 1), &turned);
            assert!(matches!(network.hand_over(hop, &batch), Err(Error::Conflict)));
            if !settled {
                network.run();
                network.nodes[usize::from(hop) - 1].restart().unwrap();
            }
        }
        assert_eq!(network.counted(), [once(0..3)]);
        let blobs = network.nodes[usize::from(hop) - 1].store.store().blobs.names().unwrap();
        assert!(!blobs.iter().any(|name| name.contains(".in")), "nothing of them is kept");
    }
}

#[test]
fn a_batch_that_comes_twice_gets_the_same_receipt_whatever_became_of_it() {
    for hop in [2, 3] {
        let mut network = Setup::default().network(20);
        let records = onions(&mut network, hop, 0, 0..3);
        let batch = forged(&network, hop - 1, (0, 0), &records);
        let receipt = network.hand_over(hop, &batch).unwrap();
        assert_eq!(network.hand_over(hop, &batch).unwrap(), receipt);
        network.run();
        assert_eq!(network.hand_over(hop, &batch).unwrap(), receipt);
        network.nodes[usize::from(hop) - 1].restart().unwrap();
        assert_eq!(network.hand_over(hop, &batch).unwrap(), receipt);
        network.run();
        assert_eq!(network.counted(), [once(0..3)]);
    }
}

/// Both uploads are under way before one of them ends, and the other one ends when all is over.
#[test]
fn a_copy_that_ends_late_leaves_nothing_behind() {
    let mut network = Setup::default().network(21);
    let records = onions(&mut network, 3, 0, 0..3);
    let batch = forged(&network, 2, (0, 0), &records);
    let length = SignedManifest::length(&batch).unwrap();
    let signed = SignedManifest::decode(&batch[..length]).unwrap();
    let Intake::New(mut slow) =
        network.analyzer().course.receive(signed, network.collection.schedule.deadline(0)).unwrap()
    else {
        panic!("nothing came yet");
    };
    let receipt = network.hand_over(3, &batch).unwrap();
    network.run();
    slow.write(&batch[length..]).unwrap();
    assert_eq!(network.analyzer().course.keep(slow).unwrap(), receipt);
    network.run();
    assert_eq!(network.counted(), [once(0..3)]);
    let blobs = network.nodes[2].store.store().blobs.names().unwrap();
    assert!(!blobs.iter().any(|name| name.contains(".in")));
}

#[test]
fn a_mix_that_drops_reports_below_the_crowd_stops_the_release() {
    let mut network = Setup::default().network(22);
    let records = onions(&mut network, 3, 0, 0..3);
    network.hand_over(3, &forged(&network, 2, (0, 0), &records[..2])).unwrap();
    network.run();
    assert_eq!(dropped(&network, 3), [(0, Why::Short, 2)]);
    assert!(network.counted().is_empty());
}

#[test]
fn a_mix_that_replaces_reports_by_bytes_that_do_not_open_is_seen_in_the_counts() {
    let mut network = Setup::default().network(23);
    let mut records = onions(&mut network, 3, 0, 0..203);
    for (place, record) in records[..200].iter_mut().enumerate() {
        record.fill(place as u8);
    }
    network.hand_over(3, &forged(&network, 2, (0, 0), &records)).unwrap();
    network.run();
    assert_eq!(network.counted(), [once(200..203)]);
    // Whole hundreds are told as they are.
    assert_eq!(losses(&releases(&network)[0]), [(0, 0), (0, 0), (0, 200)]);
}

/// Anybody can seal reports to keys that everybody knows. The first mix throws all reports away but
/// the victim's and fills the crowd up with its own; the second one is honest, permutes them and
/// counts nothing missing. What the analyzer sees less what the mix put in is the victim's report.
/// It is as private as its local floor, not as the release says, and the release names the
/// condition that was broken.
#[test]
fn a_first_mix_that_fills_up_with_reports_of_its_own_reads_the_last_one() {
    for said in [7, 8] {
        let mut network = Setup { crowd: 10, ..Setup::default() }.network(40);
        let victim = onions(&mut network, 2, 0, [said]);
        let own: Vec<u8> = (0..9).map(|place| place % 3).collect();
        let records = [victim, onions(&mut network, 2, 0, own.clone())].concat();
        network.hand_over(2, &forged(&network, 1, (0, 0), &records)).unwrap();
        network.run();
        read_behind_an_honest_mix(&network, &own, said);
    }
}

/// The same without a corrupt mix: the attacker is all other clients. Every epoch anew.
#[test]
fn a_crowd_of_one_client_and_the_attackers_many_shows_the_one() {
    let mut network = Setup { crowd: 10, ..Setup::default() }.network(41);
    let own: Vec<u8> = (0..9).map(|place| place % 3).collect();
    let all: Vec<Vec<u8>> =
        own.iter().chain(&[7]).map(|message| network.seal(0, &[*message])).collect();
    network.mix(1).accept(0, &all.concat(), network.now).unwrap();
    network.close(0);
    network.run();
    read_behind_an_honest_mix(&network, &own, 7);
}

/// One release went out, which claims its epsilon for the whole crowd; without what the attacker
/// put in, one message is left; and the condition of the release is that there were fewer of those.
fn read_behind_an_honest_mix(network: &Network, own: &[u8], said: u8) {
    let mut left: Vec<u8> = network.counted()[0]
        .iter()
        .flat_map(|&(message, times)| std::iter::repeat_n(message, times as usize))
        .collect();
    for message in own {
        left.remove(left.iter().position(|one| one == message).unwrap());
    }
    assert_eq!(left, [said]);
    let release = &releases(network)[0];
    assert_eq!(losses(release), [(0, 0), (0, 0), (0, 0)], "nothing is seen in the counts");
    let privacy = &release["privacy"];
    assert_eq!(privacy["honest"], 10);
    assert_eq!(privacy["corrupt"], 0.0);
    assert!(number(&privacy["local_floor"]) > number(&privacy["epsilon"]));
    let condition = privacy["holds_if"].as_str().unwrap();
    for part in [
        "the first mix is honest, or a later one is and those before it put in no reports of their \
         own beyond the corrupt fraction",
        "no more than the corrupt fraction of the reports that the honest mix let through",
        "whoever put them there, people or mixes",
    ] {
        assert!(condition.contains(part), "{part} is not in {condition}");
    }
}

#[test]
fn a_batch_of_a_stranger_or_for_another_place_is_not_taken() {
    let mut network = Setup::default().network(24);
    let records = onions(&mut network, 2, 0, 0..3);
    let manifest = manifest(&network, 1, (0, 0), &records);
    let try_with = |change: &dyn Fn(&mut Manifest), signer: u8, to: u8| {
        let mut manifest = manifest.clone();
        change(&mut manifest);
        let signed = SignedManifest::sign(manifest, &identity(signer));
        network.hand_over(to, &[signed.encode(), records.concat()].concat())
    };
    let same = |_: &mut Manifest| {};
    assert!(matches!(try_with(&same, 9, 2), Err(Error::Batch(_))), "a stranger");
    assert!(matches!(try_with(&same, 3, 2), Err(Error::Batch(_))), "the analyzer");
    assert!(matches!(try_with(&same, 1, 3), Err(Error::Batch(_))), "past a mix");
    assert!(matches!(try_with(&same, 1, 1), Err(Error::WrongPlace)), "to the first mix");
    let other = |m: &mut Manifest| m.collection = CollectionId::new([0; 32]);
    assert!(matches!(try_with(&other, 1, 2), Err(Error::UnknownCollection)));
    for hops in [2, 3, 255] {
        let hop = |m: &mut Manifest| m.losses = vec![Loss::default(); hops];
        assert!(matches!(try_with(&hop, 1, 2), Err(Error::Batch(_))), "made at hop {hops}");
    }
    let length = |m: &mut Manifest| m.record_bytes -= 1;
    assert!(matches!(try_with(&length, 1, 2), Err(Error::Batch(_))));
    for last in [1, 4, u64::MAX] {
        let range = |m: &mut Manifest| m.last = last;
        assert!(matches!(try_with(&range, 1, 2), Err(Error::Batch(_))), "to epoch {last}");
    }
    let huge = |m: &mut Manifest| m.records = 1 << 50;
    assert!(matches!(try_with(&huge, 1, 2), Err(Error::TooLarge)));
    assert!(network.mix(2).course.slots().is_empty());
    assert!(try_with(&same, 1, 2).is_ok());
}

#[test]
fn a_receipt_counts_for_its_batch_from_its_party_only() {
    let mut network = Setup::default().network(25);
    network.upload(0, 0..3);
    network.close(0);
    network.settle(1);
    let batch = wire(network.mix(1).outgoing(0).unwrap().unwrap());
    let length = SignedManifest::length(&batch).unwrap();
    let id = SignedManifest::decode(&batch[..length]).unwrap().unverified().id();
    for forged in [
        Receipt::sign(id, 2, &identity(1)),
        Receipt::sign(id, 3, &identity(2)),
        Receipt::sign(BatchId([0; 32]), 2, &identity(2)),
    ] {
        assert!(network.mix(1).delivered(0, forged).is_err());
        assert!(network.mix(1).outgoing(0).unwrap().is_some());
    }
    network.run();
    assert_eq!(network.counted(), [once(0..3)]);
}

// Liars.

/// Counts the same honest reports with c liars who all say 0 and with c liars who all say 1.
#[test]
fn liars_move_a_count_by_no_more_than_their_influence() {
    let flip = Threshold::at_least(Probability::new("flip", 0.25).unwrap());
    let mechanism = Mechanism::BitSum(BinaryResponse::new(flip).unwrap());
    let setup = Setup { crowd: 20, corrupt: 0.2, mechanism, ..Setup::default() };
    let liars = 6;
    let outcome = |lie: u8| {
        let mut network = setup.network(26);
        network.upload(0, (0..24).map(|i| i % 2));
        network.upload(0, (0..liars).map(|_| lie));
        network.close(0);
        network.run();
        releases(&network).remove(0)
    };
    let (low, high) = (outcome(0), outcome(1));
    let value = |release: &Value| number(&release["estimates"][0]["value"]);
    let moved = value(&high) - value(&low);
    let influence = &high["influence"];
    let bound = f64::from(liars) * number(&influence["of_one"]);
    assert!(moved > 0.0 && moved <= bound * (1.0 + 1e-12), "{moved} of {bound}");
    // One report moves the estimate by 1/(1 − 2·¼).
    assert!((moved - 12.0).abs() < 1e-9);
    assert_eq!(influence["corrupt"], 6.0);
    assert!(moved <= number(&influence["of_all_corrupt"]) * (1.0 + 1e-12));
}

// Keys.

#[test]
fn a_directory_without_everybodys_signature_is_refused() {
    let network = Setup::default().network(27);
    let (collection, directory) = (&network.collection, network.directory(0).unwrap());
    let parties: Vec<_> = collection.chain.parties().map(|(_, p)| p.identity).collect();
    let verifies = |signers: &[u8]| {
        let signatures = signers.iter().map(|hop| directory.cosign(&identity(*hop))).collect();
        let signed = SignedDirectory::new(directory.clone(), signatures);
        signed.verify(&collection.id(), 0, &parties).is_ok()
    };
    assert!(verifies(&[1, 2, 3]));
    for signers in [&[1, 2][..], &[1, 2, 2], &[2, 1, 3], &[1, 2, 3, 3], &[9, 2, 3], &[]] {
        assert!(!verifies(signers), "{signers:?}");
    }
}

/// A party that tells one person another key than everybody else would know that person's reports.
#[test]
fn a_second_key_for_a_window_is_not_heard_and_no_second_directory_is_signed() {
    let mut network = Setup::default().network(28);
    let id = network.collection.id();
    let before = network.directory(0).unwrap();
    let signature = network.mix(1).course.keyring.cosignature(0).unwrap();
    for _ in 0..2 {
        let other = LayerSecret::generate(&mut network.rng).public();
        let statement = KeyStatement::sign(id, 0, 2, other, &identity(2));
        network.mix(1).course.keyring.learn(2, &statement).unwrap();
        assert_eq!(network.mix(1).course.keyring.cosignature(0).unwrap(), signature);
        network.nodes[0].restart().unwrap();
    }
    let restarted = &network.mix(1).course.keyring;
    assert!(restarted.directory(0).is_err(), "others' signatures are asked for again");
    for hop in [2, 3] {
        restarted.collect(hop, 0, &before.cosign(&identity(hop))).unwrap();
    }
    assert_eq!(network.directory(0).unwrap(), before);

    // Somebody else's statement, or one for a window that has no keys here, is nothing.
    let other = LayerSecret::generate(&mut network.rng).public();
    let keyring = &network.mix(1).course.keyring;
    let forged = KeyStatement::sign(id, 0, 2, other, &identity(3));
    assert!(keyring.learn(2, &forged).is_err());
    let far = KeyStatement::sign(id, 3, 2, other, &identity(2));
    assert!(matches!(keyring.learn(2, &far), Err(Error::NoKeys)));
}

#[test]
fn a_signature_of_another_directory_is_not_collected() {
    let network = Setup::default().network(29);
    let mut directory = network.directory(0).unwrap();
    directory.keys.swap(0, 1);
    let foreign = directory.cosign(&identity(2));
    assert!(network.mix(1).course.keyring.collect(2, 0, &foreign).is_err());
}

/// Looks at everything that the first mix has on a real disk.
#[test]
fn after_its_window_is_destroyed_no_key_is_left_that_opens_a_captured_report() {
    let setup = Setup { mixes: 1, epochs: 1, ..Setup::default() };
    let mut network = setup.network(30);
    let directory = tempfile::tempdir().unwrap();
    let store = Store::on_disk(directory.path()).unwrap();
    let collection = network.collection.clone();
    let route = Arc::new(Route::from(&*collection));
    let mix = Mix::open(store.clone(), route, identity(1), common::limits()).unwrap();
    mix.course.keyring.publish(network.now, &mut network.rng).unwrap();
    let secret = mix.course.keyring.secret(0).unwrap();
    let analyzer_key = network.keys(0)[1];
    let keys = [secret.public(), analyzer_key];
    let captured: Vec<_> = (0..3).map(|id| network.seal_to(0, &[id], &keys)).collect();
    mix.accept(0, &captured.concat(), network.now).unwrap();

    let opens = |secret: &LayerSecret| {
        let binding = Binding { collection: collection.id(), epoch: 0, hop: 1, analyzer: false };
        let mut opened = vec![0; captured[0].len() - LAYER];
        Opener::new(secret, &binding).unwrap().open(&captured[0], &mut opened).is_ok()
    };
    assert!(opens(&secret));
    let on_disk = || -> Vec<Vec<u8>> { files(directory.path()) };
    let holds = |needle: &[u8]| on_disk().iter().any(|file| contains(file, needle));
    assert!(holds(secret.as_bytes()), "until then it is there");
    assert!(!holds(&captured[0]), "not even sealed reports are on disk as they came");

    network.close(0);
    let step = || mix.step(collection.schedule.deadline(0), &mut common::generator(31)).unwrap();
    while step().is_some() {}
    let outgoing = mix.outgoing(0).unwrap().unwrap();
    let receipt = Receipt::sign(outgoing.manifest.unverified().id(), 2, &identity(2));
    mix.delivered(0, receipt).unwrap();
    while step().is_some() {}
    assert!(mix.course.keyring.secret(0).is_none());
    assert_eq!(store.secrets.names().unwrap().len(), 0);
    assert!(!holds(secret.as_bytes()) && !holds(hex(secret.as_bytes()).as_bytes()));
    assert!(!holds(&captured[0]) && !holds(&captured[0][..32]));
    // Nor does a window that is destroyed get keys again.
    mix.course.keyring.publish(START, &mut network.rng).unwrap();
    assert!(mix.course.keyring.secret(0).is_none());
}

#[test]
fn when_all_is_over_no_party_has_a_key_a_batch_or_a_log() {
    let mut network = Setup { epochs: 1, ..Setup::default() }.network(32);
    let sent = network.upload(0, 0..3);
    let secrets: Vec<LayerSecret> =
        network.nodes.iter().map(|node| node.role().keyring().secret(0).unwrap()).collect();
    network.close(0);
    network.run();
    assert_eq!(network.counted(), [once(0..3)]);
    for (node, secret) in network.nodes.iter().zip(&secrets) {
        assert!(node.store.store().secrets.names().unwrap().is_empty());
        for bytes in all_bytes(&node.store) {
            assert!(!contains(&bytes, secret.as_bytes()));
            assert!(!contains(&bytes, hex(secret.as_bytes()).as_bytes()));
            assert!(!contains(&bytes, &sent[0][..32]));
        }
    }
    assert!(network.mix(1).accept(0, &sent[0], START).is_err());
    assert!(matches!(network.mix(1).course.keyring.statement(0), Err(Error::KeysDestroyed)));
}

/// The keys of a party are destroyed while the batch of the mix before waits: the batch is given
/// up, which the mix says, and holds up nothing.
#[test]
fn a_batch_that_comes_too_late_is_refused_and_given_up() {
    let mut network = Setup { mixes: 1, epochs: 2, ..Setup::default() }.network(33);
    network.upload(0, 0..3);
    network.now = START + EVERY;
    network.exchange();
    network.upload(1, 10..13);
    network.close(0);
    network.settle(1);
    assert_eq!(network.mix(1).waiting(), [0]);
    let waiting = network.mix(1).outgoing(0).unwrap().unwrap();
    network.now = network.collection.schedule.deadline(0) + common::DRAIN;
    network.settle(2);
    assert!(matches!(network.hand_over(2, &wire(waiting)), Err(Error::KeysDestroyed)));
    network.close(1);
    network.run();
    assert_eq!(dropped(&network, 1), [(0, Why::Keys, 3)]);
    assert_eq!(network.counted(), [once(10..13)]);
}

// Budgets.

#[test]
fn releases_stop_when_the_lifetime_is_spent() {
    let mut network = Setup { lifetime: 12.0, ..Setup::default() }.network(34);
    for epoch in 0..4 {
        network.now = network.now.max(START + epoch * EVERY);
        network.exchange();
        network.upload(epoch, 0..3);
        network.close(epoch);
        network.run();
    }
    let ledger = network.analyzer().ledger();
    assert!((1..4).contains(&ledger.len()), "{ledger:?}");
    assert_eq!(network.counted().len(), ledger.len());
    assert!(ledger.iter().all(|entry| entry.total.get() <= 12.0));
    let dropped = dropped(&network, 3);
    assert_eq!(dropped.len(), 4 - ledger.len());
    assert!(dropped.iter().all(|(_, why, _)| *why == Why::Budget));
}

#[test]
fn a_ledger_that_was_put_back_is_refused() {
    let spent = || {
        let mut network = Setup::default().network(35);
        for epoch in 0..2 {
            network.now = network.now.max(START + epoch * EVERY);
            network.exchange();
            network.upload(epoch, 0..3);
            network.close(epoch);
            network.run();
        }
        network
    };
    let analyzer = |network: &mut Network| network.nodes[2].restart();
    assert!(analyzer(&mut spent()).is_ok());
    for kept in 0..2 {
        let mut network = spent();
        let rows =
            network.nodes[2].store.store().rows.under(Table::Ledger, &RowKey::default()).unwrap();
        for (key, _) in &rows[kept..] {
            let delete = Change::Delete { table: Table::Ledger, key };
            network.nodes[2].store.store().rows.commit(&[delete]).unwrap();
        }
        assert!(
            matches!(analyzer(&mut network), Err(throng_server::Error::Rollback { .. })),
            "{kept}"
        );
    }
    let mut network = spent();
    let rows =
        network.nodes[2].store.store().rows.under(Table::Ledger, &RowKey::default()).unwrap();
    let cheaper =
        String::from_utf8(rows[1].1.clone()).unwrap().replace("\"honest\":3", "\"honest\":4");
    let put = Change::Put { table: Table::Ledger, key: &rows[1].0, value: cheaper.as_bytes() };
    network.nodes[2].store.store().rows.commit(&[put]).unwrap();
    assert!(matches!(analyzer(&mut network), Err(throng_server::Error::Rollback { .. })));
}

/// The order of releases is that of the batches, which a mix chooses. The ledger has to read back
/// in any order.
#[test]
fn batches_out_of_order_do_not_break_the_ledger() {
    let mut network = Setup::default().network(36);
    network.now = START + EVERY;
    network.exchange();
    for epoch in [1, 0] {
        let records = onions(&mut network, 3, epoch, 0..3);
        network.hand_over(3, &forged(&network, 2, (epoch, epoch), &records)).unwrap();
        network.settle(3);
    }
    let before = network.analyzer().ledger();
    assert_eq!(before.iter().map(|entry| entry.first).collect::<Vec<_>>(), [1, 0]);
    network.nodes[2].restart().unwrap();
    assert_eq!(network.analyzer().ledger(), before);
}

/// By group privacy δ can pass 1 where many epochs are merged. Another pair is told then, rather
/// than nothing for ever.
#[test]
fn a_merged_release_always_has_a_guarantee() {
    let below = Below::Merge { window: 4 };
    let mut network = Setup { below, ..Setup::default() }.network(37);
    network.upload(0, 0..1);
    for epoch in 0..4 {
        network.close(epoch);
        if epoch == 2 {
            network.now -= 1;
            network.upload(3, 1..4);
            network.now += 1;
        }
        network.run();
    }
    let release = &releases(&network)[0];
    assert_eq!((&release["first"], &release["last"]), (&0.into(), &3.into()));
    let privacy = &release["privacy"];
    assert!(number(&privacy["delta"]) < 1.0);
    assert!(number(&privacy["epsilon"]) <= number(&privacy["spent_epsilon"]));
}

/// Each category, counted once.
fn once(messages: impl IntoIterator<Item = u8>) -> Vec<(u8, u64)> {
    messages.into_iter().map(|message| (message, 1)).collect()
}

fn releases(network: &Network) -> Vec<Value> {
    network.releases()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// The messages that each hop says it left out: replayed and malformed.
fn losses(release: &Value) -> Vec<(u64, u64)> {
    let dropped = &release["dropped"];
    let all = dropped["mixes"].as_array().unwrap().iter().chain([&dropped["analyzer"]]);
    let count = |loss: &Value, name: &str| loss[name].as_u64().unwrap();
    all.map(|loss| (count(loss, "replayed"), count(loss, "malformed"))).collect()
}

/// Fails unless what is told of losses is one of the two hundreds next to each; 0 stays 0.
#[track_caller]
fn assert_told(release: &Value, exact: &[(u64, u64)]) {
    let told = losses(release);
    assert_eq!(told.len(), exact.len());
    for ((told, exact), hop) in told.into_iter().zip(exact).zip(1..) {
        for (told, exact) in [(told.0, exact.0), (told.1, exact.1)] {
            let next = told.is_multiple_of(STEP) && told.abs_diff(exact) < STEP;
            assert!(next, "{told} is told of {exact} at hop {hop}");
        }
    }
}

/// The slots that a party dropped: first epoch, why, and how many reports.
fn dropped(network: &Network, hop: u8) -> Vec<(u64, Why, u64)> {
    let slots = network.nodes[usize::from(hop) - 1].role().slots();
    let dropped = |slot: &Slot| match slot.stage {
        Stage::Dropped { why, reports, .. } => Some((slot.first, why, reports)),
        _ => None,
    };
    slots.iter().filter_map(dropped).collect()
}

/// Records as they enter a hop, from clients whose earlier layers are off.
fn onions(
    network: &mut Network,
    hop: u8,
    epoch: u64,
    messages: impl IntoIterator<Item = u8>,
) -> Vec<Vec<u8>> {
    let (keys, collection) = (network.keys(epoch), network.collection.clone());
    let (window, hops) = (collection.schedule.window_of(epoch), collection.chain.hops());
    let mut onion = |message| {
        let mut record = vec![message];
        for hop in (hop..=hops).rev() {
            let epoch = if hop == 1 { epoch } else { window };
            let analyzer = hop == hops;
            let binding = Binding { collection: collection.id(), epoch, hop, analyzer };
            let layer = Layer::new(&keys[usize::from(hop) - 1], &binding).unwrap();
            record = layer.seal(&record, &mut network.rng).unwrap();
        }
        record
    };
    messages.into_iter().map(&mut onion).collect()
}

/// The batch of a mix that cheats: any records, under its true signature.
fn forged(network: &Network, hop: u8, range: (u64, u64), records: &[Vec<u8>]) -> Vec<u8> {
    let signed = SignedManifest::sign(manifest(network, hop, range, records), &identity(hop));
    [signed.encode(), records.concat()].concat()
}

fn manifest(
    network: &Network,
    hop: u8,
    (first, last): (u64, u64),
    records: &[Vec<u8>],
) -> Manifest {
    let mut digest = RecordDigest::default();
    for record in records {
        digest.update(record);
    }
    Manifest {
        collection: network.collection.id(),
        first,
        last,
        record_bytes: network.collection.shape().record_bytes(hop + 1) as u32,
        records: records.len() as u64,
        losses: vec![Loss::default(); hop.into()],
        source: [0; 32],
        digest: digest.finish(),
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|part| part == needle)
}

/// All rows and blobs.
fn all_bytes(store: &MemoryStore) -> Vec<Vec<u8>> {
    let store = store.store();
    let rows = Table::ALL
        .into_iter()
        .flat_map(|table| store.rows.under(table, &RowKey::default()).unwrap())
        .map(|(_, row)| row);
    let names = store.blobs.names().unwrap().into_iter();
    let blobs = names.map(|name| store.blobs.read(&name).unwrap().unwrap());
    rows.chain(blobs).collect()
}

/// All files below a directory.
fn files(directory: &std::path::Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(std::fs::read(path).unwrap());
        }
    }
    found
}
