//! Dropouts: reports that are lost on the way hide nobody.

use super::common::{Network, Setup};
use super::{dropped, forged, number, onions, releases};
use throng_collection::BatchGuarantee;
use throng_mix::Why;

/// Whatever a hop receives and cannot open is no part of the crowd: epsilon is that of the reports
/// that the analyzer counted, and not of those that somebody took or handed over.
#[test]
fn epsilon_is_that_of_the_reports_that_were_counted_wherever_others_were_lost() {
    for hop in 1..=3 {
        let network = losing(hop, 14, 3);
        assert_released(&network, 11);
    }
    // One at every hop: the layer of the next one is spoiled.
    let mut network = Setup { crowd: CROWD, ..Setup::default() }.network(51);
    let mut all = Vec::new();
    for spoiled in [None, Some(1), Some(2), Some(3)] {
        let count = if spoiled.is_none() { 11 } else { 1 };
        all.extend((0..count).map(|_| spoiled_at(&mut network, spoiled)));
    }
    network.mix(1).accept(0, &all.concat(), network.now).unwrap();
    network.close(0);
    network.run();
    assert_released(&network, 11);
}

/// As many lost at any hop that fewer than the quorum are left: that hop drops the epoch, and those
/// after it hear that there is nothing.
#[test]
fn below_the_quorum_at_any_hop_nothing_is_released() {
    for hop in 1..=3 {
        let network = losing(hop, 14, 5);
        assert!(network.counted().is_empty(), "hop {hop}");
        assert_eq!(dropped(&network, hop), [(0, Why::Short, 9)], "hop {hop}");
        for later in hop + 1..=3 {
            assert_eq!(dropped(&network, later), [(0, Why::Short, 0)], "hop {hop}, {later}");
        }
        // One less lost is a crowd.
        assert_released(&losing(hop, 14, 4), 10);
    }
}

/// A chain one hop of which receives `all` records and can open all but some.
fn losing(hop: u8, all: u8, lost: usize) -> Network {
    let mut network = Setup { crowd: CROWD, ..Setup::default() }.network(50);
    let mut records = onions(&mut network, hop, 0, 0..all);
    for record in &mut records[..lost] {
        record[40] ^= 1;
    }
    if hop == 1 {
        network.mix(1).accept(0, &records.concat(), network.now).unwrap();
        network.close(0);
    } else {
        let batch = forged(&network, hop - 1, (0, 0), &records);
        network.hand_over(hop, &batch).unwrap();
    }
    network.run();
    network
}

/// A report that opens as far as this hop, which finds noise.
pub fn spoiled_at(network: &mut Network, hop: Option<u8>) -> Vec<u8> {
    let Some(hop) = hop else { return network.seal(0, &[1]) };
    let mut keys = network.keys(0);
    let own = usize::from(hop) - 1;
    keys[own] = throng_wire::LayerSecret::generate(&mut network.rng).public();
    network.seal_to(0, &[1], &keys)
}

/// One release, of so many reports and with their epsilon, which is more than that of any one more.
#[track_caller]
fn assert_released(network: &Network, counted: u64) {
    let release = &releases(network)[0];
    assert_eq!(release["reports"], counted);
    let terms = &network.collection.terms;
    let epsilon = |reports| BatchGuarantee::of(terms, reports, 1).unwrap().epsilon.get();
    let told = number(&release["privacy"]["epsilon"]);
    assert!((told - epsilon(counted)).abs() < 1e-12, "{told}");
    assert!(told > epsilon(counted + 1) && told > epsilon(14));
    assert_eq!(release["privacy"]["honest"], counted);
}

const CROWD: u64 = 10;
