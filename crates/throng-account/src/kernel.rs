//! The laws behind the profiles: kernels with constant or square-root cost in the crowd, and their
//! tools.

pub(crate) mod bag;
pub(crate) mod bag_table;
pub(crate) mod binomial;
pub(crate) mod bins;
pub(crate) mod burst_law;
pub(crate) mod clones;
mod complex;
pub(crate) mod loss;
pub(crate) mod rounds;
pub(crate) mod solve;
pub(crate) mod special;
pub(crate) mod stop_loss;
pub(crate) mod work;
