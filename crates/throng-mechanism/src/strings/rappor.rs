//! `rappor`: strings, as noisy Bloom filters (Erlingsson, Pihur, Korolova, "RAPPOR: Randomized
//! Aggregatable Privacy-Preserving Ordinal Response", 2014).
//!
//! A string sets h bits of a filter, which ones depends on the user's cohort. Each bit is replaced
//! by a fair coin with probability f, once per string and remembered: the permanent response. A
//! report shows each permanent bit through another coin, drawn afresh: the instantaneous response.
//!
//! ```text
//! client     B  = h of k bits, by the hash functions of the cohort
//!            B' = B, each bit replaced by a fair coin with probability f        once per string
//!            S  = 1 with probability q where B' is 1, p where it is 0           every report
//! analyzer   (c − p*·N)/(q* − p*) of the N reports of a cohort, c of them with the bit set
//!            p* = p + f(q−p)/2,  q* = q − f(q−p)/2,  q* − p* = (1−f)(q−p)
//! ```
//!
//! [`decode`](crate::decode) goes from there to the strings of a candidate list.
//!
//! # What is protected
//! One report with a fresh cohort is ε₁-LDP, the same randomizer for all users, so a shuffled crowd
//! gets the guarantee of [`throng_account::profile::ClonePair`] at ε₁ in full. A user who reports
//! again keeps cohort and permanent response, and others may change their strings: for several
//! reports together only the local guarantees are claimed.
//!
//! T reports on one string cost ε_T, and however many never more than ε_∞, by
//! [`Rappor::privacy`]. Both are per *distinct string*: sequences in which string after string is
//! replaced by another, at the same places, are apart by ε_∞ for each. That a user's string
//! changed, and when, is not hidden from whoever can link the reports: only the coins of the single
//! reports stand before it.

use crate::packed::column_sums;
use crate::{
    Ask, Bag, Bloom, Claims, DecodeOptions, Decoded, Error, Estimate, Filter, Given, Law, Memory,
    OTHER_QUESTION, Parameters, Protocol, Question, Spending, Tally, bits_of, rarer, sample, surer,
    within_floor,
};
use rand_core::CryptoRng;
use throng_account::profile::ClonePair;
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold, UpperOnly};

/// One message: the cohort, then the bits that are shown.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_account::{Probability, Threshold};
/// use throng_mechanism::{Bloom, Memory, Rappor};
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let coin = |p| Probability::new("coin", p).map(Threshold::at_least);
/// let rappor = Rappor::new(Bloom::new(64, 2, 4, 7)?, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
///
/// // One report costs 1.07, all that will ever be sent on one string 4·ln 3 = 4.39.
/// assert!((rappor.privacy().one_report().get() - 1.0743).abs() < 1e-4);
/// assert!((rappor.privacy().forever().get() - 4.0 * 3_f64.ln()).abs() < 1e-8);
///
/// // A report: the cohort, and the 64 bits that are shown.
/// let (mut memory, mut report) = (Memory::new(&rappor, 1, &mut rng), Vec::new());
/// rappor.respond("firefox", &mut memory, &mut rng, &mut report)?;
/// assert_eq!((report.len(), report[0]), (2, memory.cohort().into()));
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rappor {
    bloom: Bloom,
    f: Threshold,
    p: Threshold,
    q: Threshold,
    half: Threshold,
    privacy: throng_account::profile::Rappor,
}

impl Rappor {
    /// `q` must be above `p`.
    pub fn new(bloom: Bloom, f: Threshold, p: Threshold, q: Threshold) -> Result<Self, Error> {
        let probability = |name, coin: Threshold| Probability::new(name, coin.probability());
        let privacy = throng_account::profile::Rappor::new(
            bloom.hashes(),
            probability("f", f)?,
            probability("p", p)?,
            probability("q", q)?,
        )?;
        let half = Threshold::at_least(Probability::new("half", 0.5)?);
        Ok(Self { bloom, f, p, q, half, privacy })
    }

    /// The mechanism with a local ε₀ for one report and twice that for ever.
    pub(crate) fn local(bloom: Bloom, local: Epsilon) -> Result<Self, Error> {
        let hashes = f64::from(bloom.hashes());
        // ε∞ = 2h·ln((1−f/2)/(f/2)) = 2ε₀.
        let f = 2.0 / (1.0 + (local.get() / hashes).exp());
        let coin =
            |name, value: f64| Ok::<_, Error>(Threshold::at_least(Probability::new(name, value)?));
        let at = |q: f64| Self::new(bloom, coin("f", f)?, coin("p", 1.0 - q)?, coin("q", q)?);
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

    pub(crate) fn read(given: &Given<'_, '_>) -> Result<Self, Error> {
        let (bits, hashes) = (given.small("bits")?, given.small("hashes")?);
        let bloom = Bloom::new(bits, hashes, given.small("cohorts")?, given.number("seed")?)?;
        let [p, q] = given.pair("shown")?;
        let (p, q) = (Threshold::new(p)?, Threshold::new(q)?);
        Self::new(bloom, given.coin("permanent")?, p, q)
    }

    /// The mechanism with the largest ε₀ that any randomizer may have.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let Question::Text { bits, hashes, cohorts } = ask.question else {
            return Err(OTHER_QUESTION);
        };
        Self::local(Bloom::new(bits, hashes, cohorts, 0)?, ask.local_epsilon()?)
    }

    /// The filters.
    pub fn bloom(&self) -> &Bloom {
        &self.bloom
    }

    /// The coins: a permanent bit is replaced with probability f, and shown as 1 with probability p
    /// where it is 0, q where it is 1.
    pub fn coins(&self) -> [Threshold; 3] {
        [self.f, self.p, self.q]
    }

    /// ε of one report, of several, and of all there will ever be on one string.
    pub fn privacy(&self) -> throng_account::profile::Rappor {
        self.privacy
    }

    /// One of many reports of the same user: the permanent response is remembered, the
    /// instantaneous one drawn afresh. Nothing is appended when the memory is full and the string
    /// is not in it.
    pub fn respond(
        &self,
        value: &str,
        memory: &mut Memory,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let permanent = self.permanent(value, memory, rng)?;
        self.show(memory.cohort, &permanent, rng, report);
        Ok(())
    }

    /// The permanent response to a string: the one that is remembered, or a new one, which from now
    /// on is.
    pub fn permanent(
        &self,
        value: &str,
        memory: &mut Memory,
        rng: &mut impl CryptoRng,
    ) -> Result<Filter, Error> {
        let digest = self.bloom.digest(value);
        // Drawn whether it is needed or not, so that a string known already takes the same work.
        let mut permanent = self.replace(&self.bloom.filter(digest, memory.cohort), rng);
        let mut known = 0;
        for (other, remembered) in &memory.seen {
            let same = u64::from(*other == digest).wrapping_neg();
            known |= same;
            for (bits, remembered) in permanent.iter_mut().zip(remembered) {
                *bits ^= (*bits ^ remembered) & same;
            }
        }
        if known == 0 {
            if memory.seen.len() >= memory.limit as usize {
                return Err(Error::Value {
                    expected: "one of those the full memory already holds",
                });
            }
            memory.seen.push((digest, permanent));
        }
        Ok(permanent)
    }

    /// Chances that a bit is shown as 1: p* if the string does not set it, q* if it does.
    pub(crate) fn shown(&self) -> (f64, f64) {
        let (p, q) = (self.p.probability(), self.q.probability());
        let half = 0.5 * self.f.probability() * (q - p);
        (p + half, q - half)
    }

    /// Draws B' from B.
    #[inline]
    fn replace(&self, filter: &Filter, rng: &mut impl CryptoRng) -> Filter {
        let mut permanent = self.bloom.full();
        for (bits, truth) in permanent.iter_mut().zip(filter).take(self.bloom.words()) {
            let replaced = sample::coins(self.f, rng);
            let fair = sample::coins(self.half, rng);
            *bits &= truth & !replaced | fair & replaced;
        }
        permanent
    }

    /// Appends a cohort and S from B'.
    #[inline]
    fn show(
        &self,
        cohort: u32,
        permanent: &Filter,
        rng: &mut impl CryptoRng,
        report: &mut Vec<u64>,
    ) {
        report.push(u64::from(cohort));
        for (bits, full) in permanent.iter().zip(self.bloom.full()).take(self.bloom.words()) {
            let (zero, one) = (sample::coins(self.p, rng), sample::coins(self.q, rng));
            report.push((bits & one | !bits & zero) & full);
        }
    }

    #[inline]
    pub(crate) fn fresh_cohort(&self, rng: &mut impl CryptoRng) -> u32 {
        sample::below(u64::from(self.bloom.cohorts()), rng) as u32
    }

    /// The cohort and the bits of a message, if a client could have sent it.
    #[inline]
    fn parse<'a>(&self, message: &'a [u64]) -> Result<(usize, &'a [u64]), Error> {
        match message {
            [cohort, bits @ ..]
                if *cohort < u64::from(self.bloom.cohorts())
                    && bits.len() == self.bloom.words()
                    && bits.iter().zip(self.bloom.full()).all(|(bits, full)| bits & !full == 0) =>
            {
                Ok((*cohort as usize, bits))
            }
            _ => Err(Error::Malformed { expected: "a cohort and the bits of a filter" }),
        }
    }

    /// Counters of a cohort: its reports, then its bits.
    fn stride(&self) -> usize {
        self.bloom.bits() as usize + 1
    }
}

impl Protocol for Rappor {
    type Input = str;

    fn words(&self) -> usize {
        1 + self.bloom.words()
    }

    /// The one report of a user who will not report again: a fresh cohort, and a permanent response
    /// that is forgotten.
    fn encode(&self, input: &str, rng: &mut impl CryptoRng, report: &mut Bag) -> Result<(), Error> {
        let cohort = self.fresh_cohort(rng);
        let filter = self.bloom.filter(self.bloom.digest(input), cohort);
        let permanent = self.replace(&filter, rng);
        self.show(cohort, &permanent, rng, report);
        Ok(())
    }

    fn law(&self, input: &str) -> Law {
        let (bits, cohorts) = (self.bloom.bits(), self.bloom.cohorts());
        let (zero, one) = self.shown();
        let chance = |filter: u64, shown: u64| -> f64 {
            let bit = |i| if filter >> i & 1 == 1 { one } else { zero };
            (0..bits).map(|i| if shown >> i & 1 == 1 { bit(i) } else { 1.0 - bit(i) }).product()
        };
        let reports = (0..cohorts).flat_map(|cohort| {
            // Filters of more than one word have more reports than can be listed.
            let filter = self.bloom.filter(self.bloom.digest(input), cohort)[0];
            let share = 1.0 / f64::from(cohorts);
            (0..1_u64 << bits)
                .map(move |shown| (vec![u64::from(cohort), shown], share * chance(filter, shown)))
        });
        reports.collect()
    }

    fn cells(&self) -> usize {
        self.bloom.cohorts() as usize * self.stride()
    }

    /// Rows of one cohort are put side by side, and their columns added up.
    fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
        let cohorts = self.bloom.cohorts() as usize;
        let mut malformed = 0;
        let mut rows = vec![Vec::new(); cohorts];
        for messages in messages.chunks(self.words() * cohorts * ROWS) {
            for message in messages.chunks(self.words()) {
                match self.parse(message) {
                    Ok((cohort, bits)) => rows[cohort].extend_from_slice(bits),
                    Err(_) => malformed += 1,
                }
            }
            for (rows, cells) in rows.iter_mut().zip(cells.chunks_mut(self.stride())) {
                cells[0] += (rows.len() / self.bloom.words()) as u64;
                column_sums(rows, self.bloom.words(), &mut cells[1..]);
                rows.clear();
            }
        }
        malformed
    }

    /// For each cohort and each bit of its filter, the number of users whose string sets it.
    fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
        let (zero, one) = self.shown();
        let step = 1.0 / (one - zero);
        let cohorts = tally.cells().chunks(self.stride());
        let estimates = cohorts.flat_map(|cells| {
            let n = cells[0] as f64;
            cells[1..].iter().map(move |&count| {
                let above = count as f64 - n * zero;
                // t·q*(1−q*) + (n−t)·p*(1−p*) is linear in the truth t; its estimate is not
                // negative.
                let variance = n * zero * (1.0 - zero) + above * (1.0 - zero - one);
                Estimate::normal(above * step, variance.max(0.0).sqrt() * step, step, confidence)
            })
        });
        estimates.collect()
    }
}

impl Claims for Rappor {
    fn question(&self) -> Question {
        let (bits, hashes) = (self.bloom.bits(), self.bloom.hashes());
        Question::Text { bits, hashes, cohorts: self.bloom.cohorts() }
    }

    /// The profile of any randomizer with the ε₀ of one report; others reach the bound, this one
    /// need not.
    fn profile(&self, crowd: Crowd) -> Result<Box<dyn Profile>, Error> {
        Ok(Box::new(UpperOnly(ClonePair::strong(crowd, self.privacy.one_report())?)))
    }

    fn local_floor(&self) -> Option<Epsilon> {
        Some(self.privacy.one_report())
    }

    /// The standard error of the count of a rare string, when it is decoded and every common string
    /// is on the list.
    ///
    /// ```text
    /// √(n·π(1−π)/(h(1−h/k)))/(q*−p*),   π = p* + (q*−p*)·h/k
    /// ```
    fn standard_error(&self, reports: f64) -> f64 {
        let (h, k) = (f64::from(self.bloom.hashes()), f64::from(self.bloom.bits()));
        let (zero, one) = self.shown();
        let pi = zero + (one - zero) * h / k;
        (reports * pi * (1.0 - pi) / (h * (1.0 - h / k))).sqrt() / (one - zero)
    }

    /// All bits of a string shown against none, in an estimate that corrects for shared bits. Which
    /// strings are found at all may tip with one report, and no bound covers that.
    fn influence(&self) -> f64 {
        let (h, k) = (f64::from(self.bloom.hashes()), f64::from(self.bloom.bits()));
        let (zero, one) = self.shown();
        2.0 / ((one - zero) * (1.0 - h / k))
    }

    fn message_bits(&self) -> u32 {
        bits_of(self.bloom.cohorts().into()) + self.bloom.bits()
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("bits", vec![self.bloom.bits().into()]),
            ("hashes", vec![self.bloom.hashes().into()]),
            ("cohorts", vec![self.bloom.cohorts().into()]),
            ("seed", vec![self.bloom.seed()]),
            ("permanent", vec![self.f.get()]),
            ("shown", vec![self.p.get(), self.q.get()]),
        ]
    }

    fn weakened(&self, factor: f64) -> Result<Parameters, Error> {
        let (f, p, q) = (rarer(self.f, factor)?, rarer(self.p, factor)?, surer(self.q, factor)?);
        Ok(Self { f, p, q, ..*self }.parameters())
    }

    fn floored(&self, floor: Epsilon) -> Option<Parameters> {
        Some(Self::local(self.bloom, within_floor(floor)?).ok()?.parameters())
    }

    fn spending(&self) -> Spending {
        Spending::Memoized
    }

    fn memoized(&self, reports: u64) -> Option<Epsilon> {
        let (these, all) = (self.privacy.reports(reports), self.privacy.forever());
        Some(if these < all { these } else { all })
    }

    fn decode(
        &self,
        tally: &Tally,
        candidates: &[&str],
        options: &DecodeOptions,
    ) -> Option<Vec<Decoded>> {
        Some(crate::decode(self, tally, candidates, options))
    }
}

/// Rows per cohort that are gathered, on average, before their columns are added up.
const ROWS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        OneByOne, assert_inverse, assert_local, assert_sampled, assert_view, rng,
    };
    use rand_core::Rng;
    use std::panic::catch_unwind;

    fn coin(probability: f64) -> Threshold {
        Threshold::at_least(Probability::new("coin", probability).unwrap())
    }

    fn rappor(bits: u32, hashes: u32, cohorts: u32, [f, p, q]: [f64; 3]) -> Rappor {
        let bloom = Bloom::new(bits, hashes, cohorts, 5).unwrap();
        Rappor::new(bloom, coin(f), coin(p), coin(q)).unwrap()
    }

    /// Small protocols with the coins of the paper and with lopsided ones.
    fn small() -> [Rappor; 4] {
        let (paper, lopsided) = ([0.5, 0.5, 0.75], [0.2, 0.1, 0.7]);
        [
            rappor(3, 1, 2, paper),
            rappor(4, 2, 1, paper),
            rappor(4, 2, 2, lopsided),
            rappor(3, 2, 1, lopsided),
        ]
    }

    /// Strings that between them have every filter in the first cohort.
    fn strings(bloom: &Bloom) -> Vec<String> {
        let mut filters = std::collections::BTreeMap::new();
        for i in 0..1000 {
            let value = format!("{i}");
            filters.entry(bloom.filter(bloom.digest(&value), 0)).or_insert(value);
        }
        let sets: u32 = (0..bloom.hashes()).fold(1, |sets, j| sets * (bloom.bits() - j) / (j + 1));
        assert_eq!(filters.len(), sets as usize);
        filters.into_values().collect()
    }

    /// An error in a client.
    #[derive(Clone, Copy, PartialEq)]
    enum Bug {
        None,
        /// Bits that the string sets stay set.
        NeverCleared,
        /// The permanent response is drawn for every report.
        Forgetful,
    }

    /// Several reports of one user with a memory, in a fixed cohort, as one message.
    struct Repeated {
        rappor: Rappor,
        cohort: u32,
        reports: usize,
        sampler: Bug,
        law: Bug,
    }

    impl Repeated {
        fn new(rappor: Rappor, cohort: u32, reports: usize) -> Self {
            Self { rappor, cohort, reports, sampler: Bug::None, law: Bug::None }
        }

        fn filter(&self, input: &str) -> u64 {
            self.rappor.bloom.filter(self.rappor.bloom.digest(input), self.cohort)[0]
        }

        /// The chance that independent bits take these values, each 1 with its own chance.
        fn bits(&self, values: u64, one: impl Fn(u32) -> f64) -> f64 {
            let chance = |i| if values >> i & 1 == 1 { one(i) } else { 1.0 - one(i) };
            (0..self.rappor.bloom.bits()).map(chance).product()
        }
    }

    impl Protocol for Repeated {
        type Input = str;

        fn messages(&self) -> usize {
            1
        }

        fn words(&self) -> usize {
            self.reports * self.rappor.words()
        }

        fn encode(
            &self,
            input: &str,
            rng: &mut impl CryptoRng,
            report: &mut Bag,
        ) -> Result<(), Error> {
            let mut memory = Memory { cohort: self.cohort, limit: 1, seen: Vec::new() };
            for _ in 0..self.reports {
                self.rappor.permanent(input, &mut memory, rng)?;
                if self.sampler == Bug::NeverCleared {
                    memory.seen[0].1[0] |= self.filter(input);
                }
                self.rappor.respond(input, &mut memory, rng, report)?;
                if self.sampler == Bug::Forgetful {
                    memory.seen.clear();
                }
            }
            Ok(())
        }

        fn law(&self, input: &str) -> Law {
            let [f, p, q] = self.rappor.coins().map(Threshold::probability);
            let all = 1_u64 << self.rappor.bloom.bits();
            let filter = self.filter(input);
            let set = if self.law == Bug::NeverCleared { 1.0 } else { 1.0 - f / 2.0 };
            let chance = |shown: &[u64]| -> f64 {
                let given = |permanent: u64| -> f64 {
                    let prior = |i| if filter >> i & 1 == 1 { set } else { f / 2.0 };
                    let seen = |i| if permanent >> i & 1 == 1 { q } else { p };
                    let reports: f64 = shown.iter().map(|&shown| self.bits(shown, seen)).product();
                    self.bits(permanent, prior) * reports
                };
                (0..all).map(given).sum()
            };
            let mut law = Law::new();
            for index in 0..all.pow(self.reports as u32) {
                let shown: Vec<u64> =
                    (0..self.reports).map(|t| index / all.pow(t as u32) % all).collect();
                let message = shown.iter().flat_map(|&shown| [u64::from(self.cohort), shown]);
                let p = match self.law {
                    Bug::Forgetful => shown.iter().map(|&shown| chance(&[shown])).product(),
                    _ => chance(&shown),
                };
                law.insert(message.collect(), p);
            }
            law
        }

        fn cells(&self) -> usize {
            self.rappor.cells()
        }

        fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
            self.rappor.absorb_batch(messages, cells)
        }

        fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
            let bits = self.rappor.bloom.bits() as usize;
            let estimates = self.rappor.estimate(tally, confidence);
            estimates[self.cohort as usize * bits..][..bits].to_vec()
        }
    }

    fn truth(filter: u64, bits: u32) -> Vec<f64> {
        (0..bits).map(|i| (filter >> i & 1) as f64).collect()
    }

    #[test]
    fn the_claim_bounds_every_likelihood_ratio() {
        for rappor in small() {
            let strings = strings(&rappor.bloom);
            let inputs: Vec<&str> = strings.iter().map(String::as_str).collect();
            assert_local(&rappor, &inputs, rappor.privacy().one_report());
            for reports in 1..=2 {
                let repeated = Repeated::new(rappor, 0, reports);
                assert_local(&repeated, &inputs, rappor.privacy().reports(reports as u64));
            }
        }
    }

    #[test]
    fn disjoint_filters_reach_the_claim() {
        for rappor in &small()[..3] {
            let strings = strings(&rappor.bloom);
            for reports in 1..=2 {
                let repeated = Repeated::new(*rappor, 0, reports);
                let laws: Vec<Law> = strings.iter().map(|value| repeated.law(value)).collect();
                let ratios = laws.iter().flat_map(|p| laws.iter().map(move |q| (p, q)));
                let worst = ratios
                    .flat_map(|(p, q)| p.iter().map(|(report, mass)| (mass / q[report]).ln()))
                    .fold(0.0, f64::max);
                let claim = rappor.privacy().reports(reports as u64).get();
                assert!((worst - claim).abs() < 1e-8 * claim, "{worst} for {claim}");
            }
        }
    }

    // One report with a fresh cohort is one ε₁-LDP randomizer for all, cohort and bits together.
    #[test]
    fn a_shuffled_crowd_gets_the_whole_amplification() {
        let rappor = rappor(2, 1, 2, [0.5, 0.5, 0.75]);
        let local = rappor.privacy().one_report();
        // Other randomizers with this ε₀ reach the bound, this one does not.
        let profile = UpperOnly(ClonePair::strong(Crowd::new(3).unwrap(), local).unwrap());
        // One string of each pair of filters.
        let pair = |value: &String| {
            [0, 1].map(|cohort| rappor.bloom.filter(rappor.bloom.digest(value), cohort)[0])
        };
        let strings: std::collections::BTreeMap<[u64; 2], String> =
            (0..40).map(|i| format!("{i}")).map(|value| (pair(&value), value)).collect();
        let inputs: Vec<&str> = strings.values().map(String::as_str).collect();
        assert_eq!(inputs.len(), 4);
        assert_view(&rappor, &inputs, 3, &profile);
    }

    #[test]
    fn the_sampler_follows_the_law() {
        for rappor in small() {
            for value in ["", "a string"] {
                assert_sampled(&rappor, value);
                assert_sampled(&Repeated::new(rappor, rappor.bloom.cohorts() - 1, 1), value);
            }
        }
        // Two reports hang together through the permanent response.
        assert_sampled(&Repeated::new(rappor(3, 1, 2, [0.5, 0.1, 0.9]), 1, 2), "a string");
    }

    #[test]
    fn the_analyzer_inverts_the_law() {
        for rappor in small() {
            for cohort in 0..rappor.bloom.cohorts() {
                let repeated = Repeated::new(rappor, cohort, 1);
                for value in ["", "a string"] {
                    let truth = truth(repeated.filter(value), rappor.bloom.bits());
                    assert_inverse(&repeated, value, &truth);
                }
            }
        }
    }

    // A client in use elsewhere never clears a bit that its string sets: reports with the bit at 0
    // then say that the string is another one.
    #[test]
    fn true_bits_that_are_never_cleared_are_caught() {
        let rappor = rappor(3, 1, 1, [0.5, 0.1, 0.9]);
        let strings = strings(&rappor.bloom);
        let inputs: Vec<&str> = strings.iter().map(String::as_str).collect();
        let bug = |sampler, law| Repeated { sampler, law, ..Repeated::new(rappor, 0, 1) };
        // The code does it and the law does not know.
        let planted = bug(Bug::NeverCleared, Bug::None);
        assert!(catch_unwind(|| assert_sampled(&planted, inputs[0])).is_err());
        // The law knows and the claim does not.
        let planted = bug(Bug::NeverCleared, Bug::NeverCleared);
        assert_sampled(&planted, inputs[0]);
        let local = rappor.privacy().one_report();
        assert!(catch_unwind(|| assert_local(&planted, &inputs, local)).is_err());
    }

    #[test]
    fn a_permanent_response_that_is_not_remembered_is_caught() {
        let rappor = rappor(3, 1, 1, [0.5, 0.1, 0.9]);
        let strings = strings(&rappor.bloom);
        let inputs: Vec<&str> = strings.iter().map(String::as_str).collect();
        let bug = |sampler, law| Repeated { sampler, law, ..Repeated::new(rappor, 0, 2) };
        let planted = bug(Bug::Forgetful, Bug::None);
        assert!(catch_unwind(|| assert_sampled(&planted, inputs[0])).is_err());
        let planted = bug(Bug::Forgetful, Bug::Forgetful);
        assert_sampled(&planted, inputs[0]);
        let claim = rappor.privacy().reports(2);
        assert!(catch_unwind(|| assert_local(&planted, &inputs, claim)).is_err());
    }

    // With p in the place of p* an absent string gets f(q−p)/2 of every user.
    #[test]
    fn an_estimator_that_forgets_the_permanent_coin_is_caught() {
        struct Wrong(Repeated);
        impl Protocol for Wrong {
            type Input = str;
            fn messages(&self) -> usize {
                1
            }
            fn words(&self) -> usize {
                self.0.words()
            }
            fn encode(
                &self,
                input: &str,
                rng: &mut impl CryptoRng,
                report: &mut Bag,
            ) -> Result<(), Error> {
                self.0.encode(input, rng, report)
            }
            fn law(&self, input: &str) -> Law {
                self.0.law(input)
            }
            fn cells(&self) -> usize {
                self.0.cells()
            }
            fn absorb_batch(&self, messages: &[u64], cells: &mut [u64]) -> u64 {
                self.0.absorb_batch(messages, cells)
            }
            fn estimate(&self, tally: &Tally, confidence: Probability) -> Vec<Estimate> {
                let (zero, one) = self.0.rappor.shown();
                let offset = (zero - self.0.rappor.p.probability()) * tally.n() / (one - zero);
                let estimates = self.0.estimate(tally, confidence);
                estimates.iter().map(|estimate| estimate.rescaled(offset, 1.0)).collect()
            }
        }
        let honest = Repeated::new(rappor(3, 1, 1, [0.5, 0.5, 0.75]), 0, 1);
        let truth = truth(honest.filter("a"), 3);
        assert!(catch_unwind(|| assert_inverse(&Wrong(honest), "a", &truth)).is_err());
    }

    // The lecture's Figure 9.2 shows 145 ones of 256 at h = 4, f = 0.5, q = 0.75. That fits
    // p = 0.5, 144.5 expected, and not the printed p = 0.25, 97 expected.
    #[test]
    fn the_lectures_figure_was_drawn_with_p_one_half() {
        let ones = |p: f64| {
            let (zero, one) = rappor(256, 4, 1, [0.5, p, 0.75]).shown();
            4.0 * one + 252.0 * zero
        };
        assert!((ones(0.5) - 144.5).abs() < 1e-9 && (ones(0.25) - 97.0).abs() < 1e-9);
    }

    #[test]
    fn a_memory_answers_the_same_for_ever() {
        let rappor = rappor(100, 3, 7, [0.5, 0.1, 0.9]);
        let mut rng = rng(1);
        let mut memory = Memory::new(&rappor, 2, &mut rng);
        let first = rappor.permanent("one", &mut memory, &mut rng).unwrap();
        let second = rappor.permanent("two", &mut memory, &mut rng).unwrap();
        assert_ne!(first, second);
        let stored = memory.to_words(&rappor);
        let mut restored = Memory::from_words(&rappor, &stored).unwrap();
        assert_eq!(restored, memory);
        assert_eq!(rappor.permanent("one", &mut restored, &mut rng).unwrap(), first);
        assert_eq!(rappor.permanent("two", &mut restored, &mut rng).unwrap(), second);
        assert_eq!(restored, memory);
        assert_eq!(format!("{memory:?}"), "Memory { strings: 2, limit: 2, .. }");

        let mut reports = Vec::new();
        for _ in 0..50 {
            rappor.respond("one", &mut memory, &mut rng, &mut reports).unwrap();
        }
        let cohort = u64::from(memory.cohort());
        let reports: std::collections::BTreeSet<&[u64]> = reports.chunks(3).collect();
        assert!(reports.len() == 50 && reports.iter().all(|report| report[0] == cohort));

        let mut report = Vec::new();
        let refused = rappor.respond("three", &mut memory, &mut rng, &mut report).unwrap_err();
        assert!(matches!(refused, Error::Value { .. }) && report.is_empty());
        assert_eq!(memory.strings(), 2);
        for (place, wrong) in [(0, 7), (1, 1), (1, 1 << 32), (4, 1 << 36)] {
            let mut stored = stored.clone();
            stored[place] = wrong;
            assert!(Memory::from_words(&rappor, &stored).is_err(), "{place}: {wrong}");
        }
        assert!(Memory::from_words(&rappor, &stored[..4]).is_err());
        assert!(Memory::from_words(&rappor, &[0]).is_err());
    }

    #[test]
    fn batches_count_as_single_messages_do() {
        for (bits, cohorts) in [(16, 3), (70, 1), (128, 5), (512, 2)] {
            let rappor = rappor(bits, 2, cohorts, [0.3, 0.2, 0.9]);
            let mut rng = rng(2);
            let mut messages = Vec::new();
            for i in 0..3000 {
                rappor.encode(&format!("{}", i % 9), &mut rng, &mut messages).unwrap();
            }
            // Cohorts that are not there, and bits past the last.
            let words = rappor.words();
            messages[100 * words] = u64::from(cohorts);
            messages[200 * words] = u64::MAX;
            if bits % 64 != 0 {
                messages[300 * words + words - 1] |= 1 << (bits % 64);
            }
            // And a message that ends early.
            messages.pop();
            let expected = if bits % 64 == 0 { 3 } else { 4 };
            let mut cells = vec![0; rappor.cells()];
            let malformed = messages
                .chunks(words)
                .filter(|message| rappor.absorb(message, &mut cells).is_err())
                .count();
            let mut tally = Tally::new(&rappor);
            tally.absorb(&rappor, &messages);
            assert_eq!((tally.malformed(), malformed), (expected, expected as usize));
            assert_eq!(tally.cells(), cells);
            let mut parts = Tally::new(&rappor);
            for part in messages.chunks(words * 700) {
                let mut tally = Tally::new(&rappor);
                tally.absorb(&rappor, part);
                parts.merge(&tally);
            }
            assert_eq!(parts, tally);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let bloom = Bloom::new(8, 2, 1, 0).unwrap();
        for (p, q) in [(0.5, 0.5), (0.75, 0.5)] {
            assert!(Rappor::new(bloom, coin(0.5), coin(p), coin(q)).is_err());
        }
        // Anything at all is a message of 64 bits, and none is too long.
        let rappor = rappor(64, 2, 2, [0.5, 0.5, 0.75]);
        let mut cells = vec![0; rappor.cells()];
        assert!(rappor.absorb(&[1, rng(3).next_u64()], &mut cells).is_ok());
        for wrong in [&[][..], &[0], &[2, 0], &[0, 0, 0]] {
            assert!(rappor.absorb(wrong, &mut cells).is_err());
        }
    }
}
