//! Real servers on loopback, spoken to over HTTP. Clocks are set by hand.

mod access;
mod batches;
mod boards;
mod chain;
mod errors;
mod leaks;
mod slow;
mod stop;
mod tls;
mod watch;
mod world;
