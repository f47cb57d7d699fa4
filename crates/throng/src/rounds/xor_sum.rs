//! `throng rounds xor-sum`: the number of groups with an odd number of ones, by several rounds and
//! by one.

use super::computation::compute;
use super::hall::one_round;
use super::{draw, rounded, rounded_down, rounded_up};
use crate::args::rounds::XorSum;
use crate::collection::Usage;
use crate::figures::log_chart;
use crate::parallel::{fresh_generator, generator, seed};
use crate::report::{Printable, Report, digits};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeMap;
use throng_account::show::Upper;
use throng_account::{Delta, Epsilon};
use throng_chart::{Chart, Series, Stroke};
use throng_mechanism::sample;
use throng_rounds::{
    Circuit, Committee, Input, LaplaceNoise, RobustXorSum, Seat, pause::error_floor, xor_sum,
};

/// Runs both protocols for every number of participants asked for.
pub async fn run(request: &XorSum) -> Result<Report> {
    let members = request.computation.members.unwrap_or(3);
    let epsilon = Epsilon::new(request.computation.epsilon)?;
    let noise = LaplaceNoise::new(epsilon, SENSITIVITY, Delta::new(request.computation.delta)?)?;
    let one_round = RobustXorSum::new(epsilon)?;
    let seed = seed(request.computation.seed)?;
    let setting = Setting { request, members, noise: &noise, one_round };
    let mut runs = Vec::new();
    for &n in &request.n {
        if n < members || n % 2 == 1 {
            bail!(Usage(format!("--n must be even and at least the {members} members, not {n}")));
        }
        eprintln!("n = {n}");
        runs.push(setting.compare(n, seed).await?);
    }
    let chart = chart(&runs, epsilon);
    let files = draw(request.out.as_deref(), &[("xor-sum", chart)])?;
    let costs: Vec<_> = runs.iter().map(|run| run.cost.clone()).collect();
    Ok(Report::default()
        .well(runs.iter().all(|run| run.within))
        .line("epsilon", "epsilon", Upper(noise.epsilon().get()))
        .line("delta", "delta of many rounds", rounded_up(noise.delta().get()))
        .line("sensitivity", "the most that one participant changes", SENSITIVITY)
        .line("repeat", "releases, to measure errors by", u64::from(request.repeat))
        .field("seed", seed)
        .rows("runs", runs.iter().map(|run| run.row(request.repeat)).collect())
        .field("files", files)
        .table(costs)
        .note(
            "Errors are root mean squares over the releases. Many rounds hide group and bit, and \
             err by the noise of the central model however many take part. One round hides the bit \
             alone, and errs by the square root of n, as every such protocol that survives \
             dropouts has to: the last column. The many releases are for measuring; epsilon is for \
             one.",
        ))
}

/// The settings that all runs share.
struct Setting<'a> {
    request: &'a XorSum,
    members: u32,
    noise: &'a LaplaceNoise,
    one_round: RobustXorSum,
}

struct Run {
    n: u32,
    truth: u64,
    /// The first release of many rounds, and of one round.
    first: (i64, f64),
    /// Root mean square errors.
    errors: (f64, f64),
    predicted: (f64, f64),
    floor: f64,
    /// True if many rounds err by no more than their noise can.
    within: bool,
    cost: Report,
}

impl Setting<'_> {
    /// Runs both with two users in every group, the hard case of the lower bound. Neither protocol
    /// makes use of it.
    async fn compare(&self, n: u32, seed: u64) -> Result<Run> {
        let mut rng = generator(seed, n.into());
        let inputs: Vec<(u32, bool)> =
            (0..n).map(|user| (user / 2, sample::below(2, &mut rng) == 1)).collect();
        let truth = xor_sum(&inputs);
        let (many, cost) = self.many_rounds(n, &inputs).await?;
        let one = self.one_round(&inputs).await?;
        let many_errors = many.iter().map(|&value| (value - truth as i64) as f64);
        let one_errors = one.iter().map(|value| value - truth as f64);
        let one_predicted = self.one_round.standard_error((0..n / 2).map(|_| 2));
        let within = many_errors.clone().all(|error| error.abs() <= self.noise.reach() as f64);
        Ok(Run {
            n,
            truth,
            first: (*many.first().context("a release")?, *one.first().context("a release")?),
            errors: (root_mean_square(many_errors), root_mean_square(one_errors)),
            predicted: (self.noise.standard_deviation(), one_predicted),
            floor: error_floor(self.one_round.epsilon(), n.into()),
            within,
            cost,
        })
    }

    /// The circuit: everybody's ones by group, the parity of every group, their sum, and noise.
    async fn many_rounds(&self, n: u32, inputs: &[(u32, bool)]) -> Result<(Vec<i64>, Report)> {
        let groups = n / 2;
        let seats: Vec<Seat> = (0..self.members).map(Seat).collect();
        let committee = Committee::new(seats.clone(), self.request.computation.corrupt)?;
        let mut circuit = Circuit::new(n, committee);
        let ones: Vec<_> = (0..n).map(|seat| circuit.choice(Seat(seat), groups)).collect();
        let odd: Vec<_> = (0..groups as usize)
            .map(|group| {
                let bits: Vec<_> = ones.iter().map(|bits| bits[group]).collect();
                circuit.xor_all(&bits)
            })
            .collect();
        let sum = circuit.sum(odd);
        let answers: Vec<_> = (0..self.request.repeat)
            .map(|_| {
                let drawn = circuit.noise(self.noise);
                let noisy = circuit.add(sum, drawn);
                circuit.reveal_number(noisy, &seats)
            })
            .collect();
        let values = inputs.iter().map(|&(group, bit)| vec![Input::Choice(bit.then_some(group))]);
        let (values, mixes): (Vec<_>, _) = (values.collect(), self.request.mixes.mixes);
        let done = compute(circuit, &values, &BTreeMap::new(), mixes).await?;
        let outcome = done.outcomes.get(&Seat(0)).context("nobody was shown a sum")?;
        let shown = answers.iter().map(|answer| outcome.number(*answer));
        Ok((shown.collect::<Option<_>>().context("an answer is missing")?, done.cost))
    }

    /// The one-round protocol, also through the mixes.
    async fn one_round(&self, inputs: &[(u32, bool)]) -> Result<Vec<f64>> {
        let mut rng = fresh_generator()?;
        let report = |&(group, bit): &(u32, bool)| {
            let repeats = 0..self.request.repeat;
            repeats.flat_map(|repeat| self.one_round.encode(group, bit, repeat, &mut rng)).collect()
        };
        let reports = inputs.iter().map(report).collect();
        let bulletin = one_round(self.request.mixes.mixes, reports).await?;
        let sums = self.one_round.estimate(bulletin.bag().messages());
        Ok(sums.iter().map(|sum| sum.value).collect())
    }
}

impl Run {
    fn row(&self, repeat: u16) -> Report {
        let cell = |number: f64| format!("{number:.2}");
        let many = json!({
            "first": self.first.0,
            "rmse": rounded(self.errors.0).0,
            "predicted": rounded(self.predicted.0).0,
        });
        let one = json!({
            "first": rounded(self.first.1).0,
            "rmse": rounded(self.errors.1).0,
            "predicted": rounded(self.predicted.1).0,
            "lower_bound": rounded_down(self.floor).0,
        });
        Report::default()
            .line("n", "n", self.n)
            .line("truth", "true", self.truth)
            .field("repeat", repeat)
            .line("many_rounds", "many rounds", Printable::new(many, self.first.0.to_string()))
            .say("error", cell(self.errors.0))
            .say("predicted", cell(self.predicted.0))
            .line("one_round", "one round", Printable::new(one, cell(self.first.1)))
            .say("error", cell(self.errors.1))
            .say("predicted", cell(self.predicted.1))
            .say("no less than", digits(rounded_down(self.floor)))
            .field("cost", self.cost.clone())
    }
}

fn chart(runs: &[Run], epsilon: Epsilon) -> Chart {
    let series = |name: &str, stroke, of: fn(&Run) -> f64| {
        let points = runs.iter().map(|run| (f64::from(run.n), of(run)));
        Series::new(name, stroke, points.collect())
    };
    let series = vec![
        series("one round, measured", Stroke::Markers, |run| run.errors.1),
        series("one round, predicted: ∝ √n", Stroke::Solid, |run| run.predicted.1),
        series("least error of any robust round", Stroke::Dotted, |run| run.floor),
        series("many rounds, measured", Stroke::Markers, |run| run.errors.0),
        series("many rounds, predicted: the central noise", Stroke::Solid, |run| run.predicted.0),
    ];
    let title = format!("XOR-sum at ε = {}: many rounds beside one", epsilon.get());
    log_chart(title, ("participants", "root mean square error"), series)
}

fn root_mean_square(errors: impl Iterator<Item = f64>) -> f64 {
    let squares: Vec<f64> = errors.map(|error| error * error).collect();
    (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt()
}

/// The sensitivity: whoever moves from one group to another with a one changes two parities.
const SENSITIVITY: u32 = 2;
