//! A device: from a value to a sealed report, once in every epoch.

#[cfg(not(target_arch = "wasm32"))]
use crate::file::StateFile;
use crate::keys::KnownKeys;
use crate::report::Revoked;
use crate::state::{State, Words};
use crate::{Error, Report};
use rand_core::CryptoRng;
use std::fmt;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use throng_collection::Collection;
use throng_mechanism::{Mechanism, Spending, Value, sample};
use throng_wire::{CollectionId, Route, SignedDirectory};
use zeroize::Zeroizing;

/// One device's part in one collection.
///
/// # What it never does
/// - Randomize twice for one epoch: whoever saw both reports could average. The sealed report is
///   kept, on disk where there is a file, before it is handed out, and handed out again when asked
///   for.
/// - Go back to an earlier epoch, or past the number of reports that the promise covers.
/// - Seal to keys that one party of the collection has not signed.
/// - Send anything after [`Client::disable`].
///
/// # What it remembers
/// With `rappor` a device shows its first string in every epoch, also when its string changes: a
/// second one would cost as much as all reports on the first. With `longitudinal` the value is the
/// bit of the epoch; epochs without a report count as if the bit had not changed, and are lost to
/// the count.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_client::{Client, Error};
/// use throng_collection::example;
/// use throng_mechanism::Value;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
/// let collection = example::collection();
/// let directory = example::directory(&collection);
///
/// // A collection that covers one report of each person.
/// let mut client = Client::new(collection)?;
/// client.learn(&directory, 0)?;
/// let report = client.report(Value::Bit(true), 0, &mut rng)?;
///
/// // Until the mix has it the same bytes, also for another value. Then nothing more.
/// let again = client.report(Value::Bit(false), 0, &mut rng)?;
/// assert_eq!(again.as_bytes(), report.as_bytes());
/// client.acknowledge(&report)?;
/// let [same, next] = [0, 1].map(|epoch| client.report(Value::Bit(true), epoch, &mut rng));
/// assert_eq!(same.unwrap_err(), Error::Reported { epoch: 0 });
/// assert_eq!(next.unwrap_err(), Error::Spent { reports: 1 });
/// # Ok::<(), Error>(())
/// ```
pub struct Client {
    collection: Collection,
    /// The mechanism that it randomizes by instead of the collection's, if it has a bug.
    planted: Option<Mechanism>,
    state: State,
    #[cfg(not(target_arch = "wasm32"))]
    file: Option<StateFile>,
    keys: KnownKeys,
    revoked: Revoked,
}

impl Client {
    /// A fresh device that keeps its state in memory. A second one for the same person starts a
    /// second odometer, so it is to live as long as the device it stands for.
    ///
    /// [`Collection::parse`] has checked that the promise is kept; one that is put together in code
    /// is taken at its word.
    pub fn new(collection: Collection) -> Result<Self, Error> {
        let (mechanism, epochs) = (&collection.terms.mechanism, collection.terms.promise.epochs);
        let merges = epochs > 1 && collection.schedule.window() > 1;
        let long = mechanism.epochs().is_some_and(|periods| epochs > periods);
        if long || merges && remembers(mechanism) {
            let reason = "reports that rest on a memory are not merged, nor more than its periods";
            return Err(Error::Schedule { reason });
        }
        Ok(Self {
            keys: KnownKeys::new(Route::from(&collection)),
            collection,
            planted: None,
            state: State::default(),
            #[cfg(not(target_arch = "wasm32"))]
            file: None,
            revoked: Revoked::default(),
        })
    }

    /// A device that keeps its state in a file, which only its owner may read. A file that is not
    /// there is made; one of another collection or version, or damaged, is refused and left as it
    /// is.
    ///
    /// ```
    /// use throng_client::{Client, Error};
    /// use throng_collection::example;
    ///
    /// let directory = tempfile::TempDir::new().unwrap();
    /// let path = directory.path().join("crashes.state");
    /// let collection = example::collection();
    ///
    /// let client = Client::open(collection.clone(), &path)?;
    /// assert!(path.exists());
    ///
    /// // Two at a time would randomize twice.
    /// let second = Client::open(collection.clone(), &path);
    /// assert!(matches!(second, Err(Error::State { .. })));
    /// drop(client);
    /// assert!(Client::open(collection, &path).is_ok());
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(collection: Collection, file: &Path) -> Result<Self, Error> {
        let mut client = Self::new(collection)?;
        let file = StateFile::open(file)?;
        if let Some(bytes) = file.read()? {
            client.state = client.decode(&bytes).map_err(|fault| file.refuse(fault))?;
        } else {
            file.replace(&client.state.encode(client.id()))?;
        }
        client.file = Some(file);
        Ok(client)
    }

    /// A device whose state, as [`Client::state`] gave it, is kept by other means than a file: in a
    /// browser, or by an app with a store of its own.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_client::Client;
    /// use throng_collection::example;
    /// use throng_mechanism::Value;
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let collection = example::collection();
    /// let directory = example::directory(&collection);
    /// let mut client = Client::new(collection.clone())?;
    /// client.learn(&directory, 0)?;
    /// let report = client.report(Value::Bit(true), 0, &mut rng)?;
    /// let kept = client.state();
    /// drop(client);
    ///
    /// // The odometer and the unsent report are as they were.
    /// let client = Client::restore(collection, &kept)?;
    /// assert_eq!(client.reports(), 1);
    /// assert_eq!(client.pending().unwrap().as_bytes(), report.as_bytes());
    /// # Ok::<(), throng_client::Error>(())
    /// ```
    pub fn restore(collection: Collection, state: &[u8]) -> Result<Self, Error> {
        let mut client = Self::new(collection)?;
        let refuse = |fault| Error::State { path: "the state that was kept".into(), fault };
        client.state = client.decode(state).map_err(refuse)?;
        Ok(client)
    }

    /// The same device with a planted bug: it randomizes by a mechanism that is not the one its
    /// collection promises, such as one with too little noise. Reports have the form that everyone
    /// expects. It is for audits, which have to notice, and never for a device that people hold.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_client::Client;
    /// use throng_collection::example;
    /// use throng_mechanism::Value;
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let collection = example::collection();
    /// let weak = collection.terms.mechanism.weakened(2.0)?;
    /// let mut client = Client::new(collection.clone())?.with_planted_bug(weak);
    /// client.learn(&example::directory(&collection), 0)?;
    /// let report = client.report(Value::Bit(true), 0, &mut rng)?;
    /// assert_eq!(report.as_bytes().len(), collection.shape().report_bytes());
    /// # Ok::<(), throng_client::Error>(())
    /// ```
    #[must_use]
    pub fn with_planted_bug(self, mechanism: Mechanism) -> Self {
        Self { planted: Some(mechanism), ..self }
    }

    /// Takes the keys of a window, given by its first epoch, if every party of the collection
    /// signed them. They replace those of another window.
    ///
    /// ```
    /// use throng_client::Client;
    /// use throng_collection::example;
    /// use throng_wire::SignedDirectory;
    ///
    /// let collection = example::collection();
    /// let directory = example::directory(&collection);
    /// let mut client = Client::new(collection)?;
    ///
    /// // One byte of a signature is another.
    /// let mut forged = directory.encode();
    /// *forged.last_mut().unwrap() ^= 1;
    /// let error = client.learn(&SignedDirectory::decode(&forged)?, 0).unwrap_err();
    /// assert_eq!(error.to_string(), "the directory is not signed by the party at hop 2");
    ///
    /// client.learn(&directory, 0)?;
    /// # Ok::<(), throng_client::Error>(())
    /// ```
    pub fn learn(&mut self, directory: &SignedDirectory, window: u64) -> Result<(), Error> {
        self.keys.learn(directory, window)
    }

    /// Randomizes a value, seals it, and remembers the report. Until that is
    /// [acknowledged](Client::acknowledge) the same epoch gets the same bytes, whatever the value.
    ///
    /// A number is given as its place in the range of the question, from 0 to 1. A value that is
    /// refused changes nothing, and neither does a state that cannot be written.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_client::{Client, Error};
    /// use throng_collection::example;
    /// use throng_mechanism::Value;
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let collection = example::collection();
    /// let directory = example::directory(&collection);
    /// let mut client = Client::new(collection)?;
    /// let unknown = client.report(Value::Bit(true), 0, &mut rng).unwrap_err();
    /// assert_eq!(unknown, Error::NoKeys { window: 0 });
    /// client.learn(&directory, 0)?;
    ///
    /// // The question is one for yes or no.
    /// let refused = client.report(Value::Real(0.5), 0, &mut rng).unwrap_err();
    /// assert!(matches!(refused, Error::Mechanism(_)));
    /// assert_eq!(client.reports(), 0);
    ///
    /// // Two layers of 48 bytes around one byte, whatever the answer.
    /// let report = client.report(Value::Bit(true), 0, &mut rng)?;
    /// assert_eq!(report.as_bytes().len(), 2 * throng_wire::LAYER + 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn report(
        &mut self,
        value: Value<'_>,
        epoch: u64,
        rng: &mut impl CryptoRng,
    ) -> Result<Report, Error> {
        if self.state.off {
            return Err(Error::Disabled);
        }
        if let Some(report) = self.pending().filter(|report| report.epoch() == epoch) {
            return Ok(report);
        }
        self.admit(epoch)?;
        let seal = self.keys.seal(epoch)?;
        let mut memory = self.state.memory.clone();
        let messages = self.randomize(value, epoch, &mut memory, rng)?;
        let sealed = seal.report(&messages, rng)?;
        let report = self.report_of(epoch, &sealed);
        self.save(State {
            off: false,
            reports: self.state.reports + 1,
            next: epoch + 1,
            memory,
            pending: Some(sealed),
        })?;
        Ok(report)
    }

    /// Lets go of a report that the first mix has taken. Another than the pending one changes
    /// nothing.
    pub fn acknowledge(&mut self, report: &Report) -> Result<(), Error> {
        match &self.state.pending {
            Some(pending) if pending[..] == *report.as_bytes() => {
                self.save(State { pending: None, ..self.state.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Switches off for good, or until [`Client::enable`]: the memory and the pending report are
    /// erased, and no report is made or sent any more, also none that was handed out before.
    ///
    /// ```
    /// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
    /// use throng_client::{Client, Error};
    /// use throng_collection::example;
    /// use throng_mechanism::Value;
    ///
    /// let mut rng = ChaCha12Rng::seed_from_u64(1);
    /// let collection = example::collection();
    /// let directory = example::directory(&collection);
    /// let mut client = Client::new(collection)?;
    /// client.learn(&directory, 0)?;
    /// let report = client.report(Value::Bit(true), 0, &mut rng)?;
    /// client.disable()?;
    /// assert!(report.is_revoked() && client.pending().is_none());
    /// assert_eq!(client.report(Value::Bit(true), 0, &mut rng).unwrap_err(), Error::Disabled);
    ///
    /// // What was spent stays spent.
    /// client.enable()?;
    /// assert!(report.is_revoked());
    /// let refused = client.report(Value::Bit(true), 0, &mut rng).unwrap_err();
    /// assert_eq!(refused, Error::Reported { epoch: 0 });
    /// # Ok::<(), Error>(())
    /// ```
    pub fn disable(&mut self) -> Result<(), Error> {
        // Even if the disk fails, this process sends nothing more.
        self.revoked.store(true, Ordering::SeqCst);
        let State { reports, next, .. } = self.state;
        self.state = State { off: true, reports, next, ..State::default() };
        self.save(self.state.clone())
    }

    /// Switches on again. The odometer goes on where it was. With `rappor` and `longitudinal`, what
    /// reports rested on is erased, so a device that has reported cannot take part any more.
    pub fn enable(&mut self) -> Result<(), Error> {
        if self.state.off {
            self.save(State { off: false, ..self.state.clone() })?;
            // Reports from before stay off.
            self.revoked = Revoked::default();
        }
        Ok(())
    }

    /// The state for [`Client::restore`]: to be kept before a report is sent, after every change,
    /// and as safe as the values it may tell of.
    pub fn state(&self) -> Vec<u8> {
        std::mem::take(&mut *self.state.encode(self.id()))
    }

    /// The report that is not yet acknowledged.
    pub fn pending(&self) -> Option<Report> {
        let (sealed, epoch) = (self.state.pending.as_ref()?, self.state.last()?);
        Some(self.report_of(epoch, sealed))
    }

    /// The odometer: reports so far, sent or not.
    pub fn reports(&self) -> u64 {
        self.state.reports
    }

    /// The latest epoch with a report.
    pub fn last_epoch(&self) -> Option<u64> {
        self.state.last()
    }

    /// True while the off switch is off.
    pub fn is_enabled(&self) -> bool {
        !self.state.off
    }

    /// The collection that it takes part in.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Refuses an epoch that may not have a new report.
    fn admit(&self, epoch: u64) -> Result<(), Error> {
        let State { reports, next, ref memory, .. } = self.state;
        let terms = &self.collection.terms;
        let epochs = terms.promise.epochs;
        match next.checked_sub(1) {
            Some(last) if epoch == last => return Err(Error::Reported { epoch }),
            Some(last) if epoch < last => return Err(Error::Past { epoch, last }),
            _ => {}
        }
        if reports >= epochs {
            return Err(Error::Spent { reports });
        }
        if epoch >= epochs {
            return Err(Error::NoSuchEpoch { epoch, last: epochs - 1 });
        }
        if reports > 0 && memory.is_empty() && remembers(&terms.mechanism) {
            return Err(Error::Forgotten);
        }
        Ok(())
    }

    /// The bytes of all messages of one report.
    fn randomize(
        &self,
        value: Value<'_>,
        epoch: u64,
        memory: &mut Words,
        rng: &mut impl CryptoRng,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let terms = &self.collection.terms;
        let (count, words) = (terms.mechanism.per_epoch(), terms.mechanism.words());
        let mut messages = Zeroizing::new(Vec::with_capacity(count * words));
        let mechanism = self.planted.as_ref().unwrap_or(&terms.mechanism);
        mechanism.respond(value, epoch, memory, rng, &mut messages)?;
        // The first mix sees places. Were the truth always in the same one, it could pass on no
        // noise.
        sample::shuffle(&mut messages, words, rng);
        let mut bytes = Zeroizing::new(Vec::with_capacity(count * terms.payload()));
        terms.encode_payload(&messages, &mut bytes)?;
        Ok(bytes)
    }

    /// A report that is revoked with this device.
    fn report_of(&self, epoch: u64, sealed: &[u8]) -> Report {
        let revoked = Arc::clone(&self.revoked);
        Report { collection: self.id(), epoch, sealed: sealed.into(), revoked }
    }

    fn id(&self) -> CollectionId {
        self.keys.route.id
    }

    fn decode(&self, bytes: &[u8]) -> Result<State, &'static str> {
        State::decode(bytes, self.id(), self.keys.route.shape.report_bytes())
    }

    /// Makes a state the current one, on disk first.
    #[cfg_attr(target_arch = "wasm32", allow(clippy::unnecessary_wraps))] // Without a disk.
    fn save(&mut self, state: State) -> Result<(), Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(file) = &self.file {
            file.replace(&state.encode(self.id()))?;
        }
        self.state = state;
        Ok(())
    }
}

/// Shows how far it is, and nothing of what it remembers.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("collection", &self.id())
            .field("enabled", &!self.state.off)
            .field("reports", &self.state.reports)
            .finish_non_exhaustive()
    }
}

/// True if reports rest on a memory, and the promise on there being one of it only.
fn remembers(mechanism: &Mechanism) -> bool {
    mechanism.spending() != Spending::PerEpoch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, coin, every_mechanism, rng};
    use throng_account::Delta;
    use throng_account::tail::success_band;
    use throng_mechanism::{CoinCount, Kind};
    use throng_wire::Below;

    const YES: Value<'_> = Value::Bit(true);
    const NO: Value<'_> = Value::Bit(false);

    /// Values that a mechanism's users may hold.
    fn values(mechanism: &Mechanism) -> Vec<Value<'static>> {
        match mechanism.kind() {
            Kind::Bit | Kind::State => vec![YES, NO],
            Kind::Real => vec![Value::Real(0.0), Value::Real(0.3), Value::Real(1.0)],
            Kind::Category => (0..3).map(Value::Category).collect(),
            Kind::Text => vec![Value::Text(""), Value::Text("a"), Value::Text("a longer string")],
            Kind::Attributes => {
                vec![Value::Bits(&[false, false, false]), Value::Bits(&[true, true, false])]
            }
        }
    }

    #[test]
    fn reports_have_one_length_and_open_at_the_end_of_the_chain_for_every_mechanism() {
        for mechanism in every_mechanism() {
            let world = World::new(mechanism);
            let terms = &world.collection.terms;
            let mut tally = terms.mechanism.tally();
            for (value, seed) in values(&terms.mechanism).into_iter().zip(0..) {
                let report = world.client().report(value, 0, &mut rng(seed)).unwrap();
                assert_eq!(report.as_bytes().len(), world.collection.shape().report_bytes());
                let messages = world.open(&report);
                assert_eq!(messages.len(), terms.mechanism.per_epoch() * terms.mechanism.words());
                terms.mechanism.absorb(&mut tally, &messages);
            }
            assert_eq!(tally.malformed(), 0, "{}", terms.mechanism.key());
        }
    }

    #[test]
    fn a_merged_window_shares_its_keys_and_not_its_epochs() {
        let mut world = World::of_bits();
        world.collection.schedule.below = Below::Merge { window: 4 };
        let mut client = world.client();
        for epoch in [1, 3] {
            let report = client.report(YES, epoch, &mut rng(epoch)).unwrap();
            assert_eq!(world.open(&report).len(), 1);
        }
        assert_eq!(client.report(YES, 4, &mut rng(4)).unwrap_err(), Error::NoKeys { window: 4 });
    }

    // Two randomizations of one value: whoever sees both can average.
    #[test]
    fn the_same_epoch_gets_the_same_bytes() {
        let world = World::of_bits();
        let mut client = world.client();
        let first = client.report(YES, 0, &mut rng(1)).unwrap();
        for (value, seed) in [(YES, 2), (NO, 3)] {
            let again = client.report(value, 0, &mut rng(seed)).unwrap();
            assert_eq!(again.as_bytes(), first.as_bytes());
        }
        assert_eq!(client.reports(), 1);
        client.acknowledge(&first).unwrap();
        assert!(client.pending().is_none());
        let gone = client.report(YES, 0, &mut rng(4)).unwrap_err();
        assert_eq!(gone, Error::Reported { epoch: 0 });
    }

    #[test]
    fn only_the_pending_report_is_acknowledged() {
        let world = World::of_bits();
        let mut client = world.client();
        client.report(YES, 0, &mut rng(1)).unwrap();
        let other = world.client().report(YES, 0, &mut rng(2)).unwrap();
        client.acknowledge(&other).unwrap();
        assert_eq!(client.pending().unwrap().epoch(), 0);
    }

    #[test]
    fn epochs_never_go_backwards_and_end() {
        let world = World::of_bits();
        let mut client = world.client();
        client.learn(&world.directory(4), 4).unwrap();
        client.report(YES, 4, &mut rng(1)).unwrap();
        client.learn(&world.directory(3), 3).unwrap();
        let past = client.report(YES, 3, &mut rng(2)).unwrap_err();
        assert_eq!(past, Error::Past { epoch: 3, last: 4 });
        for epoch in [10, u64::MAX] {
            let none = client.report(YES, epoch, &mut rng(3)).unwrap_err();
            assert_eq!(none, Error::NoSuchEpoch { epoch, last: 9 });
        }
        assert_eq!((client.reports(), client.last_epoch()), (1, Some(4)));
    }

    #[test]
    fn the_odometer_stops_at_what_is_promised() {
        let world = World::of_bits();
        let mut client = world.client();
        for epoch in 0..10 {
            client.learn(&world.directory(epoch), epoch).unwrap();
            client.report(YES, epoch, &mut rng(epoch)).unwrap();
        }
        client.learn(&world.directory(10), 10).unwrap();
        let spent = client.report(YES, 10, &mut rng(10)).unwrap_err();
        assert_eq!(spent, Error::Spent { reports: 10 });
        assert!(spent.to_string().contains("odometer is at 10"));
    }

    #[test]
    fn keys_that_one_party_did_not_sign_are_refused() {
        let world = World::of_bits();
        let mut client = Client::new(world.collection.clone()).unwrap();
        let keys = world.keys(0);
        let signatures: Vec<_> = world.identities.iter().map(|party| keys.cosign(party)).collect();
        for missing in 0..3 {
            let mut some = signatures.clone();
            some.remove(missing);
            let short = SignedDirectory::new(keys.clone(), some.clone());
            assert!(matches!(client.learn(&short, 0), Err(Error::Wire(_))));
            some.insert(missing, [0; 64]);
            let forged = SignedDirectory::new(keys.clone(), some);
            assert!(matches!(
                client.learn(&forged, 0),
                Err(Error::Wire(throng_wire::Error::Signature { .. }))
            ));
        }
        assert!(client.learn(&world.directory(1), 0).is_err());
        assert!(client.learn(&World::of_strings().directory(0), 0).is_err());
        assert_eq!(client.report(YES, 0, &mut rng(1)).unwrap_err(), Error::NoKeys { window: 0 });
        client.learn(&world.directory(0), 0).unwrap();
        assert!(client.report(YES, 0, &mut rng(1)).is_ok());
    }

    #[test]
    fn a_second_list_of_keys_for_a_window_is_refused() {
        let world = World::of_bits();
        let mut client = world.client();
        let mut other = world.keys(0);
        other.keys.swap(0, 1);
        let refused = client.learn(&world.signed(other), 0).unwrap_err();
        assert_eq!(refused, Error::TwoDirectories { window: 0 });
        client.learn(&world.directory(0), 0).unwrap();
    }

    #[test]
    fn a_refused_value_changes_nothing() {
        for world in [World::of_bits(), World::of_changes()] {
            let mut client = world.client();
            for value in [Value::Real(0.5), Value::Bits(&[true; 16])] {
                let refused = client.report(value, 0, &mut rng(1)).unwrap_err();
                assert!(matches!(refused, Error::Mechanism(throng_mechanism::Error::Value { .. })));
            }
            assert!(client.reports() == 0 && client.state.memory.is_empty());
            client.report(YES, 0, &mut rng(2)).unwrap();
        }
    }

    #[test]
    fn switching_off_erases_and_does_not_reset_the_odometer() {
        let world = World::of_bits();
        let mut client = world.client();
        let report = client.report(YES, 0, &mut rng(1)).unwrap();
        assert!(!report.is_revoked());
        client.disable().unwrap();
        assert!(report.is_revoked() && client.pending().is_none() && !client.is_enabled());
        assert_eq!(client.report(YES, 0, &mut rng(2)).unwrap_err(), Error::Disabled);
        assert_eq!(client.report(YES, 1, &mut rng(2)).unwrap_err(), Error::Disabled);

        client.enable().unwrap();
        assert!(report.is_revoked() && client.is_enabled());
        let again = client.report(YES, 0, &mut rng(3)).unwrap_err();
        assert_eq!((again, client.reports()), (Error::Reported { epoch: 0 }, 1));
        client.learn(&world.directory(1), 1).unwrap();
        assert!(!client.report(YES, 1, &mut rng(4)).unwrap().is_revoked());
        assert_eq!(client.reports(), 2);
    }

    // A second permanent response, or a second level of the tree, would cost the lifetime ε anew.
    #[test]
    fn a_memory_that_was_erased_is_not_started_over() {
        for (world, value) in
            [(World::of_strings(), Value::Text("one")), (World::of_changes(), YES)]
        {
            let mut client = world.client();
            client.disable().unwrap();
            client.enable().unwrap();
            client.report(value, 0, &mut rng(1)).unwrap();
            client.disable().unwrap();
            assert!(client.state.memory.is_empty());
            client.enable().unwrap();
            client.learn(&world.directory(1), 1).unwrap();
            assert_eq!(client.report(value, 1, &mut rng(2)).unwrap_err(), Error::Forgotten);
        }
    }

    #[test]
    fn a_state_that_is_kept_elsewhere_goes_on() {
        let world = World::of_strings();
        let mut client = world.client();
        let report = client.report(Value::Text("one"), 0, &mut rng(1)).unwrap();
        let kept = client.state();
        let mut again = Client::restore(world.collection.clone(), &kept).unwrap();
        let same = again.report(Value::Text("one"), 0, &mut rng(2)).unwrap();
        assert_eq!(same.as_bytes(), report.as_bytes());
        assert_eq!(again.state(), kept);
        let refused = Client::restore(World::of_bits().collection, &kept).unwrap_err();
        assert!(matches!(refused, Error::State { .. }));
    }

    #[test]
    fn reports_that_hang_together_are_not_merged_and_periods_end() {
        for world in [World::of_changes(), World::of_strings()] {
            let mut merged = world.collection;
            merged.schedule.below = Below::Merge { window: 2 };
            assert!(Client::new(merged).is_err());
        }
        let mut long = World::of_changes().collection;
        long.terms.promise.epochs = 17;
        assert!(Client::new(long).is_err());
    }

    // A first mix that passes on chosen places would pass on truths without noise, were they always
    // in the same place. Each of four counts leaves its band with a chance below 1e-9.
    #[test]
    fn the_true_message_may_be_in_any_place() {
        let never = coin(1.0 / f64::from(1 << 30));
        let world = World::new(Mechanism::CoinCount(CoinCount::new(3, never).unwrap()));
        let mut places = [0_u64; 4];
        for seed in 0..2_000 {
            let report = world.client().report(YES, 0, &mut rng(seed)).unwrap();
            let truth = world.open(&report).iter().position(|message| *message == 1).unwrap();
            places[truth] += 1;
        }
        for count in places {
            let band = success_band(count, 2_000, Delta::new(1e-9).unwrap());
            assert!(band.lower < 0.25 && 0.25 < band.upper, "{places:?}");
        }
    }

    #[test]
    fn nothing_shows_in_debug() {
        let world = World::of_bits();
        let mut client = world.client();
        let report = client.report(YES, 0, &mut rng(1)).unwrap();
        assert_eq!(format!("{report:?}"), "Report { epoch: 0, .. }");
        let id = world.collection.id();
        let expected = format!("Client {{ collection: {id:?}, enabled: true, reports: 1, .. }}");
        assert_eq!(format!("{client:?}"), expected);
    }
}
