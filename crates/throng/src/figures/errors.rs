//! The error of every mechanism against the crowd.

use super::{add_point, log_chart};
use crate::plan::bytes;
use anyhow::Result;
use throng_account::{Crowd, Delta, Epsilon};
use throng_chart::{Chart, Series, Stroke};
use throng_mechanism::{Ask, Plan, Question};

/// Counts of ones.
pub fn count(epsilon: f64) -> Result<Chart> {
    chart("Counting ones", Question::Bit, 33, epsilon)
}

/// Sums of numbers from 0 to 1.
pub fn sum(epsilon: f64) -> Result<Chart> {
    chart("Summing numbers from 0 to 1", Question::Real, 128, epsilon)
}

/// Counts of a hundred categories.
pub fn histogram(epsilon: f64) -> Result<Chart> {
    let title = "A histogram of 100 categories, a cell that one in ten holds";
    chart(title, Question::Category { size: 100 }, 17, epsilon)
}

fn chart(title: &str, question: Question, max_messages: u64, epsilon: f64) -> Result<Chart> {
    let ask = Ask::new(question, Crowd::new(1_000)?, Epsilon::new(epsilon)?, Delta::new(1e-8)?)
        .with_max_messages(max_messages)
        .with_fragile(true);
    let bounds = format!("standard error at ε = {epsilon}, δ = 10⁻⁸");
    errors_against_crowd(&ask, format!("{title}, at most {max_messages} messages: {bounds}"))
}

/// Standard error against n, for the question at this promise.
pub fn errors_against_crowd(ask: &Ask, title: String) -> Result<Chart> {
    let mut series: Vec<Series> = Vec::new();
    let share = ask.crowd.get() as f64 / ask.reports as f64;
    for decade in 3..=8 {
        let reports = 10_f64.powi(decade);
        eprintln!("n = {reports}");
        let honest = Crowd::new((reports * share).floor() as u64)?;
        let here = ask.clone().with_reports(reports as u64).with_honest(honest);
        let plan = Plan::new(&here, bytes);
        for offer in &plan.offers {
            let key = offer.mechanism.key();
            let name = match offer.mechanism.messages() {
                messages if messages > 1 && key.row().slow => format!("{key}, {messages} messages"),
                // Lengths that grow with n are one curve.
                _ => key.to_string(),
            };
            add_point(&mut series, &name, Stroke::Solid, (reports, offer.heavy_error));
        }
        for (name, error) in [("central model", plan.central), ("local model", plan.local)] {
            if let Some(error) = error {
                add_point(&mut series, name, Stroke::Dashed, (reports, error));
            }
        }
    }
    Ok(log_chart(title, ("reports, n", "standard error"), series))
}
