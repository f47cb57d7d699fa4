//! Real servers on loopback, spoken to over HTTP. Clocks are set by hand.

mod access;
mod audit;
mod batches;
mod boards;
mod chain;
mod edge;
mod errors;
mod folder;
mod host;
mod leaks;
mod metrics;
mod reload;
mod slow;
mod stop;
mod tls;
mod watch;
mod world;
