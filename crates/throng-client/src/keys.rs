//! The keys that a device seals to.

use crate::Error;
use throng_wire::{CollectionId, Directory, LayerPublic, PublicIdentity, SignedDirectory};

/// The keys of one window, signed by every party; none before the first directory.
#[derive(Default)]
pub(crate) struct KnownKeys(Option<Directory>);

impl KnownKeys {
    /// Takes the keys of a window of this collection, if every one of `parties` signed them. They
    /// replace those of another window.
    pub fn learn(
        &mut self,
        directory: &SignedDirectory,
        collection: &CollectionId,
        window: u64,
        parties: &[PublicIdentity],
    ) -> Result<(), Error> {
        let learned = directory.verify(collection, window, parties)?;
        match &self.0 {
            Some(known) if known.window == window && known != learned => {
                Err(Error::TwoDirectories { window })
            }
            _ => {
                self.0 = Some(learned.clone());
                Ok(())
            }
        }
    }

    /// The keys of this window, hop by hop.
    pub fn of(&self, window: u64) -> Result<&[LayerPublic], Error> {
        let known = self.0.as_ref().filter(|directory| directory.window == window);
        known.map(|directory| &directory.keys[..]).ok_or(Error::NoKeys { window })
    }
}
