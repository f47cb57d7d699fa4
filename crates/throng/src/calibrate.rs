//! `throng calibrate`: how much noise does a promise need?

use crate::account::or_infinity;
use crate::args::{
    Asked, ByKey, Calibrate, CrowdArgs, FittedMechanism, Limits, Promise, PromisedTo, Wish,
};
use crate::collection::{Usage, draft};
use crate::report::{Printable, Report, digits};
use anyhow::{Result, anyhow, ensure};
use serde_json::Value;
use throng_account::calibrate::{self, Calibration};
use throng_account::profile::{BitSum, ClonePair};
use throng_account::show::{Lower, Near, Upper};
use throng_account::{Crowd, Delta, Epsilon, Error, Probability, Profile};
use throng_mechanism::Key;

/// Answers one request.
pub fn run(request: Calibrate) -> Result<Report> {
    match request {
        Calibrate::BitSum(asked) if asked.epochs > 1 => asked.over_time(Key::BitSum, None),
        Calibrate::BitSum(Asked { promise, .. }) => {
            let (crowd, epsilon, delta) = promise.parts()?;
            let found = calibrate::bit_sum(crowd, epsilon, delta)?;
            let report = flips(promise.header("bit-sum"), &promise, found.mechanism.flip());
            Ok(once(bit_sum(report, &found)))
        }
        Calibrate::TwoMessageCount(asked) if asked.epochs > 1 => {
            asked.over_time(Key::TwoMessageCount, None)
        }
        Calibrate::TwoMessageCount(Asked { promise, .. }) => {
            let (crowd, epsilon, delta) = promise.parts()?;
            let found = calibrate::two_message_count(crowd, epsilon, delta)?;
            let p = Near(found.coin.probability());
            let report = promise.header("two-message-count").line("p", "p", p);
            let error = Near(found.mechanism.standard_error());
            Ok(once(coin(report, &found, "noise 1 if u64 <"))
                .line("standard_error", "standard error of the count", error)
                .line("local_floor", "local floor", "infinity"))
        }
        Calibrate::RealSum { asked, r, max_messages } if asked.epochs > 1 => {
            ensure!(r.is_none(), Usage("--r goes with --epochs 1".into()));
            let limits = Limits { max_messages, ..Limits::none(None) };
            let wish = Wish { promise: asked.promise, limits };
            fitted(&FittedMechanism { key: Key::RealSum, wish, epochs: asked.epochs })
        }
        Calibrate::RealSum { asked: Asked { promise, .. }, r, max_messages } => {
            let (crowd, epsilon, delta) = promise.parts()?;
            let wanted = (epsilon.get() * (crowd.get() as f64).sqrt()).ceil().max(1.0) as u64;
            let bits = r.unwrap_or(wanted).min(max_messages.unwrap_or(u64::MAX));
            let found = calibrate::real_sum(crowd, bits, epsilon, delta)?;
            let noise = found.mechanism.standard_error();
            let rounding = found.mechanism.rounding_error();
            let floor = Upper(or_infinity(found.mechanism.pure()));
            let report = promise.header("real-sum").line("r", "bits per user", bits);
            let report = flips(report, &promise, found.mechanism.flip());
            Ok(once(coin(report, &found, "flip if u64 <"))
                .line("noise_error", "noise in the sum", Near(noise))
                .line("rounding_error", "rounding in the sum, at most", Upper(rounding))
                .line("standard_error", "standard error, at most", Upper(noise.hypot(rounding)))
                .line("local_floor", "local floor of a report", floor))
        }
        Calibrate::KaryResponse { asked, k } if asked.epochs > 1 => {
            asked.over_time(Key::KaryResponse, Some(k))
        }
        // Two categories have an exact account of their own.
        Calibrate::KaryResponse { asked: Asked { promise, .. }, k: 2 } => {
            binary_response(&promise, "kary-response")
        }
        Calibrate::KaryResponse { asked: Asked { promise, .. }, k } => {
            let (crowd, epsilon, delta) = promise.parts()?;
            let found = calibrate::kary_response(crowd, k, epsilon, delta)?;
            let local = or_infinity(found.mechanism.pure());
            let report = promise.header("kary-response").line("k", "categories", k);
            let report = report.line("epsilon0", "local epsilon0", Upper(local));
            // Of a category that nobody holds: each report says it with probability 1/(e^eps0+k-1).
            let (n, rest) = (crowd.get() as f64, local.exp() + k as f64 - 1.0);
            let error = (n / rest * (1.0 - 1.0 / rest)).sqrt() * rest / local.exp_m1();
            Ok(once(coin(report, &found, "uniform category if u64 <"))
                .line("standard_error", "standard error of a rare count", Near(error))
                .line("local_floor", "local floor", Upper(local)))
        }
        Calibrate::RandomizedResponse(asked) if asked.epochs > 1 => {
            asked.over_time(Key::RandomizedResponse, None)
        }
        Calibrate::RandomizedResponse(Asked { promise, .. }) => {
            binary_response(&promise, "randomized-response")
        }
        Calibrate::FittedMechanism(ByKey(asked)) => fitted(&asked),
        Calibrate::General(promise) => {
            let (crowd, epsilon, delta) = promise.parts()?;
            let local = calibrate::local_epsilon(crowd, epsilon, delta)?;
            let found = ClonePair::strong(crowd, local)?.delta(epsilon);
            Ok(promise
                .header("general")
                .line("epsilon0", "largest local epsilon0", Lower(local.get()))
                .line("delta_upper", "delta, at most", Upper(found.upper))
                .line("standard_error", "standard error", "depends on the randomizer"))
        }
        Calibrate::Crowd { epsilon0, epsilon, delta } => {
            let (local, eps) = (Epsilon::new(epsilon0)?, Epsilon::new(epsilon)?);
            let crowd = calibrate::crowd(local, eps, Delta::new(delta)?);
            let crowd = crowd.map_err(|error| match error {
                Error::OutOfRange { name: "crowd", value, .. } => anyhow!(
                    "no crowd up to {} is enough for epsilon {epsilon} at delta {delta:e}; ask for \
                     a larger epsilon or a smaller --epsilon0",
                    digits(Near(value))
                ),
                error => error.into(),
            })?;
            let found = ClonePair::strong(crowd, local)?.delta(eps);
            Ok(Report::default()
                .field("mechanism", "crowd")
                .line("epsilon0", "local epsilon0", Upper(epsilon0))
                .line("epsilon", "epsilon", Upper(epsilon))
                .line("delta", "delta", Upper(delta))
                .line("n", "smallest crowd", crowd.get())
                .line("delta_upper", "delta, at most", Upper(found.upper)))
        }
    }
}

/// A mechanism as a list of integers, with the guarantees that follow from them.
fn fitted(FittedMechanism { key, wish, epochs }: &FittedMechanism) -> Result<Report> {
    let ask = wish.about(*key)?.with_epochs(*epochs);
    let terms = draft(&ask, ask.calibrate(*key)?, wish.promise.crowd.corrupt)?;
    let (mechanism, each) = (&terms.mechanism, terms.promise);
    let delta = mechanism.profile(ask.crowd)?.delta(each.epsilon).upper;
    let n = ask.reports as f64;
    let half_width = mechanism.half_width(n, Probability::new("confidence", 0.95)?);
    let floor = or_infinity(mechanism.local_floor());
    let floor = Printable::bounded(floor, "infinite: a report by itself shows the value");
    let mut report = wish.promise.header(key.name());
    report = match epochs {
        1 => once(report).line("delta_upper", "delta, at most", Upper(delta)),
        epochs => report
            .line("epochs", "epochs that this is for, together", *epochs)
            .line("each_epsilon", "epsilon of one epoch", Upper(each.epsilon.get()))
            .line("each_delta", "delta of one epoch", Upper(each.delta.get()))
            .line("delta_upper", "delta of one epoch, at most", Upper(delta)),
    };
    report = report
        .line("standard_error", "standard error", Near(mechanism.standard_error(n)))
        .line("half_width", "95 % interval, to each side", Near(half_width))
        .line("messages", "messages per report", mechanism.messages())
        .line("local_floor", "local floor", floor);
    for (name, integers) in mechanism.parameters() {
        // What was asked for, bit by bit.
        if mechanism.floats().contains(&name) {
            report = report.field(&format!("noise_{name}"), f64::from_bits(integers[0]));
            continue;
        }
        let value = match integers[..] {
            [one] => Value::from(one),
            _ => Value::from(integers),
        };
        report = report.line(name, name, Printable::new(value.clone(), value.to_string()));
    }
    Ok(report
        .note("Integers that are probabilities are out of 2^64: they are what the sampler uses."))
}

fn binary_response(promise: &Promise, name: &str) -> Result<Report> {
    let (crowd, epsilon, delta) = promise.parts()?;
    let found = calibrate::bit_sum(crowd, epsilon, delta)?;
    let report = promise
        .header(name)
        .line("epsilon0", "local epsilon0", Upper(or_infinity(found.mechanism.pure())))
        .line("flip", "flip probability", Near(found.mechanism.flip()));
    Ok(once(bit_sum(report, &found)))
}

/// Adds the threshold of flipped bits, the error of their count, and the local floor.
fn bit_sum(report: Report, found: &Calibration<BitSum>) -> Report {
    let error = found.mechanism.standard_error();
    coin(report, found, "flip if u64 <")
        .line("standard_error", "standard error of the count", Near(error))
        .line("local_floor", "local floor", Upper(or_infinity(found.mechanism.pure())))
}

/// The flipped bits: how many are in doubt among all reports, and how often one is.
fn flips(report: Report, promise: &Promise, flip: f64) -> Report {
    let lambda = 2.0 * promise.crowd.n as f64 * flip;
    report.line("lambda", "lambda", Near(lambda)).line("flip", "flip probability", Near(flip))
}

/// Adds the coin that the sampler throws, and δ.
fn coin<M>(report: Report, found: &Calibration<M>, label: &'static str) -> Report {
    let report = report.line("threshold", label, found.coin.get());
    report.line("delta_upper", "delta, at most", Upper(found.delta))
}

/// Says that this is for being asked once.
fn once(report: Report) -> Report {
    report
        .field("epochs", 1)
        .note("Asked once; with --epochs 365 the promise is for a year of days.")
}

impl Asked {
    /// The mechanism calibrated for several epochs.
    fn over_time(&self, key: Key, size: Option<u64>) -> Result<Report> {
        let wish = Wish { promise: self.promise.clone(), limits: Limits::none(size) };
        fitted(&FittedMechanism { key, wish, epochs: self.epochs })
    }
}

impl Promise {
    fn parts(&self) -> Result<(Crowd, Epsilon, Delta), Error> {
        Ok((self.crowd.crowd()?, Epsilon::new(self.epsilon)?, Delta::new(self.delta)?))
    }

    fn header(&self, mechanism: &str) -> Report {
        let report = self.crowd.header(mechanism).line("epsilon", "epsilon", Upper(self.epsilon));
        report.line("delta", "delta", Upper(self.delta))
    }
}

impl PromisedTo {
    fn header(&self, mechanism: &str) -> Report {
        let report = self.as_counted().header(mechanism);
        counting_on(report, self.corrupt)
    }

    fn crowd(&self) -> Result<Crowd, Error> {
        self.as_counted().crowd()
    }

    fn as_counted(&self) -> CrowdArgs {
        CrowdArgs { n: self.n, corrupt: self.corrupt }
    }
}

/// Adds the share of reports that is counted on, and how to choose another.
pub fn counting_on(report: Report, corrupt: f64) -> Report {
    let share = Near(100.0 * (1.0 - corrupt)).rounded(6);
    report
        .field("corrupt", corrupt)
        .note(format!("Counting on {share} % of the reports; --corrupt sets it."))
}
