//! `throng rounds attack`: a one-round protocol, paused after half of its users and asked many
//! times.

use super::hall::one_round;
use super::{draw, measured, rounded, rounded_down, rounded_up};
use crate::args::rounds::Attack;
use crate::collection::Usage;
use crate::parallel::fresh_generator;
use crate::report::Report;
use anyhow::{Result, bail};
use chacha20::ChaCha12Rng;
use throng_account::Epsilon;
use throng_chart::{Axis, Chart, Scale, Series, Stroke};
use throng_mechanism::sample;
use throng_rounds::RobustXorSum;
use throng_rounds::pause::{
    AttackResult, PausedRun, Reconstruction, error_floor, recovery_ceiling,
};
use tokio::task::yield_now;

/// The first half reports through the mixes; then the attacker has what everybody has.
pub async fn run(request: &Attack) -> Result<Report> {
    if request.n % 2 == 1 {
        bail!(Usage("--n must be even: the protocol is paused after half of the users".into()));
    }
    let protocol = RobustXorSum::new(Epsilon::new(request.epsilon)?)?;
    let half = request.n / 2;
    let mut rng = fresh_generator()?;
    let truth: Vec<bool> = (0..half).map(|_| sample::below(2, &mut rng) == 1).collect();
    eprintln!("{half} of {} users report through the mixes", request.n);
    let paused = paused(request, protocol, &truth).await?;

    eprintln!("the attacker asks {} questions of the paused bag", request.queries);
    let mut attack = Reconstruction::new(&paused);
    let mut steps = Vec::new();
    let powers = (0..).map(|step| 10_usize.pow(step));
    let queries = request.queries as usize;
    for target in powers.take_while(|&power| power < queries).chain([queries]) {
        ask(&mut attack, target, &mut rng).await;
        steps.push((attack.queries(), attack.recovered(&truth)));
    }
    let rmse = paused.answer_rmse(&truth, ANSWERS, &mut rng);

    eprintln!("the same with protocols that err less");
    let mut swept = Vec::new();
    for epsilon in EPSILONS {
        let epsilon = Epsilon::new(epsilon)?;
        swept.push(AttackResult::measure(epsilon, request.n.min(SWEPT), SWEEP_QUERIES, &mut rng)?);
        yield_now().await;
    }
    let ceiling = recovery_ceiling(protocol.epsilon());
    let files = draw(
        request.out.as_deref(),
        &[("attack-questions", by_questions(&steps, ceiling)), ("attack-error", by_error(&swept))],
    )?;
    Ok(report(request, &protocol, rmse, &steps, &swept).field("files", files))
}

/// Asks this number of questions, with pauses in which the command can be stopped.
async fn ask(attack: &mut Reconstruction<'_>, questions: usize, rng: &mut ChaCha12Rng) {
    while attack.queries() < questions {
        attack.ask((questions - attack.queries()).min(AT_ONCE), rng);
        yield_now().await;
    }
}

async fn paused(request: &Attack, protocol: RobustXorSum, truth: &[bool]) -> Result<PausedRun> {
    let mut rng = fresh_generator()?;
    let message = |(user, &bit)| protocol.encode(user, bit, 0, &mut rng).to_vec();
    let reports = (0..).zip(truth).map(message).collect();
    let bulletin = one_round(request.mixes.mixes, reports).await?;
    let bag = bulletin.bag().messages().map(<[u8]>::to_vec).collect();
    Ok(PausedRun::new(protocol, bag, truth.len() as u32))
}

fn report(
    request: &Attack,
    protocol: &RobustXorSum,
    rmse: f64,
    steps: &[(usize, f64)],
    swept: &[AttackResult],
) -> Report {
    let ceiling = recovery_ceiling(protocol.epsilon());
    let floor = rounded_down(error_floor(protocol.epsilon(), request.n.into()));
    let recovered = steps.last().map_or(0.0, |(_, recovered)| *recovered);
    let by_questions = |&(asked, found): &(usize, f64)| {
        let found = measured(found, 3);
        Report::default().line("questions", "questions", asked).line(
            "recovered",
            "bits found",
            found,
        )
    };
    let by_error = |point: &AttackResult| {
        Report::default()
            .line("epsilon", "epsilon", measured(point.epsilon, 1))
            .line("rmse_per_root_n", "error / √n", measured(point.per_root_n, 3))
            .line("lower_bound_per_root_n", "no less than", rounded_down(point.floor_per_root_n))
            .line("recovered", "bits found", measured(point.recovered, 3))
            .line("ceiling", "ceiling on average", rounded_up(point.ceiling))
    };
    Report::default()
        .line("n", "users of the whole protocol", request.n)
        .line("epsilon", "epsilon", rounded(protocol.epsilon().get()))
        .line("questions", "questions answered", request.queries)
        .line("rmse", "root mean square error of an answer", rounded(rmse))
        .line("lower_bound", "no robust round errs less than", floor)
        .line("recovered", "fraction of the first half's bits found", rounded(recovered))
        .line("ceiling", "the most that epsilon allows, on average", rounded_up(ceiling))
        .rows("steps", steps.iter().map(by_questions).collect())
        .rows("sweep", swept.iter().map(by_error).collect())
        .note(
            "All answers come from one published bag: nobody was asked twice. If they were \
             accurate the bits would be found, so a protocol that keeps epsilon cannot be \
             accurate; where the error falls below the square root of n, so does privacy. A \
             protocol of several rounds cannot be paused: its users would have to answer again.",
        )
}

fn by_questions(steps: &[(usize, f64)], ceiling: f64) -> Chart {
    let points = steps.iter().map(|&(asked, found)| (asked as f64, found)).collect();
    let found = Series::new("found", Stroke::Solid, points);
    let limit = Series::limit("the most that ε allows, on average", ceiling);
    chart("What a paused protocol gives away", "questions asked", vec![found, limit])
}

fn by_error(swept: &[AttackResult]) -> Chart {
    let series = |name: &str, stroke, of: fn(&AttackResult) -> f64| {
        Series::new(name, stroke, swept.iter().map(|p| (p.per_root_n, of(p))).collect())
    };
    let found = series("found", Stroke::Markers, |point| point.recovered);
    let limit = series("the most that ε allows, on average", Stroke::Solid, |point| point.ceiling);
    chart("Accurate answers give the bits away", "error of an answer / √n", vec![found, limit])
}

/// A chart of the bits that are found.
fn chart(title: &str, x: &str, series: Vec<Series>) -> Chart {
    let y = "fraction of bits found".into();
    Chart {
        title: title.into(),
        x: Axis { label: x.into(), scale: Scale::Log, range: None },
        y: Axis { label: y, scale: Scale::Linear, range: Some((0.4, 1.0)) },
        series,
    }
}

/// Questions between two pauses.
const AT_ONCE: usize = 100;
/// Answers whose error is measured.
const ANSWERS: usize = 1_000;
const EPSILONS: [f64; 7] = [0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0];
/// Users and questions of the sweep, which is done in process.
const SWEPT: u32 = 512;
const SWEEP_QUERIES: usize = 30_000;
