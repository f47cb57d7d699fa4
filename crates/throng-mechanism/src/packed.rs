//! Rows of packed bits, counted column by column.
//!
//! Adding bit by bit costs 64 additions a word. Here 64 columns are added at once, by logic: a
//! carry-save adder turns three words of one weight into one of that weight and one of twice it,
//! and the sums stand upright, one binary digit of 64 counters per word (Harley and Seal; Muła,
//! Kurz, Lemire, "Faster Population Counts Using AVX2 Instructions", 2018). Sixteen rows take
//! fifteen adders of five operations.

/// Adds to `sums[v]` the number of rows in which bit `v` is set: bit `v % 64` of word `v / 64`.
///
/// Rows are `words` words each; an incomplete last row is left out, and so are columns past the end
/// of `sums`.
///
/// ```
/// use throng_mechanism::packed::column_sums;
///
/// // Three rows of one word.
/// let mut sums = [0; 4];
/// column_sums(&[0b0001, 0b0101, 0b1001], 1, &mut sums);
/// assert_eq!(sums, [3, 0, 1, 1]);
/// ```
pub fn column_sums(rows: &[u64], words: usize, sums: &mut [u64]) {
    if words == 0 {
        return;
    }
    // As many rows as the upright counters hold, so that they stay in the cache.
    for rows in rows.chunks(words * CAPACITY) {
        let mut first = 0;
        while first + WIDE <= words {
            add_columns::<WIDE>(rows, words, first, sums);
            first += WIDE;
        }
        for first in first..words {
            add_columns::<1>(rows, words, first, sums);
        }
    }
}

/// The number of bits that are set.
///
/// ```
/// assert_eq!(throng_mechanism::packed::ones(&[0b1011, 1 << 63]), 4);
/// ```
pub fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// `L` words side by side: what the compiler makes vector instructions of.
type Lanes<const L: usize> = [u64; L];

/// The columns of words `first..first + L`, over at most [`CAPACITY`] rows.
fn add_columns<const L: usize>(rows: &[u64], words: usize, first: usize, sums: &mut [u64]) {
    let mut digits = [[0; L]; DIGITS];
    let mut blocks = rows.chunks_exact(words * BLOCK);
    for block in &mut blocks {
        add_block(&mut digits, block, words, first);
    }
    for row in blocks.remainder().chunks_exact(words) {
        add_carry(&mut digits, load(row, first));
    }
    // Few rows leave the upper digits at 0.
    let used = (rows.len() / words + 1).next_power_of_two().ilog2() as usize;
    let sums = sums.get_mut(first * 64..).unwrap_or_default();
    for (lane, sums) in sums.chunks_mut(64).take(L).enumerate() {
        for (place, digit) in digits[..used].iter().enumerate() {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += (digit[lane] >> bit & 1) << place;
            }
        }
    }
}

/// Adds sixteen rows: pairs of equal weight as they arise, until one word of weight 16 is left.
#[inline]
fn add_block<const L: usize>(
    digits: &mut [Lanes<L>; DIGITS],
    block: &[u64],
    words: usize,
    first: usize,
) {
    let [mut one, mut two, mut four, mut eight] = [digits[0], digits[1], digits[2], digits[3]];
    let row = |r: usize| load::<L>(&block[r * words..(r + 1) * words], first);
    let mut eights = [[0; L]; 2];
    for (half, eights) in eights.iter_mut().enumerate() {
        let mut fours = [[0; L]; 2];
        for (quarter, fours) in fours.iter_mut().enumerate() {
            let r = 8 * half + 4 * quarter;
            let a = add(&mut one, row(r), row(r + 1));
            let b = add(&mut one, row(r + 2), row(r + 3));
            *fours = add(&mut two, a, b);
        }
        *eights = add(&mut four, fours[0], fours[1]);
    }
    let sixteen = add(&mut eight, eights[0], eights[1]);
    digits[..4].copy_from_slice(&[one, two, four, eight]);
    add_carry(&mut digits[4..], sixteen);
}

/// Adds one word to upright counters, digit by digit.
#[inline]
fn add_carry<const L: usize>(digits: &mut [Lanes<L>], mut carry: Lanes<L>) {
    for digit in digits {
        for lane in 0..L {
            let both = digit[lane] & carry[lane];
            digit[lane] ^= carry[lane];
            carry[lane] = both;
        }
    }
}

/// The carry-save adder: `sum + a + b` becomes `sum`, and the carries are returned.
#[inline]
fn add<const L: usize>(sum: &mut Lanes<L>, a: Lanes<L>, b: Lanes<L>) -> Lanes<L> {
    let mut carry = [0; L];
    for lane in 0..L {
        let either = sum[lane] ^ a[lane];
        carry[lane] = sum[lane] & a[lane] | either & b[lane];
        sum[lane] = either ^ b[lane];
    }
    carry
}

#[inline]
fn load<const L: usize>(row: &[u64], first: usize) -> Lanes<L> {
    let words = &row[first..first + L];
    std::array::from_fn(|lane| words[lane])
}

/// Words handled together where a row has that many.
const WIDE: usize = 4;
/// Rows in one tree of adders.
const BLOCK: usize = 16;
/// Binary digits of an upright counter.
const DIGITS: usize = 12;
/// Rows after which the counters are emptied into the sums: fewer than 2^DIGITS.
const CAPACITY: usize = ((1 << DIGITS) - 1) / BLOCK * BLOCK;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rng;
    use rand_core::Rng;

    fn naive(rows: &[u64], words: usize, columns: usize) -> Vec<u64> {
        let bit = |row: &[u64], v: usize| row[v / 64] >> (v % 64) & 1;
        let column = |v| rows.chunks_exact(words).map(|row| bit(row, v)).sum();
        (0..columns).map(column).collect()
    }

    #[test]
    fn columns_add_up_as_in_the_naive_loop() {
        let mut rng = rng(1);
        for words in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17] {
            for count in [0, 1, 15, 16, 17, 31, 100, 4079, 4080, 4081, 9000] {
                let rows: Vec<u64> = (0..words * count).map(|_| rng.next_u64()).collect();
                for columns in [1, 63, 64 * words - 1, 64 * words] {
                    let mut sums = vec![0; columns];
                    column_sums(&rows, words, &mut sums);
                    assert_eq!(sums, naive(&rows, words, columns), "{words} words, {count} rows");
                }
            }
        }
    }

    #[test]
    fn full_counters_do_not_overflow_and_sums_are_added_to() {
        for count in [CAPACITY - 1, CAPACITY, CAPACITY + 1, 3 * CAPACITY + 5] {
            let mut sums = vec![7; 320];
            column_sums(&vec![u64::MAX; 5 * count], 5, &mut sums);
            assert!(sums.iter().all(|&sum| sum == 7 + count as u64), "{count}");
        }
    }

    #[test]
    fn odd_shapes_count_what_is_there() {
        let mut sums = vec![0; 64];
        column_sums(&[1, 1, 1], 2, &mut sums);
        assert_eq!((sums[0], sums.iter().sum::<u64>()), (1, 1));
        column_sums(&[1, 2], 0, &mut sums);
        column_sums(&[], 3, &mut sums);
        column_sums(&[1, 1], 2, &mut []);
        assert_eq!(sums[0], 1);
        // More counters than columns: the rest stays.
        let mut sums = vec![0; 130];
        column_sums(&[u64::MAX], 1, &mut sums);
        assert_eq!((ones(&[u64::MAX, 0, 5]), sums.iter().sum::<u64>()), (66, 64));
    }
}
