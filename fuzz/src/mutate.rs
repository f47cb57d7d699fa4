//! Inputs that are almost valid.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Alters valid inputs in the ways that find mistakes of decoders.
pub struct Mutator(ChaCha12Rng);

impl Mutator {
    /// A mutator that makes the same inputs from the same number.
    pub fn new(number: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(number))
    }

    /// One of the seeds with one to four alterations.
    pub fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(seeds).cloned().unwrap_or_default();
        for _ in 0..=self.below(4) {
            self.alter(&mut bytes, seeds);
        }
        bytes
    }

    fn alter(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        if bytes.is_ascii() && self.below(2) == 0 {
            return if self.below(4) == 0 { self.line(bytes) } else { self.decimal(bytes) };
        }
        let (start, end) = self.range(bytes.len());
        match self.below(11) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(start) {
                    *byte ^= 1 << self.below(8);
                }
            }
            2 => {
                let noise = self.noise();
                bytes.splice(start..start, noise);
            }
            3 => bytes.truncate(start),
            4 => {
                let noise = self.noise();
                bytes.extend(noise);
            }
            5 => drop(bytes.drain(start..end)),
            6 => {
                let part = bytes[start..end].to_vec();
                let at = self.below(bytes.len() + 1);
                bytes.splice(at..at, part);
            }
            // The head of this one and the tail of another.
            7 => {
                let other = self.pick(seeds).cloned().unwrap_or_default();
                let from = if self.below(2) == 0 { start } else { self.below(other.len() + 1) };
                bytes.truncate(start);
                bytes.extend(other.iter().skip(from));
            }
            8 => {
                let byte =
                    *self.pick(&[0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'"', b'{']).unwrap_or(&0);
                bytes[start..end].fill(byte);
            }
            9 => self.integer(bytes, start),
            _ => {
                let at = self.below(bytes.len().saturating_sub(end - start) + 1);
                let part: Vec<u8> = bytes.drain(start..end).collect();
                bytes.splice(at..at, part);
            }
        }
    }

    /// Writes an integer on which decoders fail, in binary, over what is there.
    fn integer(&mut self, bytes: &mut [u8], at: usize) {
        let number = self.interesting();
        let width = 1 << self.below(4);
        let digits = if self.below(4) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
        let digits = if self.below(4) == 0 { &digits[..width] } else { &digits[8 - width..] };
        for (byte, digit) in bytes[at..].iter_mut().zip(digits) {
            *byte = *digit;
        }
    }

    /// Puts such an integer, in decimal, in the place of a run of digits.
    fn decimal(&mut self, bytes: &mut Vec<u8>) {
        let starts: Vec<usize> = (0..bytes.len())
            .filter(|&at| {
                bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit())
            })
            .collect();
        let Some(&start) = self.pick(&starts) else { return };
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = if self.below(8) == 0 { "-" } else { "" };
        let number = format!("{sign}{}", self.interesting());
        bytes.splice(start..start + digits, number.into_bytes());
    }

    /// Leaves out, doubles or moves a line.
    fn line(&mut self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let line = lines.remove(self.below(lines.len()));
        for _ in 0..self.below(3) {
            lines.insert(self.below(lines.len() + 1), line);
        }
        *bytes = lines.join(&b'\n');
    }

    fn interesting(&mut self) -> u64 {
        let power = 1_u64 << self.below(64);
        match self.below(4) {
            0 => power,
            1 => power - 1,
            2 => u64::MAX - (power - 1),
            _ => self.0.next_u64() % 300,
        }
    }

    fn noise(&mut self) -> Vec<u8> {
        let mut noise = vec![0; 1 + self.below(40)];
        self.0.fill_bytes(&mut noise);
        noise
    }

    /// A range that is mostly short.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 16 };
        (start, (start + self.below(most + 1)).min(length))
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len().max(1)))
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }
}
