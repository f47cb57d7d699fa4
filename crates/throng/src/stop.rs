//! The wish to stop, however it is said.

use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Waits until somebody ends the program: Ctrl-C, a service manager's SIGTERM, or the SIGHUP of a
/// terminal that is closed.
pub async fn asked() -> io::Result<()> {
    let [mut interrupt, mut terminate, mut hangup] = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ];
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}
