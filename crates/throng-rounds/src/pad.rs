//! Whole reports, whatever there is to say.

use crate::Error;
use rand_core::CryptoRng;

/// Pads messages, given back to back, with random bytes to `reports` whole reports of a board.
///
/// ```
/// use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
/// use throng_rounds::pad;
///
/// let mut rng = ChaCha12Rng::seed_from_u64(1);
///
/// // Three messages of two bytes, in two reports of two messages.
/// let reports = pad(b"aabbcc", 2, (2, 2), &mut rng)?;
/// assert_eq!(reports.len(), 2);
/// assert_eq!((&reports[0][..], &reports[1][..2]), (&b"aabb"[..], &b"cc"[..]));
/// assert_eq!(reports[1].len(), 4);
/// assert!(pad(b"aabbcc", 1, (2, 2), &mut rng).is_err());
/// # Ok::<(), throng_rounds::Error>(())
/// ```
pub fn pad(
    messages: &[u8],
    reports: usize,
    (each, payload): (u32, u32),
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<u8>>, Error> {
    let whole = each as usize * payload as usize;
    if messages.len() > reports * whole {
        return Err(Error::TooLong { length: messages.len(), at_most: reports * whole });
    }
    let mut all = vec![0; reports * whole];
    all[..messages.len()].copy_from_slice(messages);
    rng.fill_bytes(&mut all[messages.len()..]);
    Ok(all.chunks_exact(whole).map(<[u8]>::to_vec).collect())
}
