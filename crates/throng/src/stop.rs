//! The wishes of whoever runs the program, as signals say them.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits until somebody ends the program: Ctrl-C, a service manager's SIGTERM, or the SIGHUP of a
/// terminal that is closed.
pub async fn asked() -> io::Result<()> {
    let mut signals = Signals::listen()?;
    signals.next().await;
    Ok(())
}

/// A wish that a server is told by a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To stop: Ctrl-C or SIGTERM.
    Stop,
    /// To read its configuration again: SIGHUP.
    Reload,
}

/// The signals of this process, from the moment it listens to them. None is lost while it is busy
/// with another; several SIGHUPs may become one.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Listens. Must be called inside a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next wish.
    pub async fn next(&mut self) -> Wish {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.hangup.recv() => Wish::Reload,
        }
    }
}
