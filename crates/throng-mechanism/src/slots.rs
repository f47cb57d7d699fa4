//! Slots: a report says something in some of them, and "null" in the others.
//!
//! Every report fills the same number of slots, so neither its length nor its work tells how much
//! noise it carries. Nulls are messages like all others until the analyzer drops them.

use crate::Law;

/// `symbol` if the slot is used, else `null`, without a branch.
#[inline]
pub(crate) fn symbol_or_null(used: bool, symbol: u64, null: u64) -> u64 {
    let mask = u64::from(used).wrapping_neg();
    null ^ (mask & (symbol ^ null))
}

/// The law of a report to which `slots` slots are added, each independently drawn from `slot`.
pub(crate) fn with_slots(report: Law, slots: u32, slot: &[(u64, f64)]) -> Law {
    (0..slots).fold(report, |report, _| {
        let mut longer = Law::new();
        for (symbols, p) in &report {
            for &(symbol, q) in slot {
                *longer.entry(with_symbols(symbols, &[symbol])).or_insert(0.0) += p * q;
            }
        }
        longer
    })
}

/// The symbols of a report and some more, in ascending order.
pub(crate) fn with_symbols(report: &[u64], more: &[u64]) -> Vec<u64> {
    let mut symbols = [report, more].concat();
    symbols.sort_unstable();
    symbols
}

/// Adds the numbers of zeros and of ones to the two `cells` and returns how many symbols are
/// neither 0, 1 nor null = 2.
///
/// Three sums without a branch, which the compiler turns into vector code.
pub(crate) fn count_bits(symbols: &[u64], cells: &mut [u64]) -> u64 {
    let (mut zeros, mut ones, mut malformed) = (0, 0, 0);
    for &symbol in symbols {
        zeros += u64::from(symbol == 0);
        ones += u64::from(symbol == 1);
        malformed += u64::from(symbol > 2);
    }
    cells[0] += zeros;
    cells[1] += ones;
    malformed
}

/// Adds the messages that are at most `last` to the first cell, modulo 2⁶⁴, and returns how many
/// are above it. Takes no branch either.
pub(crate) fn sum_up_to(last: u64, messages: &[u64], cells: &mut [u64]) -> u64 {
    let (mut sum, mut malformed) = (0_u64, 0);
    for &message in messages {
        let fits = message <= last;
        sum = sum.wrapping_add(if fits { message } else { 0 });
        malformed += u64::from(!fits);
    }
    cells[0] = cells[0].wrapping_add(sum);
    malformed
}

/// The most slots in one report: the noise of more belongs into a larger crowd.
pub(crate) const MAX_SLOTS: u32 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_a_symbol_or_null() {
        assert_eq!([symbol_or_null(true, 5, 9), symbol_or_null(false, 5, 9)], [5, 9]);
    }

    #[test]
    fn independent_slots_multiply() {
        let law = with_slots(Law::from([(vec![1], 1.0)]), 2, &[(0, 0.25), (2, 0.75)]);
        let expected = [(vec![0, 0, 1], 0.0625), (vec![0, 1, 2], 0.375), (vec![1, 2, 2], 0.5625)];
        assert_eq!(law, expected.into());
    }

    #[test]
    fn symbols_are_counted_by_kind() {
        let mut cells = [10, 20];
        assert_eq!(count_bits(&[0, 1, 1, 2, 3, u64::MAX, 0, 1], &mut cells), 2);
        assert_eq!(cells, [12, 23]);
    }

    #[test]
    fn messages_up_to_the_last_are_added_up() {
        let mut cells = [10, 20];
        assert_eq!(sum_up_to(1, &[0, 1, 1, 2, u64::MAX, 0, 1], &mut cells), 2);
        assert_eq!(cells, [13, 20]);
        assert_eq!(sum_up_to(7, &[7, 8, 5, 7], &mut cells), 1);
        assert_eq!(cells, [32, 20]);
        // Modulo 2⁶⁴, as the sum of shares is.
        assert_eq!(sum_up_to(u64::MAX, &[u64::MAX, u64::MAX], &mut cells), 0);
        assert_eq!(cells, [30, 20]);
    }
}
