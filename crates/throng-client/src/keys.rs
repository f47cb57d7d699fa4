//! The keys that a device seals to.

use crate::Error;
use throng_wire::{Directory, Route, Seal, SignedDirectory};

/// The keys of one window of a collection or board, signed by every party; none before the first
/// directory.
pub(crate) struct KnownKeys {
    pub route: Route,
    directory: Option<Directory>,
}

impl KnownKeys {
    /// No keys yet.
    pub fn new(route: Route) -> Self {
        Self { route, directory: None }
    }

    /// Takes the keys of a window, if every party signed them. They replace those of another
    /// window.
    pub fn learn(&mut self, directory: &SignedDirectory, window: u64) -> Result<(), Error> {
        let parties = self.route.chain.identities();
        let learned = directory.verify(&self.route.id, window, &parties)?;
        let known = self.directory.as_ref().filter(|known| known.window == window);
        if known.is_some_and(|known| known != learned) {
            return Err(Error::TwoDirectories { window });
        }
        self.directory = Some(learned.clone());
        Ok(())
    }

    /// The seal of an epoch whose keys are known.
    pub fn seal(&self, epoch: u64) -> Result<Seal, Error> {
        let Route { shape, id, schedule, .. } = &self.route;
        let window = schedule.window_of(epoch);
        let known = self.directory.as_ref().filter(|directory| directory.window == window);
        let keys = &known.ok_or(Error::NoKeys { window })?.keys;
        Ok(Seal::new(shape, *id, epoch, window, keys)?)
    }
}
