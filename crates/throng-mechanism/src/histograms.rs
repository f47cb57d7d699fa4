//! Histograms: how many hold each of k categories (`docs/mechanisms/histograms.md`).

mod additive;
mod buckets;
mod burst;
pub(crate) mod columns;
pub(crate) mod kary;
pub(crate) mod rates;
mod simplex;
mod subset;

pub use additive::AdditiveHistogram;
pub use buckets::{Buckets, Collisions};
pub use burst::BurstHistogram;
pub use columns::{Columns, Histogram};
pub use kary::KaryResponse;
pub use simplex::norm_sub;
pub use subset::SubsetSelection;
