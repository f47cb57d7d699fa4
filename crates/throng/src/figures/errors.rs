//! The error of every mechanism against the crowd.

use crate::plan::errors_against_crowd;
use anyhow::Result;
use throng_account::{Crowd, Delta, Epsilon};
use throng_chart::Chart;
use throng_mechanism::{Ask, Question};

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
    let mut chart = errors_against_crowd(&ask)?;
    chart.title = format!(
        "{title}, at most {max_messages} messages: standard error at ε = {epsilon}, δ = 10⁻⁸"
    );
    Ok(chart)
}
