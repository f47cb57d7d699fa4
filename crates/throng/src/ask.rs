//! Turns arguments into questions for the planner.

use crate::args::{Limits, LooseWish, Promise, PromisedTo, Wish};
use crate::collection::Usage;
use anyhow::{Result, ensure};
use throng_account::{Crowd, Delta, Epsilon, Error};
use throng_mechanism::{Ask, Key, Kind, Question};

impl Wish {
    /// The question a mechanism answers, with the sizes given.
    pub fn about(&self, key: Key) -> Result<Ask> {
        self.ask(key.kind(), NO_LIMIT)
    }

    /// A question by the kind of its values.
    pub fn of_kind(&self, kind: Kind) -> Result<Ask> {
        self.ask(kind, USUAL_LIMIT)
    }

    fn ask(&self, kind: Kind, most: u64) -> Result<Ask> {
        let Self { promise, limits } = self;
        let question = limits.question(kind)?;
        let zero = Error::OutOfRange { name: "epsilon", value: 0.0, range: "above 0" };
        ensure!(promise.epsilon != 0.0, zero);
        // Who is corrupt and who is missing may be different people.
        let remaining = Crowd::remaining(promise.crowd.n, limits.dropout)?;
        let crowd = Crowd::honest(remaining.get(), promise.crowd.corrupt)?;
        let (epsilon, delta) = (Epsilon::new(promise.epsilon)?, Delta::new(promise.delta)?);
        Ok(Ask::new(question, crowd, epsilon, delta)
            .with_reports(promise.crowd.n)
            .with_max_messages(limits.max_messages.unwrap_or(most))
            .with_local_floor(limits.local_floor.map(Epsilon::new).transpose()?)
            .with_fragile(limits.fragile))
    }
}

impl LooseWish {
    /// The wish, with its crowd filled in.
    pub fn with(&self, n: u64) -> Wish {
        let crowd = PromisedTo { n, corrupt: self.corrupt };
        let promise = Promise { crowd, epsilon: self.epsilon, delta: self.delta };
        Wish { promise, limits: self.limits.clone() }
    }
}

impl Limits {
    /// The question put to values of a kind.
    fn question(&self, kind: Kind) -> Result<Question> {
        let size = |what: &'static str| -> Result<u32> {
            let missing = || Usage(format!("--size is needed: how many {what}?"));
            let size = self.size.ok_or_else(missing)?;
            let (value, range) = (size as f64, "from 1 to 1000000");
            let fits = u32::try_from(size).ok().filter(|size| (1..=1_000_000).contains(size));
            Ok(fits.ok_or(Error::OutOfRange { name: "size", value, range })?)
        };
        Ok(match kind {
            Kind::Bit => Question::Bit,
            Kind::Real => Question::Real,
            Kind::Category => Question::Category { size: size("categories")? },
            Kind::Text => Question::Text {
                bits: self.size.map_or(Ok(128), |_| size("Bloom filter bits"))?,
                hashes: self.hashes,
                cohorts: self.cohorts,
            },
            Kind::Attributes => {
                let (count, range) = (size("attributes")?, "at most 10000 attributes");
                let many = Error::OutOfRange { name: "size", value: count.into(), range };
                ensure!(count <= 10_000, many);
                Question::Attributes { count }
            }
            Kind::State => {
                Question::State { periods: size("periods")?.into(), changes: self.changes }
            }
        })
    }
}

/// Messages per report that are allowed if no limit is given.
const USUAL_LIMIT: u64 = 16;
/// Messages per report that are allowed when a mechanism is asked for by name.
const NO_LIMIT: u64 = 1_000;
