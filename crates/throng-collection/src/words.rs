//! The promise in plain words, for those who are asked.

use crate::{BatchGuarantee, Collection, Disclosure, Promise, Terms, duration_text};
use throng_account::show::{Count, Upper};
use throng_mechanism::{Kind, Question, Spending};
use throng_wire::{Below, Chain};

impl Collection {
    /// The promise, to whom it is made and what it rests on, in short sentences with the numbers.
    /// Numbers that are bounds are rounded outward.
    pub fn plain(&self) -> Vec<String> {
        let mut lines = vec![
            self.question_line(),
            self.schedule_line(),
            self.honest_line(),
            self.guarantee_line(),
            self.crowd_line(),
            self.below_line(),
            self.floor_line(),
            self.lifetime_line(),
            ADDS_UP.into(),
            self.liar_line(),
        ];
        // The caution stands right after the sentence it is about.
        let after = lines.len() - 1;
        lines.splice(after..after, self.terms.promise.caution());
        lines
    }

    /// The condition of the promise, to follow "as long as": one sentence or some.
    pub fn condition(&self) -> String {
        let (crowd, quorum) = (Count(self.terms.promise.crowd.get()), Count(self.quorum()));
        let of = format!("{crowd} of the at least {quorum} reports that it lets through are");
        if self.chain.mixes.len() == 1 {
            return format!("the mix is honest and {of}, whoever put in the others.");
        }
        let whole = if several_messages(&self.terms) { PASS_WHOLE } else { "" };
        format!(
            "the first mix is honest and {of}, whoever put in the others. A later mix that is \
             honest will do if those before it put in no more reports of their own than that \
             leaves room for, and against those who only watch any will do.{whole}"
        )
    }

    fn question_line(&self) -> String {
        let question = &self.terms.question;
        let answers = match self.terms.mechanism.question() {
            Question::Bit => "You answer yes or no.".into(),
            Question::Real => {
                let (low, high) = (question.low, self.with_unit(question.high));
                format!("You answer with a number from {low} to {high}.")
            }
            Question::Category { size } => {
                format!("You choose one of {} answers.", Count(size.into()))
            }
            Question::Text { .. } => "You answer with a text.".into(),
            Question::Attributes { count } => {
                format!("You answer yes or no to {} things.", Count(count.into()))
            }
            Question::State { .. } => "You answer yes or no, again and again.".into(),
        };
        format!("The question is: {} {answers}", question.text)
    }

    fn schedule_line(&self) -> String {
        let Promise { epochs, .. } = self.terms.promise;
        let shape = self.shape();
        let every = spoken(self.schedule.every);
        let times = match epochs {
            0 | 1 => "It is asked once.".into(),
            _ => format!("It is asked {} times, once every {every}.", Count(epochs)),
        };
        format!(
            "{times} Every time your device mixes chance into your answer, seals it and sends {} \
             bytes, whatever you answer.",
            Count(shape.report_bytes() as u64)
        )
    }

    fn honest_line(&self) -> String {
        let (first, later) = match &self.chain.mixes[..] {
            [first, later @ ..] => (first.name.as_str(), later),
            [] => ("", &[][..]),
        };
        let counted =
            "as many of the reports that it lets through are honest as are counted on below";
        let who = match later {
            [] => format!("The promise holds as long as the mix {first} is honest and {counted}."),
            later => {
                let later: Vec<&str> = later.iter().map(|mix| mix.name.as_str()).collect();
                let later = listed_by(&later, "or");
                format!(
                    "The promise holds as long as the first mix, {first}, is honest and {counted}. \
                     If only {later} is honest, the same has to hold for what it lets through, \
                     and the mixes before it can throw reports away and put in their own. Against \
                     those who only watch, one honest mix suffices, whichever it is.{}",
                    if several_messages(&self.terms) { PASS_WHOLE } else { "" }
                )
            }
        };
        format!(
            "{who} Everyone else may work together, and so may {}, who counts the answers.",
            self.chain.analyzer.name
        )
    }

    fn guarantee_line(&self) -> String {
        let Promise { epsilon, delta, .. } = self.terms.promise;
        format!(
            "Then a result tells nearly the same about you whatever you answered: whatever may be \
             seen in it is, with one of your answers, at most {} times as likely as with another, \
             and 1 in {} more (epsilon = {}, delta = {:e}).",
            Upper(epsilon.get().exp()).rounded(4),
            Count((1.0 / delta.get()).floor() as u64),
            epsilon.get(),
            delta.get()
        )
    }

    fn crowd_line(&self) -> String {
        let Promise { crowd, corrupt, .. } = self.terms.promise;
        let (crowd, quorum) = (Count(crowd.get()), Count(self.quorum()));
        if corrupt == 0.0 {
            return format!(
                "It counts on {crowd} honest reports in every result, and each mix waits for as \
                 many. Reports of those who work against you are not allowed for, whoever puts \
                 them in: with any of them among these, the promise is not proved."
            );
        }
        // Rounded down, as it is what may be assumed; a product may miss its integer by an ulp.
        let share = (1e6 * corrupt * (1.0 + 1e-12)).floor() / 1e4;
        format!(
            "It counts on {crowd} honest reports in every result. Up to {share} % of the reports \
             that the honest mix lets through may come from those who work against you, whoever \
             put them there, people or mixes; so each mix waits for {quorum}."
        )
    }

    fn below_line(&self) -> String {
        match self.schedule.below {
            Below::Expire => {
                "If fewer report in time, their reports are thrown away and there is no result."
                    .into()
            }
            Below::Merge { window } => {
                let merged = self.merged_line(window.min(self.terms.promise.epochs));
                format!(
                    "If fewer report in time, their reports wait for the next round, through up to \
                     {window} rounds, and are thrown away after that. {merged}"
                )
            }
        }
    }

    /// A sentence about merged epochs. If group privacy turns the promised δ into more than 1, it
    /// tells the δ of the lifetime.
    fn merged_line(&self, epochs: u64) -> String {
        let release = Disclosure { epochs, honest: self.terms.promise.crowd };
        let pair = BatchGuarantee::cost(&self.terms, release);
        let covered = pair.map_or("nothing that is known".into(), |(epsilon, delta)| {
            let (epsilon, delta) = (Upper(epsilon.get()).rounded(4), Upper(delta.get()).rounded(4));
            format!("epsilon = {epsilon}, delta = {delta:e}")
        });
        format!(
            "A result may then hold {epochs} of your reports; together they are covered by \
             {covered}."
        )
    }

    fn floor_line(&self) -> String {
        let names: Vec<&str> = self.chain.parties().map(|(_, party)| party.name.as_str()).collect();
        let unkept = format!(
            "If {} all work together, or fewer reports are honest than are counted on",
            listed(&names)
        );
        match self.terms.mechanism.local_floor() {
            None => format!(
                "{unkept}, nothing protects you for sure: your answer may be read (the local \
                 epsilon is infinite)."
            ),
            Some(floor) => {
                let what = match self.terms.spending() {
                    Spending::Lifetime => "all you ever send",
                    _ => "a report by itself",
                };
                format!(
                    "{unkept}, only the chance that your device mixes in protects you for sure: \
                     {what} keeps epsilon = {}.",
                    Upper(floor.get()).rounded(4)
                )
            }
        }
    }

    fn lifetime_line(&self) -> String {
        let Promise { epochs, lifetime, .. } = self.terms.promise;
        let pair = format!("epsilon = {}, delta = {:e}", lifetime.0.get(), lifetime.1.get());
        let epochs = Count(epochs);
        match self.terms.spending() {
            _ if self.terms.promise.epochs == 1 => {
                format!("You are asked once, so this is all you give away: {pair}.")
            }
            Spending::PerEpoch => {
                format!(
                    "If you answer all {epochs} times, all results together are covered by {pair}."
                )
            }
            Spending::Lifetime => format!(
                "If you answer all {epochs} times, all results together are covered by {pair}, \
                 provided that the same others report every time and nobody's answer reacts to \
                 earlier results."
            ),
            Spending::Memoized => format!(
                "If you answer all {epochs} times, always with the same text, all you send is \
                 covered by epsilon = {}, even without a crowd. Your device reports no second \
                 text.",
                lifetime.0.get()
            ),
        }
    }

    fn liar_line(&self) -> String {
        let moves = self.terms.mechanism.influence();
        if !moves.is_finite() {
            return "One person who lies can make the result worthless.".into();
        }
        let question = &self.terms.question;
        let moved = Upper(moves).rounded(4);
        match self.terms.mechanism.kind() {
            Kind::Real => {
                let mean = moves * (question.high - question.low) / self.quorum() as f64;
                format!(
                    "One person who lies moves the mean by at most {} among {} reports.",
                    self.with_unit(Upper(mean).rounded(4)),
                    Count(self.quorum())
                )
            }
            Kind::State => {
                format!("One person who lies moves the count of a round by at most {moved}.")
            }
            Kind::Bit | Kind::Category | Kind::Text | Kind::Attributes => {
                format!("One person who lies moves a count by at most {moved}, an honest one by 1.")
            }
        }
    }

    /// A number that is an answer, with the unit of answers if they have one.
    fn with_unit(&self, number: f64) -> String {
        match &self.terms.question.unit[..] {
            "" => number.to_string(),
            unit => format!("{number} {unit}"),
        }
    }
}

/// The condition that one mix is honest, in words.
pub(crate) fn one_honest(chain: &Chain) -> String {
    let mixes: Vec<&str> = chain.mixes.iter().map(|mix| mix.name.as_str()).collect();
    match &mixes[..] {
        [only] => format!("the mix {only} is honest"),
        several => format!("one of the mixes {} is honest", listed(several)),
    }
}

/// The condition on which the guarantee of a release rests: one sentence for all places that state
/// it in full.
pub(crate) fn holds_if(terms: &Terms) -> &'static str {
    match (several_messages(terms), terms.spending()) {
        (false, Spending::Lifetime) => FOLLOWED,
        (true, Spending::Lifetime) => FOLLOWED_WHOLE,
        (false, _) => HONEST,
        (true, _) => HONEST_WHOLE,
    }
}

/// All that [`holds_if`] may say.
pub(crate) const CONDITIONS: [&str; 4] = [HONEST, HONEST_WHOLE, FOLLOWED, FOLLOWED_WHOLE];

/// Whether the messages of a report travel apart from each other behind the first mix.
fn several_messages(terms: &Terms) -> bool {
    terms.mechanism.per_epoch() > 1
}

/// The names one after the other, in words.
fn listed(names: &[&str]) -> String {
    listed_by(names, "and")
}

fn listed_by(names: &[&str], word: &str) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        names => names.concat(),
    }
}

/// A duration in words.
fn spoken(seconds: u64) -> String {
    let text = duration_text(seconds);
    let (count, unit) = text.split_at(text.len() - 1);
    let unit = match unit {
        "d" => "day",
        "h" => "hour",
        "m" => "minute",
        _ => "second",
    };
    if count == "1" { unit.into() } else { format!("{count} {unit}s") }
}

/// A macro, as only literals can be put together into a constant.
macro_rules! honest {
    ($($more:literal),*) => {
        concat!(
            "the first mix is honest, or a later one is and those before it put in no reports of \
             their own beyond the corrupt fraction; no more than the corrupt fraction of the \
             reports that the honest mix let through is from, or known to, the adversary, whoever \
             put them there, people or mixes",
            $($more,)*
            "; and how many report does not react to earlier releases, on which the promised \
             epsilon and lifetime do not rest",
        )
    };
}

const HONEST: &str = honest!();
const HONEST_WHOLE: &str =
    honest!("; mixes before the honest one pass the messages of a report on all or none");
const FOLLOWED: &str =
    honest!("; the same people report in every period, and their answers do not react to releases");
const FOLLOWED_WHOLE: &str = honest!(
    "; mixes before the honest one pass the messages of a report on all or none",
    "; the same people report in every period, and their answers do not react to releases"
);

/// The condition of [`HONEST_WHOLE`] as a sentence of its own.
const PASS_WHOLE: &str =
    " Mixes before the honest one have to pass the messages of a report on all or none.";

/// The cost of other questions.
const ADDS_UP: &str = "Every other question that you answer adds its own cost to this; throng \
                       budget says what several collections cost together.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::testing::{collection, rich_collection};

    #[test]
    fn everything_that_must_be_said_is_said() {
        let said = collection().plain().join("\n");
        for part in [
            "as long as the first mix, north, is honest",
            "honest as are counted on below",
            "If only south is honest, the same has to hold",
            "Against those who only watch, one honest mix suffices",
            "throng budget says what several",
            "epsilon = 1, delta = 1e-6",
            "at most 2.719 times as likely",
            "1 in 1,000,000",
            "counts on 1,000 honest reports",
            "not allowed for",
            "thrown away and there is no result",
            "a report by itself keeps epsilon",
            "asked once",
            "One person who lies moves a count by at most",
        ] {
            assert!(said.contains(part), "{part} is not in\n{said}");
        }
        // With this many reports in one result the promised delta says nothing.
        let mut merging = collection();
        merging.terms.promise.epochs = 20;
        merging.schedule.below = Below::Merge { window: 64 };
        merging.terms.promise.lifetime = merging.terms.lifetime(20, None).unwrap();
        assert!(
            merging
                .terms
                .cost(Disclosure { epochs: 20, honest: merging.terms.promise.crowd })
                .is_err()
        );
        let said = merging.plain().join("\n");
        assert!(
            said.contains("hold 20 of your reports; together they are covered by eps"),
            "{said}"
        );
        let said = rich_collection().plain().join("\n");
        for part in [
            "Up to 10 % of the reports that the honest mix lets through",
            "whoever put them there, people or mixes",
            "the messages of a report on all or none",
            "through up to 2 rounds",
            "A result may then hold 2 of your reports",
            "nothing protects you",
            "the local epsilon is infinite",
            "If you answer all 4 times",
            "from 0 to 120 minutes",
            "moves the mean by at most",
        ] {
            assert!(said.contains(part), "{part} is not in\n{said}");
        }
    }
}
