//! The state of the process, as Linux tells it; elsewhere nothing is told.

use std::fs;

/// The numbers of a process that monitors expect.
pub struct Process {
    /// Bytes in memory.
    pub resident: u64,
    /// The time at which it began, in seconds since 1970.
    pub start: u64,
    /// Whole seconds of processor time.
    pub cpu: u64,
}

impl Process {
    /// This process.
    pub fn now() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program is in parentheses and may hold anything; numbers follow.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let ticks = rustix::param::clock_ticks_per_second();
        let boot = fs::read_to_string("/proc/stat").ok()?;
        let boot: u64 =
            boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
        Some(Self {
            resident: field(RESIDENT)? * rustix::param::page_size() as u64,
            start: boot + field(START)? / ticks,
            cpu: (field(USER)? + field(SYSTEM)?) / ticks,
        })
    }
}

/// The number of files that are open.
pub fn open_files() -> Option<u64> {
    // One of them is the directory that is read.
    Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1))
}

/// The most files that may be open; none where there is no limit.
pub fn most_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// The numbers of fields of `/proc/self/stat`, as its manual counts them.
const USER: usize = 14;
const SYSTEM: usize = 15;
const START: usize = 22;
const RESIDENT: usize = 24;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn this_process_has_memory_files_and_a_beginning() {
        let process = Process::now().unwrap();
        assert!(process.resident > 1 << 20, "{}", process.resident);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        // The boot time is a whole second that the clock may have moved since.
        assert!(process.start.abs_diff(now) < 3_600, "{} and {now}", process.start);
        assert!(process.cpu < 3_600);
        let before = open_files().unwrap();
        let held: Vec<fs::File> =
            (0..50).map(|_| fs::File::open("/proc/self/stat").unwrap()).collect();
        // Other tests of this process open and close some too.
        assert!(open_files().unwrap() >= before.max(40) - 40 + held.len() as u64);
        assert!(most_files().is_none_or(|most| most > before));
    }
}
