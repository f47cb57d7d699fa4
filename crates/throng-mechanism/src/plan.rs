//! The planner: for a question, a crowd and a promise, every mechanism that can keep it,
//! calibrated, with what it costs and what it gives.

use crate::lifetime::Fitted;
use crate::sums::laplace::GRID;
use crate::{
    BinaryResponse, Bloom, CentralSum, Claims, Error, Key, Kind, LaplaceMean, Longitudinal,
    Mechanism, Rappor, SubsetSelection, UnarySum,
};
use std::collections::BTreeSet;
use std::f64::consts::SQRT_2;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use throng_account::show::Upper;
use throng_account::{Crowd, Delta, Epsilon, Probability, calibrate};

/// The question that users are asked.
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
    /// How many hold each of the categories?
    Category {
        /// The number of categories.
        size: u32,
    },
    /// Which strings of a list are common?
    Text {
        /// Bits of the Bloom filter.
        bits: u32,
        /// The number of hash functions.
        hashes: u32,
        /// The number of cohorts.
        cohorts: u32,
    },
    /// Which of the attributes is the commonest?
    Attributes {
        /// The number of attributes.
        count: u32,
    },
    /// How many say yes in each of the periods?
    State {
        /// The number of periods, a power of two.
        periods: u64,
        /// The number of changes of one user's answer that are followed.
        changes: u32,
    },
}

impl Question {
    /// The kind of value it is put to.
    pub fn kind(self) -> Kind {
        match self {
            Self::Bit => Kind::Bit,
            Self::Real => Kind::Real,
            Self::Category { .. } => Kind::Category,
            Self::Text { .. } => Kind::Text,
            Self::Attributes { .. } => Kind::Attributes,
            Self::State { .. } => Kind::State,
        }
    }

    /// The mechanisms that answer it.
    pub fn keys(self) -> Vec<Key> {
        Key::of(self.kind())
    }

    /// The number of categories or attributes.
    pub(crate) fn size(self) -> Result<u32, Error> {
        match self {
            Self::Category { size: count } | Self::Attributes { count } => Ok(count),
            Self::Bit | Self::Real | Self::Text { .. } | Self::State { .. } => Err(OTHER_QUESTION),
        }
    }
}

/// A question, who answers it, and what they are promised.
///
/// ```
/// use throng_account::{Crowd, Delta, Epsilon};
/// use throng_mechanism::{Ask, Key, Question};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let ask = Ask::new(Question::Bit, Crowd::new(1000)?, epsilon, delta);
/// // Among a thousand one bit in 33 is flipped, and the promise is kept by a hair.
/// let mechanism = ask.calibrate(Key::BitSum)?;
/// assert!((mechanism.standard_error(1000.0) - 5.82).abs() < 0.01);
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
    /// The reports expected, which the error is predicted for.
    pub reports: u64,
    /// The least number of honest reports, which the promise is computed for.
    pub crowd: Crowd,
    /// The number of epochs in which it is put to the same people.
    pub epochs: u64,
    /// ε against whoever sees the shuffled bags of all epochs.
    pub epsilon: Epsilon,
    /// δ, of all epochs together.
    pub delta: Delta,
    /// The most messages per report.
    pub max_messages: u64,
    /// The ε that one report must keep by itself, if it must keep any.
    pub local_floor: Option<Epsilon>,
    /// True if mechanisms that a single user or a single lost message can ruin are welcome.
    pub fragile: bool,
}

impl Ask {
    /// A question put once to `reports` users, all of them honest, with reports of at most 16
    /// messages and no floor of their own.
    pub fn new(question: Question, reports: Crowd, epsilon: Epsilon, delta: Delta) -> Self {
        Self {
            question,
            reports: reports.get(),
            crowd: reports,
            epochs: 1,
            epsilon,
            delta,
            max_messages: 16,
            local_floor: None,
            fragile: false,
        }
    }

    /// The same question put to the same people in `epochs` epochs, with one promise for all of
    /// them together.
    #[must_use]
    pub fn with_epochs(self, epochs: u64) -> Self {
        Self { epochs, ..self }
    }

    /// The same question with another number of reports, which the error is predicted for.
    #[must_use]
    pub fn with_reports(self, reports: u64) -> Self {
        Self { reports, ..self }
    }

    /// The same question with `crowd` honest reports among them, which the promise is computed for.
    #[must_use]
    pub fn with_honest(self, crowd: Crowd) -> Self {
        Self { crowd, ..self }
    }

    /// The same question with reports of at most `max_messages` messages.
    #[must_use]
    pub fn with_max_messages(self, max_messages: u64) -> Self {
        Self { max_messages, ..self }
    }

    /// The same question with an ε that one report must keep by itself, or none.
    #[must_use]
    pub fn with_local_floor(self, local_floor: Option<Epsilon>) -> Self {
        Self { local_floor, ..self }
    }

    /// The same question with mechanisms that a single user or a single lost message can ruin, or
    /// without.
    #[must_use]
    pub fn with_fragile(self, fragile: bool) -> Self {
        Self { fragile, ..self }
    }
}

/// A calibrated mechanism and what to expect of it.
///
/// ```
/// use throng_account::{Crowd, Delta, Epsilon};
/// use throng_mechanism::{Ask, Key, Question};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let ask = Ask::new(Question::Bit, Crowd::new(1000)?, epsilon, delta);
/// let offer = ask.offers(Key::BitSum)?.remove(0);
/// assert!((offer.half_width / offer.standard_error - 1.96).abs() < 0.001);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Predicted standard error ([`Claims::standard_error`]).
    pub standard_error: f64,
    /// Predicted standard error of a cell that one user in ten holds.
    pub heavy_error: f64,
    /// Half the width of the interval of 95 %.
    pub half_width: f64,
    /// True if that interval is as wide as all that the answer can be, so that it says nothing.
    pub worthless: bool,
    /// ε of all epochs together, at the δ that was asked for: an upper bound.
    pub lifetime: Epsilon,
    /// ε of one release, at `each_delta`: an upper bound.
    pub each: Epsilon,
    /// δ of one release ([`Ask::each_delta`]).
    pub each_delta: Delta,
    /// What an attacker gains over guessing from one release: an upper bound on δ(0), the distance
    /// in total variation of what is seen if a user holds one value or another.
    pub advantage: f64,
    /// What an attacker gains over guessing from all releases together: an upper bound.
    pub lifetime_advantage: f64,
}

/// Every mechanism for a question, the recommended first, those that cannot keep the promise last.
///
/// ```
/// use throng_account::{Crowd, Delta, Epsilon};
/// use throng_mechanism::{Ask, Key, Plan, Question};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let ask = Ask::new(Question::Bit, Crowd::new(1000)?, epsilon, delta);
/// // Of two mechanisms for a bit; `Plan::new` calibrates all of them.
/// let found = [Key::BitSum, Key::CoinCount].map(|key| (key, ask.offers(key)));
/// let plan = Plan::of(&ask, found, |mechanism| mechanism.messages() as u64);
/// let best = &plan.offers[0];
///
/// // Worse than one who holds all data, and much better than if nobody were trusted.
/// assert!(plan.central.unwrap() < best.standard_error);
/// assert!(best.standard_error < plan.local.unwrap());
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The mechanisms that keep the promise, best first.
    pub offers: Vec<Offer>,
    /// The mechanisms that do not, and why.
    pub refused: Vec<(Key, Error)>,
    /// A sentence that says why the first offer is recommended.
    pub reason: String,
    /// Standard error of the central model for the same lifetime, where one trusted party holds all
    /// data: the better of geometric and Gaussian noise.
    pub central: Option<f64>,
    /// Standard error of the local model for the same lifetime, where nobody is trusted, and each
    /// epoch spends what pure local randomizers may that are composed as a whole.
    pub local: Option<f64>,
}

impl Plan {
    /// Calibrates everything that applies. `bytes` says what one report of a mechanism costs to
    /// send, which is known where bytes are laid out.
    pub fn new(ask: &Ask, bytes: impl Fn(&Mechanism) -> u64) -> Self {
        let keys = ask.question.keys();
        // A twin has the offers of the one it is a twin of.
        let own = keys.iter().filter(|key| key.row().twin.is_none_or(|twin| !keys.contains(&twin)));
        let sizes: Vec<(Key, Result<BTreeSet<u64>, Error>)> =
            own.map(|key| (*key, ask.sizes(*key))).collect();
        let jobs = sizes.iter().flat_map(|(key, sizes)| {
            sizes.iter().flatten().map(|size| (*key, *size)).collect::<Vec<_>>()
        });
        let jobs: Vec<(Key, u64)> = jobs.collect();
        let mut done = side_by_side(&jobs, |&(key, size)| ask.sized(key, size)).into_iter();
        let mut known: Vec<(Key, Result<Vec<Offer>, Error>)> = Vec::new();
        for (key, sizes) in sizes {
            let offers = sizes.and_then(|sizes| gathered(done.by_ref().take(sizes.len())));
            known.push((key, offers));
        }
        let renamed = |key: Key| {
            let (_, offers) = known.iter().find(|(known, _)| Some(*known) == key.row().twin)?;
            let renamed = |offer: &Offer| {
                let mechanism = offer.mechanism.named(key).ok()?;
                Some(Offer { mechanism, ..offer.clone() })
            };
            offers.as_ref().ok()?.iter().map(renamed).collect::<Option<Vec<_>>>()
        };
        let found: Vec<_> = keys
            .iter()
            .map(|&key| match known.iter().find(|(known, _)| *known == key) {
                Some((_, offers)) => (key, offers.clone()),
                None => (key, renamed(key).map_or_else(|| ask.offers(key), Ok)),
            })
            .collect();
        Self::of(ask, found, bytes)
    }

    /// The plan made of the offers found, be it all of them or those that are known so far.
    pub fn of(
        ask: &Ask,
        found: impl IntoIterator<Item = (Key, Result<Vec<Offer>, Error>)>,
        bytes: impl Fn(&Mechanism) -> u64,
    ) -> Self {
        let mut refused = Vec::new();
        let mut offers: Vec<Offer> = Vec::new();
        for (key, found) in found {
            match found {
                Ok(found) => offers.extend(found),
                Err(why) => refused.push((key, why)),
            }
        }
        // Among errors within a tenth of the least the cheaper report is the better, and what one
        // user can ruin comes last.
        let fragile = |o: &Offer| o.mechanism.key().row().fragile;
        let sound = offers.iter().filter(|o| !fragile(o));
        let least = sound.map(|o| o.heavy_error).fold(f64::INFINITY, f64::min);
        let rank = |o: &Offer| {
            let far = o.heavy_error > 1.1 * least;
            (fragile(o), far, if far { o.heavy_error } else { bytes(&o.mechanism) as f64 })
        };
        offers.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
        });
        let central = ask.central_error();
        Self {
            reason: offers.first().map_or_else(String::new, |best| reason(ask, best, central)),
            central,
            local: ask.local_error(),
            offers,
            refused,
        }
    }
}

impl Ask {
    /// One mechanism, calibrated for the promise over all epochs. Where it has a size to choose,
    /// the largest that `max_messages` allows up to the point where more gains little.
    pub fn calibrate(&self, key: Key) -> Result<Mechanism, Error> {
        Ok(self.found(key)?.mechanism)
    }

    fn found(&self, key: Key) -> Result<Fitted, Error> {
        if key.kind() != self.question.kind() {
            return Err(OTHER_QUESTION);
        }
        self.fitted(key)
    }

    /// The largest ε₀ with which any randomizer keeps the promise.
    pub(crate) fn local_epsilon(&self) -> Result<Epsilon, Error> {
        Ok(calibrate::local_epsilon(self.crowd, self.epsilon, self.delta)?)
    }

    /// Refuses reports of more messages than are allowed.
    pub(crate) fn allows(&self, needed: u64) -> Result<(), Error> {
        let most = self.max_messages;
        if needed > most { Err(Error::Messages { needed, most }) } else { Ok(()) }
    }

    /// The number of messages beside the first.
    pub(crate) fn slots(&self) -> u64 {
        self.max_messages.saturating_sub(1)
    }

    /// Slots for bursts: as many as are allowed, up to `reach` over the ε of one release, where
    /// more gain little, and to `most`.
    pub(crate) fn burst_slots(&self, reach: f64, most: u64) -> u64 {
        let each = if self.epochs > 1 { self.about_once().epsilon } else { self.epsilon };
        self.slots().min((reach / each.get()).ceil().max(2.0) as u64).min(most)
    }

    /// The offers of a mechanism, at several sizes where that is worth it.
    pub fn offers(&self, key: Key) -> Result<Vec<Offer>, Error> {
        gathered(self.sizes(key)?.into_iter().map(|size| self.sized(key, size)))
    }

    /// The most messages of each of the offers of a mechanism, or the reason why it has none, as
    /// far as that is known without calibrating.
    fn sizes(&self, key: Key) -> Result<BTreeSet<u64>, Error> {
        let once = if self.epochs > 1 { self.about_once() } else { self.clone() };
        if key.row().slow && self.gaussian_wins() {
            return Err(NO_GAIN);
        }
        if key.kind() == self.question.kind() {
            (key.row().worth)(&once)?;
        }
        // A short catalogue beside the long one, and one between, which at a small ε may be
        // searched further than the long one.
        let middle = 1 + (4.0 / once.epsilon.get()).ceil() as u64;
        let mut sizes = BTreeSet::from([self.max_messages]);
        if key.row().slow {
            sizes.extend([9, middle.max(9)]);
        }
        sizes.retain(|size| *size <= self.max_messages);
        Ok(sizes)
    }

    /// The offer of a mechanism with at most so many messages.
    fn sized(&self, key: Key, max_messages: u64) -> Result<Offer, Error> {
        let ask = Self { max_messages, ..self.clone() };
        ask.found(key).and_then(|fitted| self.offer(fitted))
    }

    /// A mechanism as an offer, if it respects the limits asked for.
    fn offer(&self, mut fitted: Fitted) -> Result<Offer, Error> {
        self.allows(fitted.mechanism.per_epoch() as u64)?;
        if let Some(floor) = self.local_floor {
            let above = |mechanism: &Mechanism| mechanism.local_floor().is_none_or(|it| it > floor);
            if above(&fitted.mechanism)
                && let Some(stricter) = fitted.mechanism.floored(floor)
                && let Ok(stricter) = self.costing(stricter)
            {
                fitted = stricter;
            }
            if above(&fitted.mechanism) {
                let why = "a report by itself does not keep the local floor asked for";
                return Err(Error::NotAsked { why });
            }
        }
        let reports = self.reports as f64;
        let (advantage, lifetime_advantage) = self.advantages(&mut fitted)?;
        let Fitted { mechanism, each, lifetime, .. } = fitted;
        let half_width = mechanism.half_width(reports, Probability::new("confidence", 0.95)?);
        Ok(Offer {
            standard_error: mechanism.standard_error(reports),
            heavy_error: mechanism.heavy_error(reports),
            half_width,
            // Counts, and sums of values from 0 to 1, lie from 0 to the number of reports.
            worthless: 2.0 * half_width >= reports,
            lifetime,
            each,
            each_delta: self.each_delta(),
            advantage,
            lifetime_advantage,
            mechanism,
        })
    }

    /// The better of geometric noise, each time with the part of ε that a pure mechanism may spend,
    /// and of Gaussian noise with √T times the deviation of a single release, which is exact.
    fn central_error(&self) -> Option<f64> {
        let each = self.each_pure();
        let gaussian = (self.epochs as f64).sqrt() / self.gaussian_mu();
        let geometric = |sensitivity| {
            CentralSum::new(each, sensitivity).map_or(f64::NAN, |sum| sum.standard_error())
        };
        match self.question {
            Question::Bit => Some(geometric(1).min(gaussian)),
            // A replaced value moves two cells by one each.
            Question::Category { .. } => Some(geometric(2).min(SQRT_2 * gaussian)),
            Question::Real => Some((SQRT_2 / each.get()).min(gaussian)),
            Question::Attributes { count } => {
                Some(geometric(count).min(f64::from(count).sqrt() * gaussian))
            }
            Question::Text { .. } | Question::State { .. } => None,
        }
    }

    fn local_error(&self) -> Option<f64> {
        let (epsilon, n) = (self.each_pure(), self.reports as f64);
        let error = match self.question {
            Question::Bit => BinaryResponse::local(epsilon).ok()?.standard_error(n),
            Question::Real => {
                let bit = BinaryResponse::local(epsilon).ok()?.flip();
                let laplace = LaplaceMean::local(epsilon, GRID).ok()?.standard_error(n);
                UnarySum::new(1, bit).ok()?.standard_error(n).min(laplace)
            }
            Question::Category { size } => {
                SubsetSelection::local(size, epsilon).ok()?.standard_error(n)
            }
            Question::Text { bits, hashes, cohorts } => {
                let bloom = Bloom::new(bits, hashes, cohorts, 0).ok()?;
                let local = match self.epochs {
                    0..=1 => Rappor::local(bloom, epsilon),
                    epochs => Rappor::remembered(bloom, epochs, self.epsilon),
                };
                local.ok()?.standard_error(n)
            }
            Question::Attributes { count } => {
                let each = Epsilon::new(epsilon.get() / f64::from(count)).ok()?;
                BinaryResponse::local(each).ok()?.standard_error(n)
            }
            Question::State { periods, changes } => {
                // One profile covers all periods.
                Longitudinal::local(periods, changes, self.epsilon).ok()?.standard_error(n)
            }
        };
        Some(error)
    }
}

/// The offers of one mechanism, by rising size: more messages are no offer unless they gain
/// something.
fn gathered(found: impl Iterator<Item = Result<Offer, Error>>) -> Result<Vec<Offer>, Error> {
    let mut offers: Vec<Offer> = Vec::new();
    let mut refused = None;
    for found in found {
        match found {
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

/// The results of all jobs, in order, by as many threads as there are cores; by this one alone
/// where there are no others.
fn side_by_side<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some((number, job)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(number).map(|job| (number, job))
        } {
            done.push((number, work(job)));
        }
        done
    };
    let cores = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let mut done = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..cores).filter_map(spawn).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The reason why the best offer is the best.
fn reason(ask: &Ask, best: &Offer, central: Option<f64>) -> String {
    let key = best.mechanism.key();
    let cost = match (best.mechanism.epochs(), best.mechanism.messages()) {
        (Some(_), _) => "one message per period".into(),
        (None, 1) => "a single message".into(),
        (None, messages) => {
            format!("{messages} messages (at most {} are allowed)", ask.max_messages)
        }
    };
    let compared = central.map_or_else(String::new, |central| {
        format!(", {:.2} times that of the central model", best.heavy_error / central)
    });
    let floor = match best.mechanism.local_floor() {
        Some(epsilon) => format!(
            "should every mix collude, a report by itself still keeps epsilon {}",
            Upper(epsilon.get()).places(2)
        ),
        None => "it relies on the mixes: the value travels in clear inside the bag, and whoever \
                 fills the bag with reports of their own reads it"
            .into(),
    };
    let lifetime = match ask.epochs {
        0..=1 => String::new(),
        epochs => format!(" of each of {epochs} releases"),
    };
    let worthless = if best.worthless {
        " Its interval is as wide as all that the answer can be: the estimate is worthless. Enlarge \
         the crowd or epsilon."
    } else {
        ""
    };
    format!(
        "{key} has the smallest error{lifetime}, give or take a tenth{compared}, with {cost}; \
         {floor}.{worthless}"
    )
}

/// A number of messages.
pub(crate) fn small(value: u64) -> Result<u32, Error> {
    u32::try_from(value).map_err(|_| Error::Parameter { name: "messages", range: "below 2^32" })
}

/// The reason against bursts where nearly Gaussian noise is the best.
pub(crate) const NO_GAIN: Error = Error::NotAsked {
    why: "over this many epochs bursts of so few messages gain next to nothing over coins: the \
          best noise is nearly Gaussian",
};
pub(crate) const OTHER_QUESTION: Error =
    Error::Parameter { name: "mechanism", range: "one that answers this kind of question" };
