//! The privacy cost of several rounds together.
//!
//! | question | answer |
//! |---|---|
//! | rounds with profiles of their own | [`Composition`] |
//! | rounds of one shuffled randomizer | [`shuffled_rounds`] |
//! | several reports of one person in one bag | [`group()`] |
//! | all epochs of a collection | [`Lifetime`] |
//! | all epochs of several collections | [`Together`] |
//! | a formula is enough | [`closed_form`] |

pub mod closed_form;
mod compose;
mod group;
mod lifetime;
mod row;
mod table;
mod together;

pub use compose::{Composition, shuffled_rounds};
pub use group::group;
pub(crate) use lifetime::composed_delta;
pub use lifetime::{Disclosure, Lifetime, ample_delta, every_epoch};
pub use together::Together;
