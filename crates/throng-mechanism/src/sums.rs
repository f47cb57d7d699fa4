//! Sums: the mean of a bounded number (`docs/mechanisms/sums.md`).

pub(crate) mod laplace;
mod sliced_sum;
mod split_mix;
mod unary_sum;

pub use laplace::LaplaceMean;
pub use sliced_sum::SlicedSum;
pub use split_mix::SplitAndMix;
pub use unary_sum::UnarySum;
