//! Sums: the mean of a bounded number (`docs/mechanisms/sums.md`).

pub(crate) mod laplace;
pub(crate) mod sliced_sum;
pub(crate) mod split_mix;
pub(crate) mod unary_sum;
