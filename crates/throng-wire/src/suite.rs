//! The one cipher suite, and what a layer is bound to.
//!
//! HPKE of RFC 9180 in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.

use crate::CollectionId;

/// The purpose that a layer was sealed for. It opens for no other.
///
/// ```
/// use throng_wire::{Binding, CollectionId};
///
/// let collection = CollectionId::new([7; 32]);
/// let binding = Binding { collection, epoch: 3, hop: 2, analyzer: true };
/// let info = binding.info();
/// assert!(info.starts_with(b"throng/1 envelope\0"));
/// assert_eq!(info[50..], [0, 0, 0, 0, 0, 0, 0, 3, 2, 2]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// The collection, and so its promise.
    pub collection: CollectionId,
    /// The epoch for hop 1, the first epoch of the window for later hops.
    pub epoch: u64,
    /// The hop that opens it, from 1.
    pub hop: u8,
    /// True if that hop is the analyzer.
    pub analyzer: bool,
}

impl Binding {
    /// The `info` of HPKE:
    ///
    /// ```text
    /// "throng/1 envelope" ‖ 0x00 ‖ collection id (32) ‖ epoch (8) ‖ hop (1) ‖ role (1)
    /// role = 1 for a mix, 2 for the analyzer
    /// ```
    pub fn info(&self) -> Vec<u8> {
        let mut info = b"throng/1 envelope\0".to_vec();
        info.extend_from_slice(self.collection.as_bytes());
        info.extend_from_slice(&self.epoch.to_be_bytes());
        info.extend_from_slice(&[self.hop, if self.analyzer { 2 } else { 1 }]);
        info
    }
}
