//! Histograms: how many hold each of k categories (`docs/mechanisms/histograms.md`).

pub(crate) mod additive;
pub(crate) mod buckets;
pub(crate) mod columns;
pub(crate) mod kary;
pub(crate) mod rates;
pub(crate) mod simplex;
pub(crate) mod subset;
