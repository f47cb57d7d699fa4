//! The lengths of everything.
//!
//! A mix knows a collection by these three numbers alone.

/// The lengths of a collection: nothing a client sends depends on its value.
///
/// ```
/// use throng_wire::Shape;
///
/// // One message of one byte through two mixes; each hop takes off 48 bytes.
/// let shape = Shape { mixes: 2, messages: 1, payload: 1 };
/// assert_eq!([1, 2, 3].map(|hop| shape.record_bytes(hop)), [145, 97, 49]);
/// assert_eq!(shape.analyzer(), 3);
///
/// // Nine messages share the outermost layer, and then go their own ways.
/// let many = Shape { messages: 9, ..shape };
/// assert_eq!(many.report_bytes(), 48 + 9 * 97);
/// assert_eq!([1, 2].map(|hop| many.records_per_report(hop)), [1, 9]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Mixes in the chain, k ≥ 1.
    pub mixes: u8,
    /// Messages in every report, M ≥ 1.
    pub messages: u32,
    /// Bytes of a message, P ≥ 1.
    pub payload: u32,
}

/// Bytes that one HPKE layer adds: an encapsulated key and a tag.
pub const LAYER: usize = ENC + TAG;
/// Bytes of an encapsulated key.
pub const ENC: usize = 32;
/// Bytes of an authentication tag.
pub const TAG: usize = 16;

impl Shape {
    /// Bytes of a report: one layer around M onions.
    pub fn report_bytes(&self) -> usize {
        LAYER + self.messages as usize * self.record_bytes(2)
    }

    /// Bytes of a record on its way into a hop: a whole report for hop 1, one onion later, and one
    /// layer around a message for the analyzer, which is hop k + 1.
    pub fn record_bytes(&self, hop: u8) -> usize {
        if hop <= 1 {
            return self.report_bytes();
        }
        let layers = (usize::from(self.mixes) + 2).saturating_sub(hop.into());
        self.payload as usize + layers * LAYER
    }

    /// The hop that is the analyzer.
    pub fn analyzer(&self) -> u8 {
        self.mixes + 1
    }

    /// Records that one report becomes on its way into a hop.
    pub fn records_per_report(&self, hop: u8) -> u64 {
        if hop <= 1 { 1 } else { u64::from(self.messages) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_32_bytes_through_two_mixes_is_176_bytes() {
        let shape = Shape { mixes: 2, messages: 1, payload: 32 };
        assert_eq!(shape.report_bytes(), 176);
        assert_eq!(shape.record_bytes(2), 128);
        assert_eq!(shape.record_bytes(3), 80);
        assert_eq!(shape.analyzer(), 3);
    }

    #[test]
    fn the_longest_chain_has_lengths_too() {
        let shape = Shape { mixes: 254, messages: 1, payload: 1 };
        assert_eq!((shape.record_bytes(2), shape.record_bytes(255)), (1 + 254 * 48, 49));
    }

    #[test]
    fn several_messages_share_the_outer_layer() {
        let shape = Shape { mixes: 1, messages: 9, payload: 1 };
        assert_eq!(shape.record_bytes(2), 49);
        assert_eq!(shape.report_bytes(), 48 + 9 * 49);
    }
}
