//! A blob on its way out, piece by piece: never in memory as a whole.

use axum::body::Bytes;
use futures_util::{Stream, stream};
use std::io::{self, Read};
use std::time::Duration;
use throng_mix::store::Blob;
use tokio::sync::mpsc::channel;

/// A stream of a beginning and then a blob, with up to `ahead` pieces of it waiting, and the future
/// that has to run meanwhile. Its output is true if every piece was taken, each within the
/// patience.
pub(crate) fn pieces(
    start: Vec<u8>,
    mut blob: Blob,
    ahead: usize,
    patience: Duration,
) -> (impl Stream<Item = io::Result<Bytes>> + Send + 'static, impl Future<Output = bool> + Send) {
    let (pieces, mut taken) = channel(ahead);
    let body = stream::poll_fn(move |context| taken.poll_recv(context));
    let feeding = async move {
        if pieces.send_timeout(Ok(start.into()), patience).await.is_err() {
            return false;
        }
        let mut left = blob.size;
        while left > 0 {
            let size = left.min(PIECE as u64) as usize;
            let read = tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; size];
                let read = blob.content.read_exact(&mut piece);
                (blob, read.map(|()| Bytes::from(piece)))
            });
            let Ok((same, piece)) = read.await else { return false };
            blob = same;
            left -= size as u64;
            let failed = piece.is_err();
            if pieces.send_timeout(piece, patience).await.is_err() || failed {
                return false;
            }
        }
        true
    };
    (body, feeding)
}

/// The number of bytes that are read from disk at a time.
const PIECE: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::{Body, to_bytes};
    use std::io::Write;
    use throng_mix::simulated::MemoryStore;

    fn blob(bytes: &[u8]) -> Blob {
        let blobs = MemoryStore::new().store().blobs;
        let mut blob = blobs.create("bag").unwrap();
        blob.write_all(bytes).unwrap();
        blob.finish().unwrap();
        blobs.open("bag").unwrap()
    }

    #[tokio::test]
    async fn all_pieces_arrive_in_order() {
        for size in [0, 1, PIECE - 1, PIECE, 3 * PIECE + 7] {
            let bytes: Vec<u8> = (0..size).map(|i| (i / 251) as u8).collect();
            let (body, feeding) = pieces(vec![9; 5], blob(&bytes), 1, Duration::from_mins(1));
            let reading = tokio::spawn(to_bytes(Body::from_stream(body), usize::MAX));
            assert!(feeding.await);
            assert_eq!(reading.await.unwrap().unwrap(), [&[9; 5][..], &bytes].concat());
        }
    }

    #[tokio::test]
    async fn who_leaves_or_does_not_read_is_not_waited_for() {
        let many = vec![1; 9 * PIECE];
        let (body, feeding) = pieces(Vec::new(), blob(&many), 1, Duration::from_mins(1));
        drop(body);
        assert!(!feeding.await);
        let (_body, feeding) = pieces(Vec::new(), blob(&many), 1, Duration::from_millis(1));
        assert!(!feeding.await);
    }
}
