//! From arguments to what the planner understands.

use crate::args::{Limits, LooseWish, Promise, ValueType, Wish};
use anyhow::{Context, Result};
use throng_account::{Crowd, Delta, Epsilon, Error};
use throng_mechanism::{Ask, Key, Question};

impl Wish {
    /// The question a mechanism answers, with the sizes given.
    pub fn about(&self, key: Key) -> Result<Ask> {
        self.limits.ask(&self.promise, self.limits.question_of(key)?, NO_LIMIT)
    }

    /// A question by the type of its values.
    pub fn of_value(&self, value: ValueType) -> Result<Ask> {
        self.limits.ask(&self.promise, self.limits.question(value)?, USUAL_LIMIT)
    }
}

impl LooseWish {
    /// With the crowd filled in.
    pub fn with(&self, n: u64) -> Wish {
        let crowd = crate::args::CrowdArgs { n, corrupt: self.corrupt };
        let promise = Promise { crowd, epsilon: self.epsilon, delta: self.delta };
        Wish { promise, limits: self.limits.clone() }
    }
}

impl Limits {
    fn ask(&self, promise: &Promise, question: Question, most: u64) -> Result<Ask> {
        if promise.epsilon == 0.0 {
            return Err(Error::OutOfRange { name: "epsilon", value: 0.0, range: "above 0" }.into());
        }
        // Who is corrupt and who is missing may be different people.
        let remaining = Crowd::remaining(promise.crowd.n, self.dropout)?;
        Ok(Ask {
            question,
            reports: promise.crowd.n,
            crowd: Crowd::honest(remaining.get(), promise.crowd.corrupt)?,
            epsilon: Epsilon::new(promise.epsilon)?,
            delta: Delta::new(promise.delta)?,
            max_messages: self.max_messages.unwrap_or(most),
            local_floor: self.local_floor.map(Epsilon::new).transpose()?,
            fragile: self.fragile,
        })
    }

    /// The question put to values of a type.
    pub fn question(&self, value: ValueType) -> Result<Question> {
        let size = |what: &'static str| -> Result<u32> {
            let size = self.size.with_context(|| format!("--size is needed: how many {what}?"))?;
            let range = "from 1 to 1000000";
            let out = || Error::OutOfRange { name: "size", value: size as f64, range };
            u32::try_from(size)
                .ok()
                .filter(|s| (1..=1_000_000).contains(s))
                .ok_or_else(out)
                .map_err(Into::into)
        };
        Ok(match value {
            ValueType::Bit => Question::Bit,
            ValueType::Real => Question::Real,
            ValueType::Category => Question::Category { size: size("categories")? },
            ValueType::String => Question::Text {
                bits: self.size.map_or(Ok(128), |_| size("Bloom filter bits"))?,
                hashes: self.hashes,
                cohorts: self.cohorts,
            },
            ValueType::Attributes => {
                let count = size("attributes")?;
                let range = "at most 10000 attributes";
                if count > 10_000 {
                    let value = f64::from(count);
                    return Err(Error::OutOfRange { name: "size", value, range }.into());
                }
                Question::Attributes { count }
            }
            ValueType::State => {
                Question::State { periods: size("periods")?.into(), changes: self.changes }
            }
        })
    }

    fn question_of(&self, key: Key) -> Result<Question> {
        self.question(value_of(key))
    }
}

/// What users hold who answer through this mechanism.
pub fn value_of(key: Key) -> ValueType {
    match key {
        Key::RandomizedResponse
        | Key::BitSum
        | Key::TwoMessageCount
        | Key::CoinCount
        | Key::BurstCount => ValueType::Bit,
        Key::OneBitMean | Key::RealSum | Key::LaplaceMean | Key::SlicedSum | Key::SplitAndMix => {
            ValueType::Real
        }
        Key::KaryResponse
        | Key::SubsetSelection
        | Key::Histogram
        | Key::AdditiveHistogram
        | Key::BurstHistogram => ValueType::Category,
        Key::Rappor => ValueType::String,
        Key::Selection => ValueType::Attributes,
        Key::Longitudinal => ValueType::State,
    }
}

/// Messages per report that nobody minds.
const USUAL_LIMIT: u64 = 16;
/// A mechanism asked for by name may be as long as it is.
const NO_LIMIT: u64 = 1_000;
