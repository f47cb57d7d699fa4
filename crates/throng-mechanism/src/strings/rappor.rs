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

use crate::histograms::rates::Rates;
use crate::packed::column_sums;
use crate::{
    Ask, Bag, Bloom, Claims, DecodeOptions, Decoded, Error, Estimate, Filter, Given, Law,
    OTHER_QUESTION, Parameters, Protocol, Question, Spending, Tally, Trace, Value, bits_of, sample,
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
/// assert!(report.len() == 2 && report[0] < 4);
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
        let (f, [p, q]) = (given.noise("permanent")?, given.pair("shown")?);
        Self::new(bloom, f, Threshold::new(given.rarer(p))?, Threshold::new(given.surer(q))?)
    }

    /// The mechanism with the largest ε₀ that any randomizer may have.
    pub(crate) fn fit(ask: &Ask) -> Result<Self, Error> {
        let Question::Text { bits, hashes, cohorts } = ask.question else {
            return Err(OTHER_QUESTION);
        };
        let bloom = Bloom::new(bits, hashes, cohorts, 0)?;
        if ask.epochs > 1 {
            return Self::remembered(bloom, ask.epochs, ask.epsilon);
        }
        Self::local(bloom, ask.local_epsilon()?)
    }

    /// The mechanism of which this many reports on one string keep ε by themselves: a crowd hides
    /// reports of one person no better, as they hang together.
    pub(crate) fn remembered(bloom: Bloom, reports: u64, most: Epsilon) -> Result<Self, Error> {
        let at = |local: f64| Self::local(bloom, Epsilon::new(local)?);
        // ε for ever is twice that of one report, so half of it always does.
        let (mut safe, mut wrong) = (0.5 * most.get() * (1.0 - 1e-8), most.get());
        for _ in 0..30 {
            let local = 0.5 * (safe + wrong);
            if at(local).is_ok_and(|m| m.memoized(reports).is_some_and(|all| all <= most)) {
                safe = local;
            } else {
                wrong = local;
            }
        }
        at(safe)
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

    /// Chances that a bit is shown as 1: p* if the string does not set it, q* if it does.
    pub(crate) fn shown(&self) -> (f64, f64) {
        let (p, q) = (self.p.probability(), self.q.probability());
        let half = 0.5 * self.f.probability() * (q - p);
        (p + half, q - half)
    }

    /// Draws B' from the B of a digest in a cohort.
    #[inline]
    pub(super) fn replace(&self, digest: u64, cohort: u32, rng: &mut impl CryptoRng) -> Filter {
        let filter = self.bloom.filter(digest, cohort);
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
    pub(super) fn show(
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

    /// The cohort and the bits of a message or of a memory, if a client could have left it.
    #[inline]
    pub(super) fn parse<'a>(&self, message: &'a [u64]) -> Option<(u32, &'a [u64])> {
        let (cohort, bits) = message.split_first()?;
        let sent = *cohort < u64::from(self.bloom.cohorts()) && self.bloom.fits(bits);
        sent.then_some((*cohort as u32, bits))
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
        let permanent = self.replace(self.bloom.digest(input), cohort, rng);
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
                    Some((cohort, bits)) => rows[cohort as usize].extend_from_slice(bits),
                    None => malformed += 1,
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
        let rates = Rates { held: one, other: zero, gap: one - zero };
        let cohorts = tally.cells().chunks(self.stride());
        let supports = cohorts.flat_map(|cells| cells[1..].iter().map(|&count| (count, cells[0])));
        rates.estimates(supports, confidence)
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
            ("seed", vec![self.bloom.seed]),
            ("permanent", vec![self.f.get()]),
            ("shown", vec![self.p.get(), self.q.get()]),
        ]
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

    /// The first bit that the filter of the string does not have, shown as 1.
    fn trace(&self, value: Value<'_>) -> Option<Trace> {
        let digest = self.bloom.digest(value.text().ok()?);
        let bloom = self.bloom;
        let chance = self.shown().0;
        (bloom.hashes() < bloom.bits()).then(|| {
            Trace::new(1, chance, move |report| {
                let [cohort, shown @ ..] = report else { return 0 };
                let filter = bloom.filter(digest, u32::try_from(*cohort).unwrap_or_default());
                let absent = filter.iter().zip(shown).find(|(filter, _)| **filter != u64::MAX);
                absent.map_or(0, |(filter, shown)| shown >> filter.trailing_ones() & 1)
            })
        })
    }
}

/// Rows per cohort that are gathered, on average, before their columns are added up.
const ROWS: usize = 256;

#[cfg(test)]
mod tests;
