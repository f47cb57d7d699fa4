//! Bodies on their way in: how fast they have to come, and how much of them is held.
//!
//! ```text
//! first bytes   within a third of the patience
//! the rest      at the least rate on average, and all of it within the patience
//! batches       as long as they take, at the least rate, each piece within the patience
//! ```
//!
//! So a drip holds a connection for a third of the patience, and one that keeps to the rate pays
//! for what it holds.

use super::edge::Holding;
use crate::Error;
use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A body that is arriving.
pub struct Arriving {
    body: Body,
    begun: Instant,
    patience: Duration,
    /// The time before the rate counts.
    grace: Duration,
    /// True if the patience is for each piece and not for all of it.
    long: bool,
    received: u64,
}

impl Arriving {
    /// A body that has to be there within the patience.
    pub fn new(body: Body, patience: Duration) -> Self {
        let (begun, grace) = (Instant::now(), patience / 3);
        Self { body, begun, patience, grace, long: false, received: 0 }
    }

    /// A body of any length.
    pub fn long(body: Body, patience: Duration) -> Self {
        Self { grace: patience, long: true, ..Self::new(body, patience) }
    }

    /// Waits for the next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = timeout_at(self.deadline(Instant::now()), self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| Error::Slow)? else { return Ok(None) };
            // Frames without data are trailers, which nobody asked for.
            if let Ok(data) = frame.map_err(|_| Error::Cut)?.into_data() {
                self.received += data.len() as u64;
                return Ok(Some(data));
            }
        }
    }

    /// Reads a body of at most `most` bytes without keeping it.
    pub async fn drained(&mut self, most: usize) -> Result<(), Error> {
        let mut left = most;
        while let Some(bytes) = self.next().await? {
            left = left.checked_sub(bytes.len()).ok_or(throng_mix::Error::TooLarge)?;
        }
        Ok(())
    }

    /// Reads the whole of a small body.
    pub async fn short(self, most: usize) -> Result<Bytes, Error> {
        self.whole(most, |_| Ok(())).await
    }

    /// Reads the whole body, of at most `most` bytes, as long as there is room to hold it.
    pub async fn held(self, most: usize, holding: &mut Holding) -> Result<Bytes, Error> {
        self.whole(most, |bytes| holding.grow(bytes)).await
    }

    async fn whole(
        mut self,
        most: usize,
        mut hold: impl FnMut(usize) -> Result<(), Error>,
    ) -> Result<Bytes, Error> {
        let hint = self.body.size_hint();
        if hint.lower() > most as u64 {
            // Whoever is a little over should get the answer, not a broken connection.
            self.drained(most.saturating_add(LINGER)).await?;
            return Err(throng_mix::Error::TooLarge.into());
        }
        // Where the length is told, there is room for all of it before any of it is read.
        let told = hint.exact().map_or(0, |exact| exact as usize);
        hold(told)?;
        let Some(first) = self.next().await? else { return Ok(Bytes::new()) };
        // Most uploads are one report, which comes in one piece.
        if self.body.is_end_stream() && first.len() <= most {
            hold(first.len())?;
            return Ok(first);
        }
        let (mut bytes, mut more) = (Vec::with_capacity(told), Some(first));
        while let Some(piece) = more {
            let length = bytes.len() + piece.len();
            if length > most {
                return Err(throng_mix::Error::TooLarge.into());
            }
            if length > bytes.capacity() {
                let capacity = (2 * bytes.capacity()).min(most).max(length);
                hold(capacity)?;
                bytes.reserve_exact(capacity - bytes.len());
            }
            bytes.extend_from_slice(&piece);
            more = self.next().await?;
        }
        Ok(bytes.into())
    }

    /// The time by which the next bytes have to be there.
    fn deadline(&self, now: Instant) -> Instant {
        let earned = Duration::from_secs(self.received / RATE);
        let last = if self.long { now } else { self.begun } + self.patience;
        last.min(self.begun + self.grace + earned)
    }
}

/// The least number of bytes a second that a body, or the reader of an answer, has to keep to.
pub const RATE: u64 = 1 << 10;

/// The number of bytes beyond the limit that are read, and not kept, before the answer.
const LINGER: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn deadline(arriving: &Arriving, received: u64, after: u64) -> u64 {
        let arriving = Arriving { body: Body::empty(), received, ..*arriving };
        let now = arriving.begun + Duration::from_secs(after);
        (arriving.deadline(now) - arriving.begun).as_secs()
    }

    #[tokio::test]
    async fn a_drip_is_over_after_a_third_of_the_patience() {
        let upload = Arriving::new(Body::empty(), Duration::from_secs(30));
        assert_eq!(deadline(&upload, 0, 5), 10);
        assert_eq!(deadline(&upload, RATE - 1, 9), 10);
        assert_eq!(deadline(&upload, 5 * RATE, 9), 15);
        assert_eq!(deadline(&upload, 1_000 * RATE, 9), 30);
    }

    #[tokio::test]
    async fn a_batch_takes_as_long_as_its_pieces_come() {
        let batch = Arriving::long(Body::empty(), Duration::from_secs(30));
        assert_eq!(deadline(&batch, 0, 5), 30);
        assert_eq!(deadline(&batch, RATE, 29), 31);
        assert_eq!(deadline(&batch, 1_000 * RATE, 100), 130);
    }
}
