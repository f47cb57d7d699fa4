//! Keeping the secrets of a process out of files that outlive it: core dumps and swap.
//!
//! ```text
//! core dumps   no file (RLIMIT_CORE 0), and no helper of the system or debugger of the same user
//!              gets at the memory (PR_SET_DUMPABLE 0)
//! swap         all memory is locked, page by page as it is used, where that cannot run into a
//!              limit: a lock that reaches its limit makes the next allocation fail
//! ```

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// The protection that was achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shield {
    /// True if nothing writes the memory to a core file.
    pub undumped: bool,
    /// True if no memory goes to swap.
    pub locked: bool,
}

impl Shield {
    /// Protects this process as far as the system lets it.
    pub fn raise() -> Self {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let undumped = setrlimit(Resource::Core, none).is_ok() && undumpable();
        Self { undumped, locked: may_lock() && lock() }
    }

    /// Tells the operator.
    pub fn log(self) {
        if !self.undumped {
            tracing::warn!("core dumps of this process cannot be turned off");
        }
        if self.locked {
            tracing::info!("memory is locked: nothing of it goes to swap");
        } else if swaps() {
            tracing::warn!("memory may go to swap: the limit on locked memory is not infinite");
        }
    }
}

/// True if this process may lock all of its memory, however much that will be.
pub fn may_lock() -> bool {
    getrlimit(Resource::Memlock).current.is_none() || capable()
}

/// True if the machine swaps, as far as it tells.
pub fn swaps() -> bool {
    // The first line is the head of the table.
    fs::read_to_string("/proc/swaps").is_ok_and(|table| table.lines().count() > 1)
}

#[cfg(target_os = "linux")]
fn undumpable() -> bool {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
}

#[cfg(target_os = "linux")]
fn lock() -> bool {
    use rustix::mm::{MlockAllFlags, mlockall};
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn undumpable() -> bool {
    true
}

#[cfg(not(target_os = "linux"))]
fn lock() -> bool {
    false
}

/// True if no limit on locked memory holds for this process.
fn capable() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set & CAP_IPC_LOCK != 0)
}

const CAP_IPC_LOCK: u64 = 1 << 14;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    #[test]
    fn a_process_behind_the_shield_leaves_no_core() {
        let shield = Shield::raise();
        assert!(shield.undumped);
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        // What it says of memory is what the kernel says.
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        assert_eq!(shield.locked, locked.trim() != "0 kB", "{locked}");
        assert!(!shield.locked || may_lock());
    }
}
