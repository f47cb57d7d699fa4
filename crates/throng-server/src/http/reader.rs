//! Readers of answers who are too slow, or do not read at all, are cut off.
//!
//! A connection has some time to be waited for. Waiting uses it up, and bytes that are taken earn
//! it back at the least rate.

use super::body::RATE;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A connection whose other end has to read.
pub struct Reader<S> {
    stream: S,
    patience: Duration,
    /// The time that is left to wait.
    left: Duration,
    /// The time since when the other end is waited for, and the end of it.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Reader<S> {
    /// A connection that is waited for so long.
    pub fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, left: patience, waiting: None }
    }

    /// Accounts for the result of a write.
    fn wrote<T>(
        &mut self,
        wrote: Poll<io::Result<T>>,
        bytes: impl FnOnce(&T) -> usize,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        match wrote {
            Poll::Ready(done) => {
                if let Some((since, _)) = self.waiting.take() {
                    self.left = self.left.saturating_sub(since.elapsed());
                }
                let earned = done.as_ref().map_or(0, |done| bytes(done) as u64);
                let earned = Duration::from_secs(earned).div_f64(RATE as f64);
                self.left = self.patience.min(self.left + earned);
                Poll::Ready(done)
            }
            Poll::Pending => {
                let left = self.left;
                let begin = || (Instant::now(), Box::pin(sleep(left)));
                ready!(self.waiting.get_or_insert_with(begin).1.as_mut().poll(context));
                Poll::Ready(Err(ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Reader<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Reader<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(wrote, |bytes| *bytes, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(wrote, |bytes| *bytes, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.wrote(flushed, |()| 0, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.wrote(shut, |()| 0, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::timeout;

    const PATIENCE: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn who_does_not_read_is_cut_off() {
        let (near, _far) = duplex(1_000);
        let writing = async { Reader::new(near, PATIENCE).write_all(&[0; 5_000]).await };
        let written = timeout(Duration::from_mins(1), writing).await.unwrap();
        assert_eq!(written.unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_reads_a_drip_is_cut_off_and_who_reads_is_not() {
        for (each, taken) in [(1, false), (1 << 10, true)] {
            let (near, mut far) = duplex(1 << 10);
            let reading = tokio::spawn(async move {
                let mut bytes = vec![0; each];
                while far.read_exact(&mut bytes).await.is_ok() {
                    sleep(PATIENCE / 20).await;
                }
            });
            let bytes = vec![0; 40 << 10];
            let writing = async { Reader::new(near, PATIENCE).write_all(&bytes).await };
            let written = timeout(Duration::from_mins(1), writing).await.unwrap();
            assert_eq!(written.is_ok(), taken, "{each} bytes at a time");
            reading.abort();
        }
    }
}
