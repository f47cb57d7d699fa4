//! Probing: sending copies of somebody's report, and reading from losses what became of it.

use super::common::{Network, Setup};
use super::dropouts::spoiled_at;
use super::{losses, releases};
use serde_json::Value;
use throng_mix::STEP;
use throng_mix::simulated::{Fault, Faults};
use throng_wire::Loss;

/// The attacker has taken the victim's report from the network and sends it, together with altered
/// copies of it. If the victim's own upload arrived, one more record came again; everything else
/// that is published is the same, as the attacker's copy counts where the victim's is missing.
///
/// What is told differs for one of a hundred windows: in D of 200 pairs, where D is Bin(200, 1/100)
/// over the parties' keys, and above 16 with probability below 1e-9 (exact tail). The seeds are
/// fixed. With exact losses all 200 pairs differ.
#[test]
fn whoever_probes_with_altered_copies_learns_next_to_nothing_from_losses() {
    let setup = Setup { mixes: 1, epochs: 1, ..Setup::default() };
    let pairs = 200;
    let differ = (0..pairs).filter(|seed| {
        let [there, missing] = [true, false].map(|arrived| probed(&setup, *seed, arrived));
        for published in ["reports", "estimates", "privacy"] {
            assert_eq!(there[published], missing[published], "{published}");
        }
        let [(there, altered), (missing, as_many)] =
            [there, missing].map(|release| losses(&release)[0]);
        assert_eq!(altered, as_many, "altered copies never open, whoever else is there");
        assert!(there.abs_diff(missing) <= STEP);
        there != missing
    });
    let differ = differ.count();
    assert!(differ <= 16, "{differ} of {pairs} probes were answered");
}

/// The release of an epoch in which the victim's upload arrived or did not, and the attacker sent
/// what was captured of it.
fn probed(setup: &Setup, seed: u64, arrived: bool) -> Value {
    let mut network = setup.network(1_000 + seed);
    let victim = network.seal(0, &[9]);
    network.upload(0, 0..3);
    if arrived {
        network.mix(1).accept(0, &victim, network.now).unwrap();
    }
    network.mix(1).accept(0, &victim, network.now).unwrap();
    for place in 0..5 {
        let mut altered = victim.clone();
        altered[7 * place] ^= 1;
        network.mix(1).accept(0, &altered, network.now).unwrap();
    }
    network.close(0);
    network.run();
    releases(&network).remove(0)
}

/// Told anew, a loss would be told twice: two numbers know more of it than one. Every party fails
/// at every operation on its disk while it counts, and counts again after a restart.
#[test]
fn losses_are_told_as_before_when_they_are_counted_again_after_a_crash() {
    let setup = Setup { epochs: 1, ..Setup::default() };
    let mut told = Vec::new();
    for hop in 1..=3_u8 {
        let undisturbed = counted(&setup, hop, None).expect("a release");
        told.push(undisturbed.clone());
        let (mut fault, mut crashes) = (0, 0);
        while let Some(again) = counted(&setup, hop, Some(fault)) {
            assert_eq!(again, undisturbed, "hop {hop}, operation {fault}");
            (fault, crashes) = (fault + 1, crashes + 1);
        }
        assert!(crashes > 3, "hop {hop}: {crashes}");
    }
    assert_eq!((&told[1], &told[2]), (&told[0], &told[0]));
    assert!(told[0].contains(&(0, 100)), "there is something to tell: {told:?}");
}

/// The losses that are published when a party crashes at this operation of its work on an epoch;
/// nothing if it has done before it gets there.
fn counted(setup: &Setup, hop: u8, fault: Option<u64>) -> Option<Vec<(u64, u64)>> {
    let mut network = setup.network(77);
    network.upload(0, 0..3);
    for hop in 1..=3 {
        let spoiled: Vec<_> = (0..60).map(|_| spoiled_at(&mut network, Some(hop))).collect();
        network.mix(1).accept(0, &spoiled.concat(), network.now).unwrap();
    }
    network.close(0);
    for earlier in 1..hop {
        network.settle(earlier);
        network.deliver(earlier);
    }
    if let Some(fault) = fault
        && !crashes(&mut network, hop, fault)
    {
        return None;
    }
    network.run();
    Some(losses(&releases(&network)[0]))
}

/// Lets a party work until it crashes at an operation, and starts it again. True if it crashed.
fn crashes(network: &mut Network, hop: u8, operation: u64) -> bool {
    let (now, node) = (network.now, &mut network.nodes[usize::from(hop) - 1]);
    node.store.set_faults(Faults::at(operation, Fault::CrashBefore));
    while let Ok(Some(_)) = node.role().step(now, &mut network.rng) {}
    let crashed = node.store.crashed();
    node.store.set_faults(Faults::none());
    node.restart().unwrap();
    crashed
}

/// A word that there are too few tells no losses, not even rounded ones.
#[test]
fn an_epoch_that_is_dropped_tells_no_losses() {
    let mut network = Setup::default().network(78);
    let sent = network.upload(0, 0..1);
    for _ in 0..250 {
        network.mix(1).accept(0, &sent[0], network.now).unwrap();
    }
    network.close(0);
    network.settle(1);
    let word = network.mix(1).outgoing(0).unwrap().expect("a word").manifest;
    assert_eq!(word.unverified().losses, [Loss::default()]);
}
