//! What several rounds cost together.

pub mod closed_form;
mod compose;

pub use compose::{Composition, shuffled_rounds};
