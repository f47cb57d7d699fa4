//! The keys of one party for one collection, window by window.
//!
//! ```text
//! pending    made and stated at least one window ahead, listed and cosigned with everyone else's
//! active     clients of its epochs seal to it
//! draining   its epochs are over, their batches still on their way
//! destroyed  nothing that was sealed to it opens any more, here or from a stolen disk
//! ```
//!
//! A destroyed window never gets keys again, and a party signs one directory per window.

use crate::store::{Change, RowKey, Store, StoreError, Table};
use crate::{Destroyed, Error, lock};
use rand_core::CryptoRng;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use throng_wire::{
    Directory, Identity, KeyStatement, LayerPublic, LayerSecret, Route, SignedDirectory,
};

/// Keys and directories of one collection at one party.
///
/// ```
/// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// use throng_mix::{Error, Keyring, simulated::MemoryStore};
/// use throng_wire::example;
///
/// let mut rng = ChaCha20Rng::seed_from_u64(1);
/// let (store, [mix, _]) = (MemoryStore::new().store(), example::identities());
/// let keyring = Keyring::open(store, example::route().into(), mix)?;
/// keyring.publish(1_000, &mut rng)?;
/// assert_eq!(keyring.windows(), [0]);
///
/// // The analyzer's key is missing, and so nobody has signed the directory.
/// assert_eq!(keyring.missing(0), (vec![2], vec![1, 2]));
/// assert!(matches!(keyring.directory(0), Err(Error::NoKeys)));
/// keyring.destroy(0)?;
/// assert!(matches!(keyring.statement(0), Err(Error::KeysDestroyed)));
/// # Ok::<(), Error>(())
/// ```
pub struct Keyring {
    store: Store,
    route: Arc<Route>,
    identity: Identity,
    pub(crate) hop: u8,
    state: Mutex<State>,
}

/// The keys that are known and the directories that are signed.
#[derive(Default)]
struct State {
    /// The windows whose keys are destroyed.
    destroyed: Destroyed,
    /// These, and those whose keys are being destroyed, as the row has them.
    marked: Destroyed,
    windows: BTreeMap<u64, Window>,
}

#[derive(Default)]
struct Window {
    secret: Option<LayerSecret>,
    /// Keys of all parties, by hop.
    keys: BTreeMap<u8, LayerPublic>,
    /// Set once everyone's key is known; signed by this party and never changed.
    directory: Option<Directory>,
    signatures: BTreeMap<u8, [u8; 64]>,
}

impl Keyring {
    /// Opens the keyring that is on disk.
    pub fn open(store: Store, route: Arc<Route>, identity: Identity) -> Result<Self, Error> {
        let hop = route.chain.hop_of(&identity.public()).ok_or(Error::WrongPlace)?;
        let keyring = Self { store, route, identity, hop, state: Mutex::default() };
        keyring.restore()?;
        Ok(keyring)
    }

    /// Makes the keys of every window that has begun or begins within one window's time.
    pub fn publish(&self, now: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        let schedule = &self.route.schedule;
        let mut window = self.lock().destroyed.first_left();
        while window < self.route.epochs {
            let epochs = self.route.window_epochs(window);
            let ahead = schedule.every.saturating_mul(schedule.window());
            if schedule.start_of(window) > now.saturating_add(ahead) {
                break;
            }
            // A window that is over and never had keys has no reports either.
            let over = now >= schedule.deadline(epochs.end - 1);
            if !over && !self.is_destroyed(window) {
                self.ensure(window, rng)?;
                self.list(window)?;
            }
            window = epochs.end;
        }
        Ok(())
    }

    /// The secret that opens the layers of the window that an epoch is in.
    pub fn secret(&self, epoch: u64) -> Option<LayerSecret> {
        let window = self.route.schedule.window_of(epoch);
        self.lock().windows.get(&window)?.secret.clone()
    }

    /// This party's key, stated to the others.
    pub fn statement(&self, window: u64) -> Result<KeyStatement, Error> {
        let state = self.lock();
        if state.destroyed.contains(window) {
            return Err(Error::KeysDestroyed);
        }
        let key = state.windows.get(&window).and_then(|w| w.keys.get(&self.hop));
        let key = *key.ok_or(Error::NoKeys)?;
        Ok(KeyStatement::sign(self.route.id, window, self.hop, key, &self.identity))
    }

    /// Takes another party's key. Once all are known, the list of them is signed and stays.
    pub fn learn(&self, hop: u8, statement: &KeyStatement) -> Result<(), Error> {
        let party = self.route.chain.party(hop).ok_or(Error::WrongPlace)?;
        let key = statement.verify(&self.route.id, statement.window, hop, &party.identity)?;
        let mut state = self.lock();
        let known = state.windows.get_mut(&statement.window).ok_or(Error::NoKeys)?;
        // A second key for the same window is not heard: directories are signed once.
        known.keys.entry(hop).or_insert(key);
        drop(state);
        self.list(statement.window)
    }

    /// Signs the directory of a window whose keys are all known, if that is not done yet.
    fn list(&self, window: u64) -> Result<(), Error> {
        let directory = {
            let state = self.lock();
            let known = state.windows.get(&window).ok_or(Error::NoKeys)?;
            if known.directory.is_some() || known.keys.len() < self.route.chain.hops().into() {
                return Ok(());
            }
            let keys = known.keys.values().copied().collect();
            Directory { collection: self.route.id, window, keys }
        };
        // The directory is on disk before anyone sees the signature.
        let keys = directory.keys.iter().flat_map(|key| key.0).collect::<Vec<u8>>();
        let row = RowKey::at(self.route.id, window);
        self.store.rows.put(Table::Directories, &row, &keys)?;
        let mut state = self.lock();
        if state.destroyed.contains(window) {
            // Its keys were destroyed meanwhile: there is nothing to sign any more.
            drop(state);
            self.store.rows.commit(&[Change::Delete { table: Table::Directories, key: &row }])?;
            return Err(Error::KeysDestroyed);
        }
        state.adopt(window, directory, self.hop, &self.identity);
        Ok(())
    }

    /// This party's signature of a window's directory.
    pub fn cosignature(&self, window: u64) -> Result<[u8; 64], Error> {
        let state = self.lock();
        let known = state.windows.get(&window).ok_or(Error::NoKeys)?;
        known.signatures.get(&self.hop).copied().ok_or(Error::NoKeys)
    }

    /// Takes another party's signature of a window's directory.
    pub fn collect(&self, hop: u8, window: u64, signature: &[u8; 64]) -> Result<(), Error> {
        let party = self.route.chain.party(hop).ok_or(Error::WrongPlace)?;
        let mut state = self.lock();
        let known = state.windows.get_mut(&window).ok_or(Error::NoKeys)?;
        let directory = known.directory.as_ref().ok_or(Error::NoKeys)?;
        if !directory.cosigned(&party.identity, signature) {
            return Err(throng_wire::Error::unsigned("directory", hop).into());
        }
        known.signatures.insert(hop, *signature);
        Ok(())
    }

    /// The hops whose key, and those whose signature, is still missing.
    pub fn missing(&self, window: u64) -> (Vec<u8>, Vec<u8>) {
        let state = self.lock();
        let Some(known) = state.windows.get(&window) else { return Default::default() };
        let hops = || 1..=self.route.chain.hops();
        let keys = hops().filter(|hop| !known.keys.contains_key(hop)).collect();
        (keys, hops().filter(|hop| !known.signatures.contains_key(hop)).collect())
    }

    /// The directory with everyone's signature.
    pub fn directory(&self, window: u64) -> Result<SignedDirectory, Error> {
        let state = self.lock();
        let known = state.windows.get(&window).ok_or(Error::NoKeys)?;
        let complete = known.signatures.len() == usize::from(self.route.chain.hops());
        let directory = known.directory.clone().filter(|_| complete).ok_or(Error::NoKeys)?;
        Ok(SignedDirectory::new(directory, known.signatures.values().copied().collect()))
    }

    /// Destroys the keys of a window, for good.
    pub fn destroy(&self, window: u64) -> Result<(), Error> {
        let mut marked = self.lock().marked.clone();
        marked.insert(window, &self.route);
        // The row is written before the key is destroyed, so that a crash between the two repeats
        // the destruction.
        let (id, value) = (self.route.id, marked.to_string());
        self.store.rows.commit(&[
            Change::Put { table: Table::Destroyed, key: &RowKey::of(id), value: value.as_bytes() },
            Change::Delete { table: Table::Directories, key: &RowKey::at(id, window) },
        ])?;
        // It stays marked, also if the key is tried again after another's.
        self.lock().marked = marked;
        self.store.secrets.destroy(&self.secret_name(window))?;
        let mut state = self.lock();
        state.destroyed.insert(window, &self.route);
        state.windows.remove(&window);
        Ok(())
    }

    /// The windows whose keys are destroyed.
    pub fn destroyed(&self) -> Destroyed {
        self.lock().destroyed.clone()
    }

    /// True if the keys of the window that begins with this epoch are destroyed.
    pub fn is_destroyed(&self, window: u64) -> bool {
        self.lock().destroyed.contains(window)
    }

    /// The windows that have keys.
    pub fn windows(&self) -> Vec<u64> {
        self.lock().windows.keys().copied().collect()
    }

    fn ensure(&self, window: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        if self.lock().windows.get(&window).is_some_and(|known| known.secret.is_some()) {
            return Ok(());
        }
        let name = self.secret_name(window);
        // A failed write may have happened: what is on disk is the key.
        let secret = if let Some(bytes) = self.store.secrets.get(&name)? {
            layer_secret(&bytes)?
        } else {
            let secret = LayerSecret::generate(rng);
            self.store.secrets.put(&name, secret.as_bytes())?;
            secret
        };
        self.lock().hold(window, self.hop, secret);
        Ok(())
    }

    fn restore(&self) -> Result<(), Error> {
        let mine = format!("{}-", self.route.id);
        let corrupt = || StoreError::Corrupt { what: "the row of a key" };
        let mut state = self.lock();
        if let Some(value) = self.store.rows.get(Table::Destroyed, &RowKey::of(self.route.id))? {
            let text = String::from_utf8(value).ok();
            let destroyed = text.and_then(|text| Destroyed::parse(&text));
            state.destroyed = destroyed.ok_or_else(corrupt)?;
            state.marked = state.destroyed.clone();
        }
        for name in self.store.secrets.names()? {
            let Some(window) = name.strip_prefix(&mine) else { continue };
            let window: u64 = window.parse().map_err(|_| corrupt())?;
            if state.destroyed.contains(window) {
                self.store.secrets.destroy(&name)?;
            } else if let Some(bytes) = self.store.secrets.get(&name)? {
                state.hold(window, self.hop, layer_secret(&bytes)?);
            }
        }
        let signed = self.store.rows.under(Table::Directories, &RowKey::all(self.route.id))?;
        for (key, value) in signed {
            let window = key.epoch().ok_or_else(corrupt)?;
            // A row that was written while its keys were being destroyed is nobody's.
            if state.destroyed.contains(window) {
                continue;
            }
            let (keys, rest) = value.as_chunks::<32>();
            if !rest.is_empty() || keys.len() != usize::from(self.route.chain.hops()) {
                return Err(corrupt().into());
            }
            let keys: Vec<LayerPublic> = keys.iter().map(|key| LayerPublic(*key)).collect();
            for (hop, key) in (1..).zip(&keys) {
                state.windows.entry(window).or_default().keys.insert(hop, *key);
            }
            let directory = Directory { collection: self.route.id, window, keys };
            state.adopt(window, directory, self.hop, &self.identity);
        }
        Ok(())
    }

    fn secret_name(&self, window: u64) -> String {
        format!("{}-{window}", self.route.id)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn hold(&mut self, window: u64, hop: u8, secret: LayerSecret) {
        let known = self.windows.entry(window).or_default();
        known.keys.insert(hop, secret.public());
        known.secret = Some(secret);
    }

    fn adopt(&mut self, window: u64, directory: Directory, hop: u8, identity: &Identity) {
        let known = self.windows.entry(window).or_default();
        known.signatures.insert(hop, directory.cosign(identity));
        known.directory = Some(directory);
    }
}

fn layer_secret(bytes: &[u8]) -> Result<LayerSecret, StoreError> {
    let bytes = bytes.try_into().map_err(|_| StoreError::Corrupt { what: "a window's secret" })?;
    Ok(LayerSecret::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::{Fault, Faults, MemoryStore};
    use crate::store::Rows;
    use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
    use throng_wire::example;

    // A row of a directory with 256 keys stopped the party at its start: the hops of keys were
    // counted in one byte. With one key too few or too many it was taken, and signed again.
    #[test]
    fn a_directory_with_a_wrong_number_of_keys_is_corrupt() {
        let (route, [mix, _]) = (Arc::new(example::route()), example::identities());
        let open = |keys: usize| {
            let store = MemoryStore::new().store();
            let (key, row) = (RowKey::at(route.id, 0), vec![5; 32 * keys]);
            store.rows.put(Table::Directories, &key, &row).unwrap();
            Keyring::open(store, Arc::clone(&route), mix.clone()).err()
        };
        assert!(open(2).is_none());
        for keys in [0, 1, 3, 256] {
            let refused = open(keys);
            assert!(matches!(refused, Some(Error::Store(StoreError::Corrupt { .. }))), "{keys}");
        }
    }

    /// Rows before whose next change something else happens.
    struct Interrupted {
        rows: Arc<dyn Rows>,
        meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    }

    impl Rows for Interrupted {
        fn under(
            &self,
            table: Table,
            prefix: &RowKey,
        ) -> Result<Vec<(RowKey, Vec<u8>)>, StoreError> {
            self.rows.under(table, prefix)
        }

        fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError> {
            let meanwhile = lock(&self.meanwhile).take();
            if let Some(happens) = meanwhile {
                happens();
            }
            self.rows.commit(changes)
        }
    }

    // The last key for a directory comes while the window is being destroyed. The directory was
    // written and signed all the same, and a window without a secret was there from then on, also
    // after a restart. Where the machine stops before the row is gone, it is not read.
    #[test]
    fn a_directory_whose_keys_are_destroyed_while_it_is_written_is_not_kept() {
        let (route, [mix, analyzer]) = (Arc::new(example::route()), example::identities());
        let key = example::keys(&route, 0).0[1].public();
        let statement = KeyStatement::sign(route.id, 0, 2, key, &analyzer);
        for stops in [false, true] {
            let disk = MemoryStore::new();
            let (rows, meanwhile) = (disk.store().rows, Mutex::default());
            let rows = Arc::new(Interrupted { rows, meanwhile });
            let store = Store { rows: rows.clone(), ..disk.store() };
            let open = || Keyring::open(store.clone(), route.clone(), mix.clone()).unwrap();
            let keyring = Arc::new(open());
            keyring.publish(1_000, &mut ChaCha20Rng::seed_from_u64(1)).unwrap();
            let (destroyer, machine) = (Arc::clone(&keyring), disk.clone());
            *lock(&rows.meanwhile) = Some(Box::new(move || {
                destroyer.destroy(0).unwrap();
                // The row is written, and the next change would remove it.
                let fault = if stops { Fault::CrashBefore } else { Fault::None };
                machine.set_faults(Faults::at(1, fault));
            }));
            assert!(keyring.learn(2, &statement).is_err());
            assert_eq!(keyring.windows(), [0; 0]);
            disk.restart();
            assert_eq!(open().windows(), [0; 0], "after a restart");
            let left = store.rows.under(Table::Directories, &RowKey::all(route.id)).unwrap();
            assert_eq!(left.len(), usize::from(stops));
        }
    }
}
