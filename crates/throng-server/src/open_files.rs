//! The number of files that this process may have open, sockets included.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of files that this process may have open to the most that the system allows
/// it, and returns it. Servers share it between connections and their store.
///
/// ```
/// let allowed = throng_server::raise_open_files();
/// assert_eq!(throng_server::raise_open_files(), allowed);
/// ```
pub fn raise_open_files() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it is not granted, the limit stays as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    allowed()
}

/// The number of files that this process may have open.
pub(crate) fn allowed() -> usize {
    let current = getrlimit(Resource::Nofile).current.unwrap_or(PLENTY);
    usize::try_from(current.min(PLENTY)).unwrap_or(usize::MAX)
}

/// More files than a server needs.
const PLENTY: u64 = 1 << 20;
