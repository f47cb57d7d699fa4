//! The planner: for a question, a crowd and a promise, every mechanism that can keep it, calibrated,
//! with what it costs and what it gives.

use crate::{
    AdditiveHistogram, BinaryResponse, Bloom, BurstCount, BurstHistogram, CentralSum, CoinCount,
    Columns, Error, Histogram, KaryResponse, Key, LaplaceMean, Longitudinal, Mechanism, Rappor,
    Selection, SlicedSum, SplitAndMix, SubsetSelection, TwoMessageCount, UnarySum,
};
use throng_account::show::Upper;
use throng_account::tail::normal_reach;
use throng_account::tradeoff::gaussian_delta;
use throng_account::{Crowd, Delta, Epsilon, Probability, Threshold, calibrate};

/// What users are asked.
///
/// ```
/// use throng_mechanism::{Key, Question};
///
/// assert!(Question::Bit.keys().contains(&Key::BitSum));
/// assert_eq!(Question::Attributes { count: 5 }.keys(), [Key::Selection]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// How many say yes?
    Bit,
    /// What is the mean of a bounded number?
    Real,
    /// How many hold each of so many categories?
    Category {
        /// Categories.
        size: u32,
    },
    /// Which strings of a list are common?
    Text {
        /// Bits of the Bloom filter.
        bits: u32,
        /// Hash functions.
        hashes: u32,
        /// Cohorts.
        cohorts: u32,
    },
    /// Which of so many attributes is the commonest?
    Attributes {
        /// Attributes.
        count: u32,
    },
    /// How many say yes in each of so many periods?
    State {
        /// Periods, a power of two.
        periods: u64,
        /// Changes of one user's answer that are followed.
        changes: u32,
    },
}

impl Question {
    /// The mechanisms that answer it.
    pub fn keys(self) -> &'static [Key] {
        match self {
            Self::Bit => &[
                Key::BurstCount,
                Key::CoinCount,
                Key::BitSum,
                Key::TwoMessageCount,
                Key::RandomizedResponse,
            ],
            Self::Real => {
                &[Key::SlicedSum, Key::RealSum, Key::OneBitMean, Key::LaplaceMean, Key::SplitAndMix]
            }
            Self::Category { .. } => &[
                Key::BurstHistogram,
                Key::AdditiveHistogram,
                Key::Histogram,
                Key::KaryResponse,
                Key::SubsetSelection,
            ],
            Self::Text { .. } => &[Key::Rappor],
            Self::Attributes { .. } => &[Key::Selection],
            Self::State { .. } => &[Key::Longitudinal],
        }
    }
}

/// A question, who answers it, and what they are promised.
///
/// ```
/// # use throng_account::{Crowd, Delta, Epsilon};
/// use throng_mechanism::{Ask, Key, Question};
///
/// let ask = Ask {
///     question: Question::Bit,
///     reports: 1000,
///     crowd: Crowd::new(1000)?,
///     epsilon: Epsilon::new(1.0)?,
///     delta: Delta::new(1e-6)?,
///     max_messages: 16,
///     local_floor: None,
///     fragile: false,
/// };
/// // Among a thousand one bit in 33 is flipped, and the promise is kept by a hair.
/// let mechanism = ask.calibrate(Key::BitSum)?;
/// assert!((mechanism.standard_error(1000) - 5.82).abs() < 0.01);
/// let reached = mechanism.profile(ask.crowd)?.delta(ask.epsilon).upper;
/// assert!((0.99e-6..=1e-6).contains(&reached));
///
/// // Categories are not what it answers for.
/// assert!(ask.calibrate(Key::KaryResponse).is_err());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The question.
    pub question: Question,
    /// Reports expected, which the error is predicted for.
    pub reports: u64,
    /// Honest reports at least, which the promise is computed for.
    pub crowd: Crowd,
    /// ε against who sees the shuffled bag.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
    /// Messages per report at most.
    pub max_messages: u64,
    /// What must hold of one report by itself, if anything must.
    pub local_floor: Option<Epsilon>,
    /// Whether mechanisms that a single user or a single lost message can ruin are welcome.
    pub fragile: bool,
}

/// A calibrated mechanism and what to expect of it.
///
/// ```
/// # use throng_account::{Crowd, Delta, Epsilon};
/// # use throng_mechanism::{Ask, Key, Question};
/// # let ask = Ask {
/// #     question: Question::Bit,
/// #     reports: 1000,
/// #     crowd: Crowd::new(1000)?,
/// #     epsilon: Epsilon::new(1.0)?,
/// #     delta: Delta::new(1e-6)?,
/// #     max_messages: 16,
/// #     local_floor: None,
/// #     fragile: false,
/// # };
/// // One byte in three layers of 48.
/// let offer = ask.offers(Key::BitSum)?.remove(0);
/// assert_eq!(offer.bytes(), 145);
/// assert!((offer.half_width / offer.standard_error - 1.96).abs() < 0.001);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Predicted standard error ([`Mechanism::standard_error`]).
    pub standard_error: f64,
    /// The same for a cell that one user in ten holds.
    pub heavy_error: f64,
    /// The interval of 95 % reaches this far to each side.
    pub half_width: f64,
}

impl Offer {
    /// Bytes of one sealed report through two mixes: one outer layer around M onions of two layers
    /// each, 48 bytes a layer.
    pub fn bytes(&self) -> u64 {
        // A single word is cut to the bytes it needs, several are sent whole; and a message every
        // period is one message at a time.
        let message = match self.mechanism.words() {
            1 => u64::from(self.mechanism.message_bits().div_ceil(8)),
            words => 8 * words as u64,
        };
        let messages = match self.mechanism {
            Mechanism::Longitudinal(_) => 1,
            _ => self.mechanism.messages() as u64,
        };
        LAYER + messages * (message + 2 * LAYER)
    }
}

/// Every mechanism for a question, the recommended first, those that cannot keep the promise last.
///
/// ```
/// # use throng_account::{Crowd, Delta, Epsilon};
/// # use throng_mechanism::{Ask, Key, Plan, Question};
/// # let ask = Ask {
/// #     question: Question::Bit,
/// #     reports: 1000,
/// #     crowd: Crowd::new(1000)?,
/// #     epsilon: Epsilon::new(1.0)?,
/// #     delta: Delta::new(1e-6)?,
/// #     max_messages: 16,
/// #     local_floor: None,
/// #     fragile: false,
/// # };
/// // Of two mechanisms for a bit; `Plan::new` calibrates all of them.
/// let plan = Plan::of(&ask, [Key::BitSum, Key::CoinCount].map(|key| (key, ask.offers(key))));
/// let best = &plan.offers[0];
///
/// // Worse than one who holds all data, and much better than if nobody were trusted.
/// assert!(plan.central.unwrap() < best.standard_error);
/// assert!(best.standard_error < plan.local.unwrap());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What can be had, best first.
    pub offers: Vec<Offer>,
    /// What cannot, and why.
    pub refused: Vec<(Key, Error)>,
    /// Why the first offer is recommended, in a sentence.
    pub reason: String,
    /// Standard error of the central model at the same ε, where one trusted party holds all data.
    pub central: Option<f64>,
    /// Standard error of the local model at the same ε, where nobody is trusted.
    pub local: Option<f64>,
}

impl Plan {
    /// Calibrates everything that applies.
    pub fn new(ask: &Ask) -> Self {
        Self::of(ask, ask.question.keys().iter().map(|&key| (key, ask.offers(key))))
    }

    /// Made of what mechanisms offer, be it all of them or those that are known so far.
    pub fn of(
        ask: &Ask,
        found: impl IntoIterator<Item = (Key, Result<Vec<Offer>, Error>)>,
    ) -> Self {
        let mut refused = Vec::new();
        let mut offers: Vec<Offer> = Vec::new();
        for (key, found) in found {
            match found {
                Ok(found) => offers.extend(found),
                Err(why) => refused.push((key, why)),
            }
        }
        // Among errors within a tenth of the least the cheaper report is the better, and what one user
        // can ruin comes last.
        let fragile = |o: &Offer| matches!(o.mechanism, Mechanism::SplitAndMix(_));
        let sound = offers.iter().filter(|o| !fragile(o));
        let least = sound.map(|o| o.heavy_error).fold(f64::INFINITY, f64::min);
        let rank = |o: &Offer| {
            let far = o.heavy_error > 1.1 * least;
            (fragile(o), far, if far { o.heavy_error } else { o.bytes() as f64 })
        };
        offers.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
        });
        Self {
            reason: offers.first().map_or_else(String::new, |best| reason(ask, best)),
            central: ask.central_error(),
            local: ask.local_error(),
            offers,
            refused,
        }
    }
}

impl Ask {
    /// One mechanism, calibrated for the promise. Where it has a size to choose, the largest that
    /// `max_messages` allows up to the point where more gains little.
    pub fn calibrate(&self, key: Key) -> Result<Mechanism, Error> {
        let (crowd, epsilon, delta) = (self.crowd, self.epsilon, self.delta);
        let slots = self.max_messages.saturating_sub(1);
        let local = || calibrate::local_epsilon(crowd, epsilon, delta);
        Ok(match (key, self.question) {
            (Key::RandomizedResponse, Question::Bit) => {
                let coin = calibrate::bit_sum(crowd, epsilon, delta)?.coin;
                Mechanism::RandomizedResponse(BinaryResponse::new(coin)?)
            }
            (Key::BitSum, Question::Bit) => {
                let coin = calibrate::bit_sum(crowd, epsilon, delta)?.coin;
                Mechanism::BitSum(BinaryResponse::new(coin)?)
            }
            (Key::TwoMessageCount, Question::Bit) => {
                let coin = calibrate::two_message_count(crowd, epsilon, delta)?.coin;
                Mechanism::TwoMessageCount(TwoMessageCount::new(coin))
            }
            (Key::CoinCount, Question::Bit) => {
                let found = calibrate::coin_count(crowd, epsilon, delta)?.mechanism;
                Mechanism::CoinCount(CoinCount::new(small(found.slots())?, found.chance())?)
            }
            (Key::BurstCount, Question::Bit) => {
                // One slot cannot hold a pair: the calibration refuses fewer than two.
                let slots = slots.min((12.0 / epsilon.get()).ceil().max(2.0) as u64).min(120);
                let found = calibrate::burst_count(crowd, slots, epsilon, delta)?.mechanism;
                Mechanism::BurstCount(BurstCount::new(found.bursts().clone())?)
            }
            (Key::OneBitMean, Question::Real) => {
                let coin = calibrate::bit_sum(crowd, epsilon, delta)?.coin;
                Mechanism::OneBitMean(UnarySum::new(1, coin)?)
            }
            (Key::RealSum, Question::Real) => {
                let wanted = (epsilon.get() * (self.reports as f64).sqrt()).ceil() as u64;
                let bits = wanted.min(self.max_messages).max(1);
                let coin = calibrate::real_sum(crowd, bits, epsilon, delta)?.coin;
                Mechanism::RealSum(UnarySum::new(small(bits)?, coin)?)
            }
            (Key::LaplaceMean, Question::Real) => {
                Mechanism::LaplaceMean(LaplaceMean::local(local()?, GRID)?)
            }
            (Key::SlicedSum, Question::Real) => {
                let most = self.max_messages;
                let found = calibrate::sliced_sum(crowd, epsilon, delta, most)?.mechanism;
                let slots = small(found.slots())?;
                Mechanism::SlicedSum(SlicedSum::new(found.weights().to_vec(), slots)?)
            }
            (Key::SplitAndMix, Question::Real) => {
                if !self.fragile {
                    return Err(Error::NotAsked {
                        why: "one liar or one lost message ruins its sum; allow it with --fragile",
                    });
                }
                Mechanism::SplitAndMix(SplitAndMix::fragile(crowd, epsilon, delta, GRID)?)
            }
            (Key::KaryResponse, Question::Category { size }) => {
                let coin = calibrate::kary_response(crowd, size.into(), epsilon, delta)?.coin;
                Mechanism::KaryResponse(KaryResponse::new(size, coin)?)
            }
            (Key::SubsetSelection, Question::Category { size }) => {
                Mechanism::SubsetSelection(self.subset_selection(size, local()?)?)
            }
            (Key::Histogram, Question::Category { size }) => {
                let changing = u64::from(size).min(2);
                let coin = calibrate::columns(crowd, changing, epsilon, delta)?.coin;
                Mechanism::Histogram(Histogram::new(Columns::new(size, coin)?))
            }
            (Key::AdditiveHistogram, Question::Category { size }) => {
                let k = size.into();
                let found = calibrate::additive_histogram(crowd, k, epsilon, delta)?.mechanism;
                let slots = small(found.slots())?;
                Mechanism::AdditiveHistogram(AdditiveHistogram::new(size, slots, found.chance())?)
            }
            (Key::BurstHistogram, Question::Category { size }) => {
                let slots = slots.min((24.0 / epsilon.get()).ceil().max(2.0) as u64).min(48);
                let k = size.into();
                let found = calibrate::burst_histogram(crowd, k, slots, epsilon, delta)?.mechanism;
                Mechanism::BurstHistogram(BurstHistogram::new(size, found.bursts().clone())?)
            }
            (Key::Rappor, Question::Text { bits, hashes, cohorts }) => {
                Mechanism::Rappor(rappor(Bloom::new(bits, hashes, cohorts, 0)?, local()?)?)
            }
            (Key::Selection, Question::Attributes { count }) => {
                let coin = calibrate::columns(crowd, count.into(), epsilon, delta)?.coin;
                Mechanism::Selection(Selection::new(Columns::new(count, coin)?))
            }
            (Key::Longitudinal, Question::State { periods, changes }) => {
                Mechanism::Longitudinal(Longitudinal::local(periods, changes, local()?)?)
            }
            _ => {
                return Err(Error::Parameter {
                    name: "mechanism",
                    range: "one that answers this kind of question",
                });
            }
        })
    }

    /// Subset selection with about the largest ε₀ that its own blanket hides, from one that any
    /// randomizer may have.
    fn subset_selection(&self, size: u32, any: Epsilon) -> Result<SubsetSelection, Error> {
        let mut best = SubsetSelection::local(size, any)?;
        let (mut low, mut high) = (any.get(), 1.5 * any.get());
        for _ in 0..12 {
            let middle = 0.5 * (low + high);
            let tried = SubsetSelection::local(size, Epsilon::new(middle)?)?;
            let profile = Mechanism::SubsetSelection(tried).profile(self.crowd)?;
            if profile.delta(self.epsilon).upper <= self.delta.get() {
                (low, best) = (middle, tried);
            } else {
                high = middle;
            }
        }
        Ok(best)
    }

    /// What a mechanism offers, at several sizes where that is worth it.
    pub fn offers(&self, key: Key) -> Result<Vec<Offer>, Error> {
        // A short catalogue beside the long one, and one between, which at a small ε may be searched
        // further than the long one.
        let middle = 1 + (4.0 / self.epsilon.get()).ceil() as u64;
        let mut sizes = match key {
            Key::BurstCount | Key::BurstHistogram => vec![9, middle.max(9), self.max_messages],
            _ => vec![self.max_messages],
        };
        sizes.retain(|size| *size <= self.max_messages);
        sizes.sort_unstable();
        sizes.dedup();
        // Columns send a message each; nothing needs to be calibrated to know.
        let columns = match self.question {
            Question::Category { size } if key == Key::Histogram => size,
            Question::Attributes { count } => count,
            _ => 0,
        };
        if u64::from(columns) > self.max_messages {
            return Err(Error::NotAsked { why: TOO_MANY });
        }
        // Short bursts at a small ε cost more than coins and gain nothing.
        let reach = self.epsilon.get() * self.max_messages as f64;
        if (key == Key::BurstCount && reach < 1.0) || (key == Key::BurstHistogram && reach < 3.0) {
            let why = "with so few messages bursts gain nothing over coins at this epsilon";
            return Err(Error::NotAsked { why });
        }
        let mut offers: Vec<Offer> = Vec::new();
        let mut refused = None;
        for max_messages in sizes {
            let ask = Self { max_messages, ..self.clone() };
            match ask.calibrate(key).and_then(|mechanism| self.offer(mechanism)) {
                // More messages are no offer unless they gain something.
                Ok(offer) if offers.iter().all(|o| o.standard_error > offer.standard_error) => {
                    offers.push(offer);
                }
                Ok(_) => {}
                Err(why) => refused = Some(why),
            }
        }
        match refused {
            Some(why) if offers.is_empty() => Err(why),
            _ => Ok(offers),
        }
    }

    /// A mechanism as an offer, if it respects the limits asked for.
    fn offer(&self, mechanism: Mechanism) -> Result<Offer, Error> {
        // A message every period is one message at a time.
        let at_once = match mechanism {
            Mechanism::Longitudinal(_) => 1,
            _ => mechanism.messages() as u64,
        };
        if at_once > self.max_messages {
            return Err(Error::NotAsked { why: TOO_MANY });
        }
        let mut mechanism = mechanism;
        if let Some(floor) = self.local_floor
            && mechanism.local_floor().is_some_and(|epsilon| epsilon > floor)
            && let Some(stricter) = floored(&mechanism, floor)
        {
            let kept = stricter.profile(self.crowd)?.delta(self.epsilon).upper <= self.delta.get();
            mechanism = if kept { stricter } else { mechanism };
        }
        if let Some(floor) = self.local_floor
            && mechanism.local_floor().is_none_or(|epsilon| epsilon > floor)
        {
            return Err(Error::NotAsked {
                why: "a report by itself does not keep the local floor asked for",
            });
        }
        let standard_error = mechanism.standard_error(self.reports);
        Ok(Offer {
            heavy_error: mechanism.heavy_error(self.reports),
            half_width: mechanism.half_width(self.reports, Probability::new("confidence", 0.95)?),
            standard_error,
            mechanism,
        })
    }

    fn central_error(&self) -> Option<f64> {
        let geometric = |sensitivity| {
            CentralSum::new(self.epsilon, sensitivity).map_or(f64::NAN, |sum| sum.standard_error())
        };
        match self.question {
            Question::Bit => Some(geometric(1)),
            // A replaced value moves two cells by one each.
            Question::Category { .. } => Some(geometric(2)),
            Question::Real => Some(std::f64::consts::SQRT_2 / self.epsilon.get()),
            Question::Attributes { count } => {
                Some(geometric(count).min(self.gaussian_error(count)))
            }
            Question::Text { .. } | Question::State { .. } => None,
        }
    }

    /// Of Gaussian noise on `count` counts at once: μ-GDP with sensitivity √count.
    fn gaussian_error(&self, count: u32) -> f64 {
        let (mut low, mut high) = (0.0, 50.0);
        for _ in 0..60 {
            let mu = 0.5 * (low + high);
            if gaussian_delta(mu, self.epsilon.get()) <= self.delta.get() {
                low = mu;
            } else {
                high = mu;
            }
        }
        f64::from(count).sqrt() / low
    }

    fn local_error(&self) -> Option<f64> {
        let (epsilon, n) = (self.epsilon, self.reports as f64);
        let error = match self.question {
            Question::Bit => BinaryResponse::local(epsilon).ok()?.standard_error(n),
            Question::Real => {
                let bit = BinaryResponse::local(epsilon).ok()?.flip();
                let laplace = LaplaceMean::local(epsilon, GRID).ok()?.standard_error(n);
                UnarySum::new(1, bit).ok()?.standard_error(n).min(laplace)
            }
            Question::Category { size } => {
                let subset = SubsetSelection::local(size, epsilon).ok()?;
                subset.standard_error_at(n / f64::from(size), n)
            }
            Question::Text { bits, hashes, cohorts } => {
                let bloom = Bloom::new(bits, hashes, cohorts, 0).ok()?;
                rappor(bloom, epsilon).ok()?.standard_error(n)
            }
            Question::Attributes { count } => {
                let each = Epsilon::new(epsilon.get() / f64::from(count)).ok()?;
                BinaryResponse::local(each).ok()?.standard_error(n)
            }
            Question::State { periods, changes } => {
                let local = Longitudinal::local(periods, changes, epsilon).ok()?;
                Mechanism::Longitudinal(local).standard_error(self.reports)
            }
        };
        Some(error)
    }
}

impl Mechanism {
    /// The question it answers.
    pub fn question(&self) -> Question {
        match self {
            Self::RandomizedResponse(_)
            | Self::BitSum(_)
            | Self::TwoMessageCount(_)
            | Self::CoinCount(_)
            | Self::BurstCount(_) => Question::Bit,
            Self::OneBitMean(_)
            | Self::RealSum(_)
            | Self::LaplaceMean(_)
            | Self::SlicedSum(_)
            | Self::SplitAndMix(_) => Question::Real,
            Self::KaryResponse(m) => Question::Category { size: m.categories() },
            Self::SubsetSelection(m) => Question::Category { size: m.categories() },
            Self::AdditiveHistogram(m) => Question::Category { size: m.categories() },
            Self::BurstHistogram(m) => Question::Category { size: m.categories() },
            Self::Histogram(m) => Question::Category { size: m.columns().columns() },
            Self::Selection(m) => Question::Attributes { count: m.columns().columns() },
            Self::Longitudinal(m) => Question::State { periods: m.periods(), changes: m.changes() },
            Self::Rappor(m) => {
                let bloom = m.bloom();
                let (bits, hashes, cohorts) = (bloom.bits(), bloom.hashes(), bloom.cohorts());
                Question::Text { bits, hashes, cohorts }
            }
        }
    }

    /// Half the width of the interval to be expected among `reports` users.
    pub fn half_width(&self, reports: u64, confidence: Probability) -> f64 {
        match self {
            // Noise whose law does not depend on the data, so an empty bag has the same.
            Self::TwoMessageCount(_)
            | Self::CoinCount(_)
            | Self::BurstCount(_)
            | Self::AdditiveHistogram(_)
            | Self::BurstHistogram(_)
            | Self::SplitAndMix(_) => {
                let mut tally = self.tally();
                tally.suppose(reports);
                self.estimate(&tally, confidence)[0].half_width
            }
            _ => normal_reach(confidence) * self.standard_error(reports),
        }
    }
}

/// The mechanism with a local ε₀ of exactly what is asked for, which hides more in a crowd than one
/// with a larger ε₀; `None` where a report shows the value.
fn floored(mechanism: &Mechanism, floor: Epsilon) -> Option<Mechanism> {
    let flip = |bits: u32| {
        let each = Epsilon::new(floor.get() / f64::from(bits) * (1.0 - 1e-8)).ok()?;
        Some(BinaryResponse::local(each).ok()?.flip())
    };
    let exact = Epsilon::new(floor.get() * (1.0 - 1e-8)).ok()?;
    let columns = |m: &Columns, bits: u32| Columns::new(m.columns(), flip(bits)?).ok();
    Some(match mechanism {
        Mechanism::RandomizedResponse(_) => {
            Mechanism::RandomizedResponse(BinaryResponse::new(flip(1)?).ok()?)
        }
        Mechanism::BitSum(_) => Mechanism::BitSum(BinaryResponse::new(flip(1)?).ok()?),
        Mechanism::OneBitMean(_) => Mechanism::OneBitMean(UnarySum::new(1, flip(1)?).ok()?),
        Mechanism::RealSum(m) => Mechanism::RealSum(UnarySum::new(m.bits(), flip(m.bits())?).ok()?),
        Mechanism::Histogram(m) => Mechanism::Histogram(Histogram::new(columns(m.columns(), 2)?)),
        Mechanism::Selection(m) => {
            let count = m.columns().columns();
            Mechanism::Selection(Selection::new(columns(m.columns(), count)?))
        }
        Mechanism::KaryResponse(m) => {
            Mechanism::KaryResponse(KaryResponse::local(m.categories(), exact).ok()?)
        }
        Mechanism::SubsetSelection(m) => {
            Mechanism::SubsetSelection(SubsetSelection::local(m.categories(), exact).ok()?)
        }
        Mechanism::LaplaceMean(m) => {
            Mechanism::LaplaceMean(LaplaceMean::local(exact, m.grid()).ok()?)
        }
        Mechanism::Rappor(m) => Mechanism::Rappor(rappor(*m.bloom(), exact).ok()?),
        Mechanism::Longitudinal(m) => {
            Mechanism::Longitudinal(Longitudinal::local(m.periods(), m.changes(), exact).ok()?)
        }
        _ => return None,
    })
}

/// RAPPOR with a local ε₀ for one report and twice that for ever.
fn rappor(bloom: Bloom, local: Epsilon) -> Result<Rappor, Error> {
    let hashes = f64::from(bloom.hashes());
    // ε∞ = 2h·ln((1−f/2)/(f/2)) = 2ε₀.
    let f = 2.0 / (1.0 + (local.get() / hashes).exp());
    let coin =
        |name, value: f64| Ok::<_, Error>(Threshold::at_least(Probability::new(name, value)?));
    let at = |q: f64| Rappor::new(bloom, coin("f", f)?, coin("p", 1.0 - q)?, coin("q", q)?);
    let (mut safe, mut wrong) = (0.5, 1.0);
    for _ in 0..50 {
        let q = 0.5 * (safe + wrong);
        if at(q).is_ok_and(|found| found.privacy().one_report() <= local) {
            safe = q;
        } else {
            wrong = q;
        }
    }
    at(safe)
}

/// Why the best offer is the best.
fn reason(ask: &Ask, best: &Offer) -> String {
    let key = best.mechanism.key();
    let cost = match (&best.mechanism, best.mechanism.messages()) {
        (Mechanism::Longitudinal(_), _) => "one message per period".into(),
        (_, 1) => "a single message".into(),
        (_, messages) => format!("{messages} messages (at most {} are allowed)", ask.max_messages),
    };
    let compared = match ask.central_error() {
        Some(central) => {
            format!(", {:.2} times that of the central model", best.heavy_error / central)
        }
        None => String::new(),
    };
    let floor = match best.mechanism.local_floor() {
        Some(epsilon) => format!(
            "should every mix collude, a report by itself still keeps epsilon {}",
            Upper(epsilon.get()).places(2)
        ),
        None => "it relies on one honest mix: the value travels in clear inside the bag".into(),
    };
    format!("{key} has the smallest error, give or take a tenth{compared}, with {cost}; {floor}.")
}

fn small(value: u64) -> Result<u32, Error> {
    u32::try_from(value).map_err(|_| Error::Parameter { name: "messages", range: "below 2^32" })
}

const TOO_MANY: &str = "it sends more messages than are allowed";
/// Bytes that one layer of sealing adds.
const LAYER: u64 = 48;
/// Steps of the unit interval for mechanisms on a grid.
const GRID: u32 = 1_000;
