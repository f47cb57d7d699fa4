//! Fuzz targets for everything that reads what others wrote.
//!
//! The test suites of the crates include these files and run each target for a moment; the binaries
//! beside them hand the same targets to libFuzzer. `README.md` says how to run them.

pub mod client;
pub mod collection;
mod mutate;
pub mod payload;
pub mod server;
pub mod target;
pub mod wire;
mod world;

/// All targets.
pub const TARGETS: [target::Target; 15] = [
    wire::BATCH,
    wire::RECEIPT,
    wire::KEY_STATEMENT,
    wire::DIRECTORY,
    wire::BULLETIN,
    collection::BOARD,
    wire::LAYERS,
    wire::NAMES,
    collection::COLLECTION,
    payload::PAYLOAD,
    server::SLOT_ROW,
    server::LEDGER,
    server::CONFIG,
    server::LOG,
    client::CLIENT_STATE,
];
