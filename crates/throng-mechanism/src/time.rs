//! Time: how many say yes, period after period (`docs/mechanisms/time.md`).

pub(crate) mod longitudinal;
