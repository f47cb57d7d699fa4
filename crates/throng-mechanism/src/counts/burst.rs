//! `burst-count`: a '+' for what is true, and rarely a burst of noise. `burst-histogram`
//! ([`BurstHistogram`](crate::BurstHistogram)) is the same for categories.
//!
//! A user draws at most one event from a catalogue: j pairs of '+' and '−', which hide how many
//! messages there are and leave the estimate alone, or k times '+', or k times '−', which hide the
//! difference. In a histogram each category has a '+' and a '−' of its own; a user first draws a
//! category uniformly, its role, and the event happens there, whatever its own category is.
//!
//! ```text
//! client     '+' if the bit is 1 (a '+' for its category), else null
//!            at most one event in the K slots that the largest event needs, else nulls
//! analyzer   N₊ − N₋ − n·μ                   standard error √(n·σ²), for every dataset
//!            N_{v,+} − N_{v,−} − n·μ/k       standard error √(n·(m/k − (μ/k)²))
//! ```
//!
//! | symbol | meaning |
//! |---|---|
//! | μ, σ² | mean and variance of '+' minus '−' in an event |
//! | m | mean square of '+' minus '−' in an event |
//!
//! What is true travels as it is inside the bag, so the local floor is infinite: whoever sees which
//! messages belong to one user sees its value. Events are drawn without looking at the value, and
//! their size is limited by itself, never together with it: the value has a slot of its own. Their
//! law is fixed per user: more users than the crowd only add noise, fewer honest ones weaken what
//! was promised.

use crate::inquiry::{Settings, weights};
use crate::{
    Ask, Bag, Claims, Error, Estimate, Given, Inquiry, Law, Noise, Parameters, Protocol, Question,
    Scene, Score, Setting, TWO_64, Tally, Trace, Value, count_bits, sample, symbol_or_null,
    with_symbols,
};
use rand_core::CryptoRng;
use throng_account::profile::Bursts;
use throng_account::{Crowd, Delta, Probability, Profile, calibrate};

/// Symbols 0 for '−', 1 for '+', 2 for null: the user's bit, then the slots.
///
/// ```
/// use throng_account::profile::Bursts;
/// use throng_mechanism::{BurstCount, Claims, Protocol};
///
/// // A pair with chance ¼, a lone plus or a lone minus with chance ⅛ each. Null is symbol 2.
/// let bursts = Bursts::new(vec![1 << 62], vec![1 << 61], vec![1 << 61])?;
/// let count = BurstCount::new(bursts)?;
/// let law = count.law(&true);
/// assert_eq!((law[&vec![1, 2, 2]], law[&vec![0, 1, 1]]), (0.5, 0.25));
/// assert_eq!((law[&vec![1, 1, 2]], law[&vec![0, 1, 2]]), (0.125, 0.125));
///
/// // Pairs cost nothing: a user's noise is ±1 with chance ¼, of 400 users ±10.
/// assert_eq!(count.standard_error(400.0), 10.0);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BurstCount {
    events: Events,
}

impl BurstCount {
    /// The mechanism with this catalogue of events.
    pub fn new(bursts: Bursts) -> Result<Self, Error> {
        Ok(Self { events: Events::new(bursts)? })
    }

    /// The question of `throng account` about it.
    pub(crate) const INQUIRY: Inquiry = Inquiry {
        about: "The true bit and at most one burst of noise: exact",
        example: "--n 1e4 --pairs 0.01,0.005 \\\n      \
                  --plus 3e-5,1e-5 --minus 3e-5,1e-5 --epsilon 1",
        settings: &[Setting::Bursts],
        profile: |settings, crowd| {
            Ok(Box::new(throng_account::profile::BurstCount::new(crowd, told_bursts(settings)?)?))
        },
    };

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        Self::new(read_bursts(given)?)
    }

    /// The mechanism with as many slots as are allowed, up to the point where more gain little. One
    /// slot cannot hold a pair: the calibration refuses fewer than two.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let (crowd, epsilon, delta) = (ask.crowd, ask.epsilon, ask.delta);
        let slots = ask.burst_slots(12.0, 120);
        let found = calibrate::burst_count(crowd, slots, ask.epochs, epsilon, delta)?;
        Self::new(found.bursts().clone())
    }

    /// Refuses short bursts at a small ε, which cost more than coins and gain nothing.
    pub(crate) fn worth(ask: &Ask) -> Result<(), Error> {
        long_enough(ask, 1.0)
    }
}

impl Protocol for BurstCount {
    type Input = bool;

    fn messages(&self) -> usize {
        1 + self.events.slots
    }

    fn encode(&self, bit: &bool, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        report.push(2 - u64::from(*bit));
        self.events.append(0, 2, rng, report);
        Ok(())
    }

    fn law(&self, input: &bool) -> Law {
        self.events.law(2 - u64::from(*input), 0, 2)
    }

    fn cells(&self) -> usize {
        2
    }

    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        count_bits(messages, cells)
    }

    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let noise = self.events.noise(tally.n(), 1.0);
        let difference = tally.cells()[1] as f64 - tally.cells()[0] as f64;
        vec![Estimate::of_noise(difference - noise.mean(), &noise, 1.0, confidence)]
    }
}

impl Claims for BurstCount {
    fn question(&self) -> Question {
        Question::Bit
    }

    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(throng_account::profile::BurstCount::new(crowd, self.events.bursts.clone())?))
    }

    fn profile_near(&self, crowd: Crowd, delta: Delta) -> Result<Box<dyn Profile>, Error> {
        let bursts = self.events.bursts.clone();
        Ok(Box::new(throng_account::profile::BurstCount::near(crowd, bursts, delta)?))
    }

    fn standard_error(&self, reports: f64) -> f64 {
        self.events.noise(reports, 1.0).deviation()
    }

    fn half_width(&self, reports: f64, confidence: Probability) -> f64 {
        self.events.noise(reports, 1.0).reach(confidence)
    }

    /// Each message is a plus or a minus.
    fn influence(&self) -> f64 {
        2.0 * self.messages() as f64
    }

    fn message_bits(&self) -> u32 {
        2
    }

    fn parameters(&self) -> Parameters {
        burst_parameters(&self.events.bursts)
    }

    /// The exact likelihood ratio.
    fn score(&self, scene: &Scene) -> Result<Option<Score>, Error> {
        let law =
            throng_account::profile::BurstCount::new(scene.crowd, self.events.bursts.clone())?;
        Ok(Some(Box::new(move |tally: &Tally| {
            let count = |cell: usize| tally.cells()[cell] as i64;
            law.log_ratio(count(1), count(0))
        })))
    }

    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        value.bit().ok()?;
        Some(self.events.trace(2))
    }
}

/// The catalogue, ready to be drawn from: pairs, then '+', then '−', each from the smallest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Events {
    pub(crate) bursts: Bursts,
    pub(crate) slots: usize,
    catalogue: sample::Catalogue,
}

impl Events {
    pub(crate) fn new(bursts: Bursts) -> Result<Self, Error> {
        let weights =
            [bursts.pairs(), bursts.plus(), bursts.minus()].into_iter().flatten().copied();
        let refused = Error::Parameter { name: "bursts", range: "in sum below 2^64" };
        let catalogue = sample::Catalogue::new(weights).ok_or(refused)?;
        Ok(Self { slots: bursts.slots() as usize, catalogue, bursts })
    }

    /// Appends one event in symbols `minus` and `minus + 1`, and nulls up to the last slot.
    ///
    /// Every slot is computed in the same way, so the work does not tell what was drawn.
    #[inline]
    pub(crate) fn append(
        &self,
        minus: u64,
        null: u64,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) {
        let (plus, total) = self.sizes(self.catalogue.draw(rng) as u64);
        report.extend((0..self.slots as u64).map(|slot| {
            let symbol = minus + u64::from(slot < plus);
            symbol_or_null(slot < total, symbol, null)
        }));
    }

    /// The number of '+' and of all messages that the event at this place of the catalogue has.
    #[inline]
    fn sizes(&self, event: u64) -> (u64, u64) {
        let pairs = self.bursts.pairs().len() as u64;
        let plus = pairs + self.bursts.plus().len() as u64;
        let last = plus + self.bursts.minus().len() as u64;
        // One mask for each kind; past the last event none is set.
        let mask = |kind: bool| u64::from(kind).wrapping_neg();
        let is_pair = mask(event < pairs);
        let is_plus = mask(event >= pairs && event < plus);
        let is_minus = mask(event >= plus && event < last);
        let ups = (is_pair & (event + 1)) | (is_plus & (event + 1).wrapping_sub(pairs));
        let downs = (is_pair & (event + 1)) | (is_minus & (event + 1).wrapping_sub(plus));
        (ups, ups + downs)
    }

    /// The law of a true symbol and one event in symbols `minus` and `minus + 1`.
    pub(crate) fn law(&self, truth: u64, minus: u64, null: u64) -> Law {
        // Written apart from `sizes`, so that the one checks the other.
        let of_size = |list: &[u64], plus: usize, minus: usize| -> Vec<(usize, usize, u64)> {
            (1..).zip(list).map(|(size, &weight)| (plus * size, minus * size, weight)).collect()
        };
        let events = [
            of_size(self.bursts.pairs(), 1, 1),
            of_size(self.bursts.plus(), 1, 0),
            of_size(self.bursts.minus(), 0, 1),
            vec![(0, 0, self.bursts.none())],
        ];
        let mut law = Law::new();
        for (ups, downs, weight) in events.concat().into_iter().filter(|event| event.2 > 0) {
            let nulls = self.slots - ups - downs;
            let noise = [vec![minus + 1; ups], vec![minus; downs], vec![null; nulls]].concat();
            *law.entry(with_symbols(&noise, &[truth])).or_insert(0.0) += weight as f64 / TWO_64;
        }
        law
    }

    /// The trace of an event of any size: slots that are not all `null`.
    pub(crate) fn trace(&self, null: u64) -> Trace {
        let weights = [self.bursts.pairs(), self.bursts.plus(), self.bursts.minus()];
        let total: u128 = weights.into_iter().flatten().map(|&weight| u128::from(weight)).sum();
        Trace::new(1, total as f64 / TWO_64, move |report| {
            u64::from(report.iter().skip(1).any(|symbol| *symbol != null))
        })
    }

    /// The noise of events in '+' minus '−', when one happens where it is counted with chance
    /// `role`.
    pub(crate) fn noise(&self, reports: f64, role: f64) -> Noise {
        let signed = |list: &[u64], sign: i64| -> Vec<(i64, f64)> {
            let sizes = (1..).map(|size: i64| sign * size);
            sizes.zip(list.iter().map(|&weight| role * weight as f64 / TWO_64)).collect()
        };
        let events = [signed(self.bursts.plus(), 1), signed(self.bursts.minus(), -1)].concat();
        Noise::new(reports, events)
    }
}

pub(crate) fn read_bursts(given: &Given<'_, '_>) -> Result<Bursts, Error> {
    Ok(Bursts::new(given.weights("pairs")?, given.weights("plus")?, given.weights("minus")?)?)
}

/// The catalogue as an accountant is told of it.
pub(crate) fn told_bursts(settings: &Settings) -> Result<Bursts, Error> {
    let Settings { pairs, plus, minus, .. } = settings;
    Ok(Bursts::new(weights(pairs)?, weights(plus)?, weights(minus)?)?)
}

/// The weights of all events.
pub(crate) fn burst_parameters(bursts: &Bursts) -> Parameters {
    let lists = [("pairs", bursts.pairs()), ("plus", bursts.plus()), ("minus", bursts.minus())];
    lists.map(|(name, weights)| (name, weights.to_vec())).into()
}

/// Refuses where too few messages are allowed for bursts to be worth their search.
pub(crate) fn long_enough(ask: &Ask, reach: f64) -> Result<(), Error> {
    if ask.epsilon.get() * (ask.max_messages as f64) < reach {
        let why = "with so few messages bursts gain nothing over coins at this epsilon";
        return Err(Error::NotAsked { why });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BurstHistogram;
    use crate::testing::Planted;
    use crate::testing::{OneByOne, assert_inverse, assert_sampled, assert_view, confidence, rng};
    use throng_account::Crowd;

    fn bursts(pairs: &[f64], plus: &[f64], minus: &[f64]) -> Bursts {
        let weights = |list: &[f64]| list.iter().map(|p| (p * TWO_64) as u64).collect();
        Bursts::new(weights(pairs), weights(plus), weights(minus)).unwrap()
    }

    fn catalogues() -> [Bursts; 4] {
        [
            bursts(&[0.3], &[0.1, 0.15], &[0.2, 0.05]),
            bursts(&[], &[0.2, 0.1], &[0.3]),
            bursts(&[0.4], &[], &[0.0, 0.2]),
            bursts(&[0.1, 0.2, 0.0], &[0.1, 0.0, 0.05], &[0.2, 0.1]),
        ]
    }

    fn count(bursts: &Bursts) -> BurstCount {
        BurstCount::new(bursts.clone()).unwrap()
    }

    fn histogram(categories: u32, bursts: &Bursts) -> BurstHistogram {
        BurstHistogram::new(categories, bursts.clone()).unwrap()
    }

    fn claim(crowd: u64, bursts: &Bursts) -> throng_account::profile::BurstCount {
        throng_account::profile::BurstCount::new(Crowd::new(crowd).unwrap(), bursts.clone())
            .unwrap()
    }

    fn plus_only() -> Bursts {
        bursts(&[], &[0.6], &[])
    }

    fn histogram_claim(
        crowd: u64,
        categories: u64,
        bursts: &Bursts,
    ) -> throng_account::profile::BurstHistogram {
        let crowd = Crowd::new(crowd).unwrap();
        throng_account::profile::BurstHistogram::new(crowd, categories, bursts.clone()).unwrap()
    }

    #[test]
    fn the_claim_bounds_the_whole_bag() {
        for bursts in &catalogues()[..3] {
            assert_view(&count(bursts), &[&false, &true], 4, &claim(4, bursts));
        }
        let [.., wide] = &catalogues();
        assert_view(&count(wide), &[&false, &true], 2, &claim(2, wide));
    }

    // The claim gives roles away, and in crowds small enough to enumerate that costs much.
    #[test]
    fn the_claim_bounds_the_bag_of_a_histogram() {
        let (plus, pairs) = (plus_only(), bursts(&[0.3], &[0.3], &[0.3]));
        assert_view(&histogram(2, &plus), &[&0, &1], 12, &histogram_claim(12, 2, &plus));
        assert_view(&histogram(3, &plus), &[&0, &1, &2], 7, &histogram_claim(7, 3, &plus));
        assert_view(&histogram(2, &pairs), &[&0, &1], 6, &histogram_claim(6, 2, &pairs));
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for bursts in catalogues() {
            for input in [false, true] {
                assert_sampled(&count(&bursts), &input);
            }
            for input in 0..3 {
                assert_sampled(&histogram(3, &bursts), &input);
            }
        }
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for bursts in catalogues() {
            assert_inverse(&count(&bursts), &false, &[0.0]);
            assert_inverse(&count(&bursts), &true, &[1.0]);
            assert_inverse(&histogram(3, &bursts), &0, &[1.0, 0.0, 0.0]);
            assert_inverse(&histogram(3, &bursts), &2, &[0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn batches_and_parts_are_counted_alike() {
        let [bursts, ..] = catalogues();
        let (count, histogram) = (count(&bursts), histogram(4, &bursts));
        let (mut signs, mut symbols) = (vec![3, u64::MAX], vec![9, u64::MAX]);
        for user in 0..500 {
            count.encode(&(user % 3 == 0), &mut rng(user.into()), &mut signs).unwrap();
            histogram.encode(&(user % 4), &mut rng(user.into()), &mut symbols).unwrap();
        }
        assert_counted_alike(&count, &signs);
        assert_counted_alike(&histogram, &symbols);
    }

    /// A batch, its messages one by one, and the sum of its parts; two messages are malformed.
    #[track_caller]
    fn assert_counted_alike(protocol: &impl Protocol, messages: &[u64]) {
        let mut whole = Tally::new(protocol);
        whole.absorb(protocol, messages);
        let mut cells = vec![0; protocol.cells()];
        for message in messages {
            let _ = protocol.absorb(&[*message], &mut cells);
        }
        assert_eq!((whole.cells(), whole.malformed(), whole.reports()), (&cells[..], 2, 500));
        let (mut left, mut right) = (Tally::new(protocol), Tally::new(protocol));
        left.absorb(protocol, &messages[..701]);
        right.absorb(protocol, &messages[701..]);
        left.merge(&right);
        assert_eq!(left, whole);
    }

    // The catalogue of the accountant's vectors for ten thousand users, ε = 1, K = 6: its mean and
    // error, worked out by an independent program.
    #[test]
    fn mean_and_error_of_a_real_catalogue() {
        let n = 1e4_f64;
        let burst = |s: f64, last: f64, k: i32| {
            s.powi(k) / f64::from(k) / n * if k == 6 { last } else { 1.0 }
        };
        let pairs: Vec<f64> =
            (1..=3).map(|j| 195.0124 * (-0.025 * f64::from(j)).exp() / f64::from(j) / n).collect();
        let plus: Vec<f64> = (1..=6).map(|k| burst(0.418476, 9.869, k)).collect();
        let minus: Vec<f64> = (1..=6).map(|k| burst(0.442520, 9.601, k)).collect();
        let count = count(&bursts(&pairs, &plus, &minus));
        assert_eq!(count.messages(), 7);
        assert!((count.events.noise(n, 1.0).mean() + 0.0890262).abs() < 1e-6);
        assert!((count.standard_error(n) - 1.8050975).abs() < 1e-6);
        assert_eq!(count.influence(), 14.0);
    }

    #[test]
    fn influence_is_reached() {
        let [bursts, ..] = catalogues();
        let (count, histogram) = (count(&bursts), histogram(2, &bursts));
        let counted = |symbol| {
            let mut tally = Tally::new(&count);
            tally.absorb(&count, &[symbol; 3]);
            count.estimate(&tally, confidence())[0].value
        };
        assert_eq!(counted(1) - counted(0), count.influence());
        let counted = |symbol| {
            let mut tally = Tally::new(&histogram);
            tally.absorb(&histogram, &[symbol; 3]);
            histogram.estimate(&tally, confidence())[1].value
        };
        assert_eq!(counted(3) - counted(2), histogram.influence());
    }

    #[test]
    fn nonsense_is_refused() {
        let [bursts, ..] = catalogues();
        assert!(BurstHistogram::new(1, bursts.clone()).is_err());
        let (histogram, mut report) = (histogram(3, &bursts), Vec::new());
        assert!(histogram.encode(&3, &mut rng(0), &mut report).is_err());
        assert!(report.is_empty());
        assert!(histogram.absorb(&[7], &mut [0; 7]).is_err());
        assert!(histogram.absorb(&[1, 1], &mut [0; 7]).is_err());
        assert!(count(&bursts).absorb(&[3], &mut [0; 2]).is_err());
        assert!(count(&bursts).absorb(&[], &mut [0; 2]).is_err());
    }

    // A client that sends no noise when its bit is 0.
    #[test]
    #[should_panic(expected = " > ")]
    fn noise_only_for_ones_breaks_the_claim() {
        let [bursts, ..] = &catalogues();
        let honest = count(bursts);
        let planted = Planted::client(&honest, |input, report| {
            if !*input {
                report.fill(2);
            }
        });
        assert_view(&planted, &[&false, &true], 3, &claim(3, bursts));
    }

    // A client with one slot less: the bit takes its place from the noise, so that the largest
    // events are shorter for ones.
    #[test]
    #[should_panic(expected = " > ")]
    fn noise_and_value_capped_together_break_the_claim() {
        let [bursts, ..] = &catalogues();
        let honest = count(bursts);
        let planted = Planted::client(&honest, |_, report| {
            if !report.contains(&2) {
                report[0] = 2;
            }
        });
        assert_view(&planted, &[&false, &true], 3, &claim(3, bursts));
    }

    // A client that adds noise to its own category instead of a random one: whoever is alone in a
    // category has no noise but its own.
    #[test]
    #[should_panic(expected = " > ")]
    fn a_role_that_follows_the_value_breaks_the_claim() {
        let honest = histogram(2, &plus_only());
        let planted = Planted::client(&honest, |input, report| {
            for symbol in report.iter_mut().filter(|symbol| **symbol < 4) {
                *symbol = 2 * u64::from(*input) + (*symbol & 1);
            }
        });
        assert_view(&planted, &[&0, &1], 12, &histogram_claim(12, 2, &plus_only()));
    }

    // A pair sends its '+' and forgets its '−'.
    #[test]
    #[should_panic(expected = "tail")]
    fn half_a_pair_is_noticed() {
        let [bursts, ..] = catalogues();
        let honest = count(&bursts);
        let planted = Planted::sampler(&honest, |_, report| {
            if report[1..] == [1, 0] {
                report[2] = 2;
            }
        });
        assert_sampled(&planted, &false);
    }

    // The mean of '+' alone is taken off: 0.4 instead of 0.1 for each user.
    #[test]
    #[should_panic(expected = "for 0")]
    fn a_mean_without_its_minus_part_is_noticed() {
        let [bursts, ..] = catalogues();
        let honest = count(&bursts);
        let planted = Planted::analyzer(&honest, |e| e.value -= 0.6);
        assert_inverse(&planted, &false, &[0.0]);
    }
}
