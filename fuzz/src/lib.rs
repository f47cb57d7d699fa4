//! Fuzz targets for everything that reads what others wrote.
//!
//! The test suites of the crates include these files and run each target for a moment; the binary
//! `fuzz` hands the same targets to libFuzzer. `README.md` says how to run them.

mod args;
pub mod client;
pub mod collection;
pub mod csv;
pub mod http;
mod mutate;
mod parties;
pub mod payload;
pub mod rounds;
pub mod server;
pub mod target;
#[path = "../../crates/throng/src/values.rs"]
#[allow(dead_code, reason = "the command line also invents values")]
mod values;
pub mod wire;
mod world;

/// All targets.
pub static TARGETS: [target::Target; 29] = [
    wire::BATCH,
    wire::RECEIPT,
    wire::KEY_STATEMENT,
    wire::DIRECTORY,
    wire::BULLETIN,
    wire::LAYERS,
    wire::NAMES,
    wire::IDENTITY_FILE,
    collection::BOARD,
    collection::COLLECTION,
    collection::RELEASE,
    payload::PAYLOAD,
    client::CLIENT_STATE,
    server::SLOT_ROW,
    server::LEDGER,
    server::CONFIG,
    server::LOG,
    http::REQUEST,
    http::QUERY,
    http::TOKENS,
    http::STATEMENT,
    http::ROWS,
    http::PROGRESS,
    rounds::CARDS,
    rounds::CHANNEL,
    rounds::COMPUTATION,
    rounds::TALK,
    rounds::XOR_SUM,
    csv::VALUES,
];
