//! `throng rounds sum`: the exact sum with central noise, in spite of dropouts.

use super::computation::compute;
use super::{rounded_up, whole};
use crate::args::rounds::Sum;
use crate::collection::Usage;
use crate::parallel::{generator, seed};
use crate::report::Report;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use throng_account::show::{Near, Upper};
use throng_account::{Delta, Epsilon};
use throng_mechanism::sample;
use throng_rounds::{Circuit, Committee, Input, LaplaceNoise, Seat};

/// Runs the sum for every number of participants asked for.
pub async fn run(request: &Sum) -> Result<Report> {
    let members = request.computation.members.unwrap_or(5);
    let corrupt = request.computation.corrupt;
    Committee::new((0..members).map(Seat).collect(), corrupt)?;
    if request.drop_members + 2 * corrupt + 1 > members {
        bail!(Usage(format!(
            "{members} members of whom {corrupt} may be corrupt can lose {}; use --members or \
             --drop-members",
            members.saturating_sub(2 * corrupt + 1)
        )));
    }
    let sensitivity = (1_u32 << request.bits) - 1;
    let epsilon = Epsilon::new(request.computation.epsilon)?;
    let noise = LaplaceNoise::new(epsilon, sensitivity, Delta::new(request.computation.delta)?)?;
    let seed = seed(request.computation.seed)?;
    let mut runs = Vec::new();
    for &n in &request.n {
        if n < members {
            let reason = format!("{n} participants are fewer than the {members} members");
            bail!(Usage(reason + "; use --n or --members"));
        }
        eprintln!("n = {n}");
        runs.push(hold(n, request, members, &noise, seed).await?);
    }
    let deviation = Near(noise.standard_deviation());
    let costs: Vec<_> = runs.iter().map(|run| run.cost.clone()).collect();
    Ok(Report::default()
        .well(runs.iter().all(|run| run.within))
        .line("epsilon", "epsilon", Upper(noise.epsilon().get()))
        .line("delta", "delta", rounded_up(noise.delta().get()))
        .line("sensitivity", "the most that one participant changes", sensitivity)
        .line("standard_deviation", "standard deviation of the noise", deviation)
        .field("seed", seed)
        .rows("runs", runs.into_iter().map(|run| run.row).collect())
        .table(costs)
        .note(
            "The true sum is of those who stayed. The noise is one draw of the central model, made \
             of coins that no member knows.",
        ))
}

struct Run {
    row: Report,
    /// True if the noise can make an error of this size.
    within: bool,
    cost: Report,
}

/// One run with `n` participants.
async fn hold(n: u32, request: &Sum, members: u32, noise: &LaplaceNoise, seed: u64) -> Result<Run> {
    let seats: Vec<Seat> = (0..members).map(Seat).collect();
    let mut circuit = Circuit::new(n, Committee::new(seats.clone(), request.computation.corrupt)?);
    let numbers: Vec<_> = (0..n).map(|seat| circuit.integer(Seat(seat), request.bits)).collect();
    (0..n).for_each(|seat| circuit.may_be_absent(Seat(seat)));
    let sum = circuit.sum(numbers);
    let drawn = circuit.noise(noise);
    let noisy = circuit.add(sum, drawn);
    let answer = circuit.reveal_number(noisy, &seats);

    let mut rng = generator(seed, n.into());
    let given: Vec<u64> = (0..n).map(|_| sample::below(1 << request.bits, &mut rng)).collect();
    let values: Vec<_> = given.iter().map(|&number| vec![Input::Integer(number)]).collect();
    // The last participants agree on keys and confirm them, and are not heard of any more.
    let drop = ((n - members) * request.drop_in_ten).div_ceil(10);
    let mut leaves: BTreeMap<Seat, u64> = (n - drop..n).map(|seat| (Seat(seat), 1)).collect();
    // The last members deal, and are gone before the others begin to compute.
    leaves.extend((members - request.drop_members..members).map(|seat| (Seat(seat), 2)));
    let done = compute(circuit, &values, &leaves, request.mixes.mixes).await?;

    let shown = done.outcomes.values().filter_map(|outcome| outcome.number(answer));
    let shown: Vec<i64> = shown.collect();
    let released = *shown.first().context("nobody was shown the sum")?;
    if shown.iter().any(|other| *other != released) {
        bail!("members were shown different sums");
    }
    let left_out = done.outcomes.values().next().map_or(0, |outcome| outcome.absent().len());
    let truth = given[..(n - drop) as usize].iter().sum::<u64>() as i64;
    let error = released - truth;
    let row = Report::default()
        .line("n", "n", n)
        .line("left_out", "left out", left_out)
        .line("members_lost", "members lost", request.drop_members)
        .line("truth", "true sum", whole(truth))
        .line("released", "released", whole(released))
        .line("error", "error", whole(error))
        .field("cost", done.cost.clone());
    Ok(Run { row, within: error.abs() <= noise.reach(), cost: done.cost })
}
