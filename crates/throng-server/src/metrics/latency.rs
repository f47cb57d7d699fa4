//! The time that accepted requests with reports took, as far as it may be told.
//!
//! Every request is counted in one bucket, and a bucket is told as all accepted requests are: in
//! whole thousands, as it stood at the last full hour. Cumulative counts, sum and total are made of
//! what is told of the buckets, and of nothing else. So a single request shows, if ever, as one
//! step of one bucket at a full hour, which is no more than the counter of accepted requests tells
//! of it: that it came in that hour, to somebody who knows of all others. Buckets that were added
//! up first and rounded then would have a step each that one request can take.

use super::{STEP, TICK, Write};
use std::sync::Mutex;
use std::time::Duration;
use throng_mix::{Ticking, lock};

/// The counts of requests by the time they took.
#[derive(Default)]
pub struct Latency([Mutex<Ticking>; BUCKETS.len() + 1]);

impl Latency {
    /// Counts a request.
    pub fn add(&self, took: Duration, now: u64) {
        let bucket = BUCKETS.iter().position(|most| took.as_secs_f64() <= *most);
        lock(&self.0[bucket.unwrap_or(BUCKETS.len())]).add(1, now / TICK);
    }

    /// Writes the lines of the histogram. The sum takes every request for as long as its bucket
    /// allows, and those beyond all of them for the last.
    pub fn render(&self, name: &str, now: u64, text: &mut String) {
        let (mut total, mut sum) = (0, 0.0);
        for (bucket, count) in self.0.iter().enumerate() {
            let told = lock(count).at(now / TICK) / STEP * STEP;
            let most = BUCKETS.get(bucket);
            total += told;
            sum += told as f64 * most.unwrap_or(&BUCKETS[BUCKETS.len() - 1]);
            let le = most.map_or("+Inf".to_owned(), f64::to_string);
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name}_bucket{{le=\"{le}\"}} {total}");
        }
        let _ = writeln!(text, "{name}_sum {sum}\n{name}_count {total}");
    }
}

/// The most seconds of each bucket but the last, which has no bound.
const BUCKETS: [f64; 8] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

#[cfg(test)]
mod tests {
    use super::*;

    fn told(latency: &Latency, now: u64) -> String {
        let mut text = String::new();
        latency.render("t", now, &mut text);
        text
    }

    #[test]
    fn a_request_shows_at_the_next_full_hour_and_in_whole_thousands() {
        let latency = Latency::default();
        let nothing = told(&latency, 0);
        assert!(nothing.contains("t_bucket{le=\"+Inf\"} 0") && nothing.ends_with("t_count 0\n"));
        for _ in 0..999 {
            latency.add(Duration::from_millis(3), 7_200);
        }
        assert_eq!(told(&latency, 10_800), nothing, "fewer than a thousand");
        // Those of another bucket complete nobody else's thousand.
        latency.add(Duration::from_millis(30), 10_801);
        assert_eq!(told(&latency, 14_400), nothing);
        latency.add(Duration::from_millis(3), 14_401);
        assert_eq!(told(&latency, 17_999), nothing, "the hour is not over");
        let full = told(&latency, 18_000);
        assert!(full.starts_with("t_bucket{le=\"0.005\"} 1000\nt_bucket{le=\"0.01\"} 1000\n"));
        assert!(full.ends_with("t_bucket{le=\"+Inf\"} 1000\nt_sum 5\nt_count 1000\n"), "{full}");
    }

    #[test]
    fn every_time_has_one_bucket() {
        let latency = Latency::default();
        for _ in 0..1_000 {
            for milliseconds in [0, 5, 6, 1_000, 5_000, 60_000] {
                latency.add(Duration::from_millis(milliseconds), 0);
            }
        }
        let full = told(&latency, 3_600);
        for line in [
            "t_bucket{le=\"0.005\"} 2000",
            "t_bucket{le=\"0.01\"} 3000",
            "t_bucket{le=\"1\"} 4000",
            "t_bucket{le=\"5\"} 5000",
            "t_bucket{le=\"+Inf\"} 6000",
        ] {
            assert!(full.contains(line), "{line} in {full}");
        }
    }
}
