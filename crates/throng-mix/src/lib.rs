//! A mix: takes reports, waits for a crowd, strips a layer, shuffles, and hands over.
//!
//! Nothing here knows what is inside a message: the crate depends on `throng-wire` alone, and
//! neither on mechanisms nor on the accountant. Everything is synchronous and is given the time and
//! the source of randomness, so that tests can run it from a list of operations on a
//! [simulated] disk.
//!
//! ```
//! use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
//! use throng_mix::{Limits, Mix, Step, simulated::MemoryStore};
//! use throng_wire::{Route, Seal, example};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! // One mix, whose crowd is two, and the keys of its first epoch.
//! let route = Route { quorum: 2, ..example::route() };
//! let (store, [identity, _]) = (MemoryStore::new().store(), example::identities());
//! let mix = Mix::open(store, route.clone().into(), identity, Limits::default())?;
//! let keyring = &mix.course.keyring;
//! keyring.publish(1_000, &mut rng)?;
//! let (own, analyzer) = (keyring.statement(0)?.key, example::keys(&route, 0).0[1].public());
//!
//! // Two people report; one of them twice, with the same bytes.
//! let seal = Seal::new(&route.shape, route.id, 0, 0, &[own, analyzer])?;
//! let [yes, no] = [seal.report(&[1], &mut rng)?, seal.report(&[0], &mut rng)?];
//! mix.accept(0, &[yes.clone(), no, yes].concat(), 1_000)?;
//!
//! // The epoch closes, the copy is left out, and two onions wait in random order. How many were
//! // left out is told in hundreds, rounded at random.
//! let deadline = route.schedule.deadline(0);
//! assert_eq!(mix.step(deadline, &mut rng)?, Some(Step::Close { first: 0, last: 0 }));
//! let manifest = mix.outgoing(0)?.unwrap().manifest;
//! assert_eq!(manifest.unverified().records, 2);
//! assert!([0, 100].contains(&manifest.unverified().losses[0].replayed));
//! # Ok::<(), throng_mix::Error>(())
//! ```
//!
//! | module | |
//! |---|---|
//! | `timetable`, `slots` | [`Timetable`]: the state machine that tells what is due |
//! | `course` | [`Course`]: the state machine with a disk around it, the same for every party |
//! | `mix`, `countersign`, `progress` | [`Mix`]: closing, mixing, handing over, signing, telling |
//! | `fates` | [`Fates`]: what became of every epoch |
//! | `peel`, `shuffle` | each record once, a layer off; [`Shuffler`]: uniformly random order |
//! | `keyring`, `windows` | [`Keyring`]: keys per window, made ahead, cosigned, destroyed |
//! | `clock` | [`Timekeeper`]: whether the clock can be believed |
//! | `told` | [`Rounding`]: losses as they are told |
//! | `limits`, `network` | [`Limits`]: what an operator may set |
//! | [`store`] | rows, blobs, logs and secrets that survive a crash, and their contract as a test |
//! | [`simulated`] | a disk that fails where a test says |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod clock;
mod countersign;
mod course;
mod error;
mod fates;
mod keyring;
mod limits;
mod mix;
mod network;
mod peel;
mod progress;
mod shuffle;
pub mod simulated;
mod slots;
pub mod store;
mod timetable;
mod told;
mod windows;

pub use clock::{Judgement, Reading, TOLERANCE, Timekeeper};
pub use countersign::{read_statement, statement};
pub use course::{Course, Incoming, Intake, OpenedBatch};
pub use error::Error;
pub use fates::{Fate, Fates};
pub use keyring::Keyring;
pub use limits::Limits;
pub use mix::{Mix, Outgoing};
pub use network::Network;
pub use progress::{Progress, Ticking};
pub use shuffle::Shuffler;
pub use slots::{Slot, Slots, Stage, Why, Word};
pub use timetable::{Step, Timetable};
pub use told::{Rounding, STEP};
pub use windows::Destroyed;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if somebody panicked while holding it: the value inside is always changed in
/// one step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
