//! Protocols for a crowd that answers more than once.
//!
//! In one round everybody speaks once and the analyzer counts. Here the shuffled bag is published,
//! as a [`Bulletin`](throng_wire::Bulletin) of a [`Board`](throng_collection::Board), and
//! participants speak again. Through the bag they agree on keys that nobody else learns, over the
//! keys they talk in private, and over the channels they compute any function of their inputs on
//! shares. `docs/rounds.md` has the protocols, the assumptions and what they cost.
//!
//! ```
//! use chacha20::{ChaCha12Rng, rand_core::SeedableRng};
//! use std::sync::Arc;
//! use throng_rounds::{Circuit, Committee, ComputationPlan, Input, Method, Participant, Seat};
//! use throng_wire::{Bag, Bulletin, Identity, example};
//!
//! // What do three colleagues earn together? None of them says what one earns.
//! let seats = [Seat(0), Seat(1), Seat(2)];
//! let mut circuit = Circuit::new(3, Committee::new(seats.to_vec(), 1)?);
//! let wages = seats.map(|seat| circuit.integer(seat, 16));
//! let sum = circuit.sum(wages);
//! let answer = circuit.reveal_number(sum, &seats);
//!
//! // Everybody knows the function and who sits where.
//! let identities = [1, 2, 3].map(|seed| Identity::from_seed(&[seed; 32]));
//! let roster = identities.each_ref().map(Identity::public).to_vec();
//! let plan = Arc::new(ComputationPlan::new(circuit, roster, Method::cards(128)?)?);
//! let mut all = Vec::new();
//! for ((seat, identity), wage) in seats.into_iter().zip(identities).zip([3_000, 2_500, 4_000]) {
//!     all.push(Participant::new(&plan, seat, identity, &[Input::Integer(wage)])?);
//! }
//!
//! // What goes through the mixes comes back as one bag. Here a function stands for them.
//! let bulletin = |board: &throng_collection::Board, round, posts: Vec<Vec<u8>>| {
//!     let bag = Bag::new(board.payload as usize, &posts.concat())?;
//!     Ok::<_, throng_rounds::Error>(Bulletin::new(board.id(), round, 3, bag))
//! };
//! let keys = plan.key_board(1, 3, example::schedule(), example::chain());
//! let talk = plan.talk_board(3, example::schedule(), example::chain());
//! let mut rng = ChaCha12Rng::seed_from_u64(1);
//! let mut posts = Vec::new();
//! for participant in &mut all {
//!     posts.extend(participant.offer(&keys, &mut rng)?);
//! }
//! let seen = bulletin(&keys, 0, posts)?;
//! for participant in &mut all {
//!     participant.settle(&seen)?;
//!     participant.begin(&talk)?;
//! }
//! let mut shown = Vec::new();
//! for round in 0..plan.talk_rounds() {
//!     let mut posts = Vec::new();
//!     for participant in &mut all {
//!         posts.extend(participant.speak(round, &mut rng)?);
//!     }
//!     let seen = bulletin(&talk, round, posts)?;
//!     for participant in &mut all {
//!         shown.extend(participant.hear(&seen)?);
//!     }
//! }
//! assert!(shown.len() == 3 && shown.iter().all(|seen| seen.number(answer) == Some(9_500)));
//! # Ok::<(), throng_rounds::Error>(())
//! ```
//!
//! In use `attend`, with the feature `http`, does the rounds over the network.
//!
//! | module | |
//! |---|---|
//! | `agree`, `odds` | [`Hand`], [`Method`]: a key out of a bag, and how likely |
//! | `agreement` | [`Agreement`]: keys with many at once |
//! | `key`, `channel` | [`PairKey`], [`Channel`]: frames that look like random bytes to others |
//! | `circuit`, `noise` | [`Circuit`]: a function; [`LaplaceNoise`]: makes its result private |
//! | `field`, `shamir`, `compute` | [`Player`]: computing on shares; a wrong result is noticed |
//! | `plan`, `participant`, `attend` | [`ComputationPlan`], [`Participant`]: all of it together |
//! | [`six_cards`] | the wedding problem with cards |
//! | `robust`, [`pause`] | [`RobustXorSum`]: the same in one round; why that has to err |

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod agree;
mod agreement;
#[cfg(feature = "http")]
mod attend;
mod channel;
mod circuit;
mod compute;
mod error;
pub mod example;
mod field;
mod key;
mod noise;
mod odds;
mod pad;
mod participant;
pub mod pause;
mod plan;
mod robust;
mod seat;
mod shamir;
pub mod six_cards;

pub use agree::{Failure, Hand};
pub use agreement::Agreement;
#[cfg(feature = "http")]
pub use attend::attend;
#[doc(hidden)]
pub use channel::piece;
pub use channel::{Channel, frames};
pub use circuit::{Bit, Circuit, Input, Number, Output};
pub use compute::{Committee, Outcome, Player, Traffic};
pub use error::Error;
pub use field::Element;
pub use key::PairKey;
pub use noise::LaplaceNoise;
pub use odds::Method;
pub use pad::pad;
pub use participant::Participant;
pub use plan::ComputationPlan;
pub use robust::{RobustXorSum, XorSum, xor_sum};
pub use seat::{Pair, Seat};
