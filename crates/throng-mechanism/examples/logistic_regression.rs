//! Will a flight arrive late? Logistic regression on 20,000 flights, each of them a user who
//! answers every round through the shuffle and never shows its own data.
//!
//! ```sh
//! cargo run --release -p throng-mechanism --example logistic_regression
//! ```

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Delta, Epsilon};
use throng_mechanism::{Example, Training, dot, logistic, logistic_regression};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/flights.csv");
    let text = std::fs::read_to_string(path)?;
    let data: Option<Vec<([f64; 5], bool)>> = text.lines().skip(1).map(features).collect();
    let data = data.ok_or(
        "data/flights.csv is not as expected: \
         delay_minutes,distance_miles,carrier,origin,destination,delayed",
    )?;
    let examples: Vec<Example> = data.iter().map(|(x, y)| (&x[..], *y)).collect();
    println!("{} flights, {:.1} % late", data.len(), 100.0 * share(&examples, |(_, y)| *y));

    let plain = without_privacy(&examples, 400);
    println!("\n{:>12}  {:>8}  {:>9}  weights", "epsilon", "log loss", "accuracy");
    show("none", &plain, &examples);
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    for epsilon in [4.0, 1.0, 0.5, 0.25] {
        let training = Training {
            rounds: 20,
            rate: 4.0,
            momentum: 0.8,
            bits: 16,
            epsilon: Epsilon::new(epsilon)?,
            delta: Delta::new(1e-6)?,
        };
        let weights = logistic_regression(&examples, &training, &mut rng)?;
        show(&epsilon.to_string(), &weights, &examples);
    }
    println!("\nepsilon of all 20 rounds together, delta = 1e-6, for replacing one flight's data.");
    Ok(())
}

/// Intercept, departure delay, distance, and two of the three airports, each from −1 to 1.
fn features(line: &str) -> Option<([f64; 5], bool)> {
    let cells: Vec<&str> = line.split(',').collect();
    let [delay, distance, _, origin, _, late] = cells[..] else { return None };
    let delay: f64 = delay.parse().ok()?;
    let distance: f64 = distance.parse().ok()?;
    let airport = |name: &str| if origin == name { 1.0 } else { -1.0 };
    let x = [
        1.0,
        (delay / 60.0).clamp(-1.0, 1.0),
        (distance / 2500.0 - 1.0).clamp(-1.0, 1.0),
        airport("EWR"),
        airport("LGA"),
    ];
    Some((x, late == "1"))
}

/// The same descent on the true gradients.
fn without_privacy(examples: &[Example], rounds: usize) -> Vec<f64> {
    let mut weights = vec![0.0; examples[0].0.len()];
    for _ in 0..rounds {
        let mut gradient = vec![0.0; weights.len()];
        for (x, y) in examples {
            let error = logistic(dot(&weights, x)) - f64::from(u8::from(*y));
            gradient.iter_mut().zip(*x).for_each(|(g, x)| *g += error * x);
        }
        for (w, g) in weights.iter_mut().zip(gradient) {
            *w -= 4.0 * g / examples.len() as f64;
        }
    }
    weights
}

fn show(epsilon: &str, weights: &[f64], examples: &[Example]) {
    let accuracy = share(examples, |(x, y)| (dot(weights, x) > 0.0) == *y);
    let loss = examples.iter().map(|(x, y)| {
        let p = logistic(dot(weights, x));
        -(if *y { p } else { 1.0 - p }).max(1e-300).ln()
    });
    let loss = loss.sum::<f64>() / examples.len() as f64;
    let weights: Vec<String> = weights.iter().map(|w| format!("{w:+.2}")).collect();
    println!("{epsilon:>12}  {loss:>8.4}  {:>7.2} %  {}", 100.0 * accuracy, weights.join(" "));
}

fn share(examples: &[Example], pick: impl Fn(&Example) -> bool) -> f64 {
    examples.iter().filter(|example| pick(example)).count() as f64 / examples.len() as f64
}
