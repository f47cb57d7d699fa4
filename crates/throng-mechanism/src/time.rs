//! Time: how many say yes, period after period (`docs/mechanisms/time.md`).

pub(crate) mod follower;
pub(crate) mod longitudinal;

pub use follower::Follower;
pub use longitudinal::Longitudinal;
