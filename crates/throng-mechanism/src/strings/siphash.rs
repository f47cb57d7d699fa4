//! SipHash-2-4: strings as 64 bits, the same on every machine (Aumasson and Bernstein, "SipHash: a
//! fast short-input PRF", 2012). Its keys are no secrets here.

/// The hash of `bytes` under the key of two words. The work depends on their length only.
pub(crate) fn siphash(k0: u64, k1: u64, bytes: &[u8]) -> u64 {
    let mut state = [
        k0 ^ 0x736f6d6570736575,
        k1 ^ 0x646f72616e646f6d,
        k0 ^ 0x6c7967656e657261,
        k1 ^ 0x7465646279746573,
    ];
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        absorb(&mut state, little_endian(word));
    }
    absorb(&mut state, little_endian(words.remainder()) | (bytes.len() as u64) << 56);
    state[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Takes in one word, with two rounds.
fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    round(state);
    state[0] ^= word;
}

fn round([v0, v1, v2, v3]: &mut [u64; 4]) {
    *v0 = v0.wrapping_add(*v1);
    *v1 = v1.rotate_left(13) ^ *v0;
    *v0 = v0.rotate_left(32);
    *v2 = v2.wrapping_add(*v3);
    *v3 = v3.rotate_left(16) ^ *v2;
    *v0 = v0.wrapping_add(*v3);
    *v3 = v3.rotate_left(21) ^ *v0;
    *v2 = v2.wrapping_add(*v1);
    *v1 = v1.rotate_left(17) ^ *v2;
    *v2 = v2.rotate_left(32);
}

/// Up to eight bytes as a number.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The vectors of the reference implementation: key 00 01 … 0f, messages 00 01 … of each length.
    #[test]
    fn siphash_agrees_with_its_published_vectors() {
        let key = [0x0706050403020100, 0x0f0e0d0c0b0a0908];
        let bytes: Vec<u8> = (0..64).collect();
        let published = [
            (0, 0x726fdb47dd0e0e31),
            (1, 0x74f839c593dc67fd),
            (8, 0x93f5f5799a932462),
            (15, 0xa129ca6149be45e5),
            (63, 0x958a324ceb064572),
        ];
        for (length, hash) in published {
            assert_eq!(siphash(key[0], key[1], &bytes[..length]), hash, "{length}");
        }
    }
}
