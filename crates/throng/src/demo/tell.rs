//! The story of a run on standard error: numbered steps with their titles on the left.

use std::time::Duration;
use throng_account::show::{Count, Upper};
use throng_collection::{Collection, Promise, Release};
use throng_mechanism::Spending;

/// Tells what is about to happen.
pub fn open(text: &str) {
    eprintln!("{}\n", wrapped(text, WIDTH).join("\n"));
}

/// Tells something that is no step of its own.
pub fn aside(title: &str, text: &str) {
    lines(&format!("  {title}"), text);
}

/// The steps, one after the other.
#[derive(Default)]
pub struct Steps(u32);

impl Steps {
    /// Tells the next step in one line or a few.
    pub fn next(&mut self, title: &str, text: &str) {
        self.0 += 1;
        lines(&format!("{} {title}", self.0), text);
    }

    /// Tells who made which identity.
    pub fn keys(&mut self, collection: &Collection) {
        for (hop, party) in collection.chain.parties() {
            let identity = party.identity.to_string();
            let text =
                format!("{:9} made its identity {}...  {}", party.name, &identity[..16], party.url);
            if hop == 1 {
                self.next("keys", &text);
            } else {
                lines("", &text);
            }
        }
    }

    /// Tells the collection and its promise.
    pub fn collection(&mut self, collection: &Collection) {
        let shape = collection.shape();
        let messages = match shape.messages {
            1 => "1 message".into(),
            messages => format!("{messages} messages"),
        };
        let key = collection.terms.mechanism.key();
        self.next("collection", &collection.id().to_string());
        lines("", &format!("Answers go through {key}, {messages} in every report."));
        lines("", &promise(collection));
    }

    /// Tells what the clients sent, and in what time.
    pub fn sent(&mut self, clients: u64, collection: &Collection, taken: Duration) {
        let seconds = taken.as_secs_f64();
        let text = format!(
            "{} reports of {} bytes, randomized, sealed, acknowledged: {seconds:.1} s, {} a second",
            Count(clients),
            Count(collection.shape().report_bytes() as u64),
            Count((clients as f64 / seconds).round() as u64)
        );
        self.next("clients", &text);
    }

    /// Tells what each party handed on, until the analyzer counted it. `reports` has their numbers.
    pub fn passed(&mut self, collection: &Collection, reports: &[u64], release: &Release) {
        let messages = u64::from(collection.shape().messages);
        let names: Vec<&str> = collection.chain.parties().map(|(_, party)| &*party.name).collect();
        for (place, (pair, loss)) in names.windows(2).zip(&release.losses).enumerate() {
            // After the first mix the messages of a report are on their own.
            let (went_on, what) = match (place, messages) {
                (0, _) | (_, 1) => (reports[place], "reports"),
                _ => (reports[place] * messages, "messages"),
            };
            let dropped = loss.replayed + loss.malformed;
            let text = format!(
                "{} {what}, {} repeated or malformed dropped; permuted; {} signed for them",
                Count(went_on + dropped),
                Count(dropped),
                pair[1]
            );
            self.next(pair[0], &text);
        }
        let loss = release.losses.last().copied().unwrap_or_default();
        let text = format!(
            "{} reports opened and counted; {} messages dropped",
            Count(release.reports),
            loss.replayed + loss.malformed + release.nonsense
        );
        self.next("analyzer", &text);
    }
}

/// The promise in a few sentences; `throng collection show` has all of it.
fn promise(collection: &Collection) -> String {
    let Promise { epsilon, delta, .. } = collection.terms.promise;
    format!(
        "Promise: whatever is released is, with one answer of a client, at most {} times as likely \
         as with another (epsilon {}), and 1 in {} more (delta {:e}), as long as {} {}{}",
        Upper(epsilon.get().exp()).places(2),
        epsilon.get(),
        Count((1.0 / delta.get()).floor() as u64),
        delta.get(),
        collection.condition(),
        floor(collection),
        lifetime(collection),
    )
}

fn floor(collection: &Collection) -> String {
    let what = match collection.terms.spending() {
        Spending::Lifetime => "all that a client ever sends",
        _ => "a report by itself",
    };
    match collection.terms.mechanism.local_floor() {
        Some(floor) => {
            let floor = Upper(floor.get()).places(2);
            format!("Otherwise, and should all collude, {what} still keeps epsilon {floor}.")
        }
        None => "Otherwise, and should all collude, nothing protects a client.".into(),
    }
}

fn lifetime(collection: &Collection) -> String {
    let Promise { epochs, lifetime: (epsilon, delta), .. } = collection.terms.promise;
    let (epsilon, delta) = (epsilon.get(), delta.get());
    match collection.terms.spending() {
        _ if epochs == 1 => String::new(),
        Spending::PerEpoch => {
            format!(" All {epochs} epochs together cost epsilon {epsilon} at delta {delta:e}.")
        }
        Spending::Lifetime => format!(
            " All {epochs} epochs together cost no more, provided that the same clients report \
             every time and no answer reacts to earlier releases."
        ),
        Spending::Memoized => format!(
            " All {epochs} epochs together cost epsilon {epsilon}, with or without a crowd, for an \
             answer that stays the same."
        ),
    }
}

fn lines(title: &str, text: &str) {
    let below = format!("\n{:TITLE$}", "");
    eprintln!("{title:TITLE$}{}", wrapped(text, WIDTH - TITLE).join(&below));
}

/// Breaks a text between words. A text that fits into one line keeps its spaces.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.into()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Columns of a line.
const WIDTH: usize = 100;
/// Columns of a title.
const TITLE: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a  b", 7), ["a  b"]);
        assert_eq!(wrapped("incomprehensible is", 7), ["incomprehensible", "is"]);
    }
}
