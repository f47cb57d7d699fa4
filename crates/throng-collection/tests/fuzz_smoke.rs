//! A short run of every fuzz target of files, envelopes and batches. `fuzz/README.md` has the long
//! one.

#[path = "../../../fuzz/src/collection.rs"]
mod collection;
#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/src/payload.rs"]
mod payload;
#[path = "../../../fuzz/src/target.rs"]
mod target;
#[path = "../../../fuzz/src/wire.rs"]
mod wire;
#[path = "../../../fuzz/src/world.rs"]
mod world;

#[test]
fn a_batch_is_what_was_signed_or_refused() {
    wire::BATCH.smoke();
}

#[test]
fn a_receipt_is_what_was_signed_or_refused() {
    wire::RECEIPT.smoke();
}

#[test]
fn a_key_is_what_was_stated_or_refused() {
    wire::KEY_STATEMENT.smoke();
}

#[test]
fn a_directory_is_what_all_signed_or_refused() {
    wire::DIRECTORY.smoke();
}

#[test]
fn a_bulletin_is_what_all_signed_or_refused() {
    wire::BULLETIN.smoke();
}

#[test]
fn a_board_is_read_as_it_is_written_or_refused() {
    collection::BOARD.smoke();
}

#[test]
fn a_release_is_read_as_it_is_written_or_refused() {
    collection::RELEASE.smoke();
}

#[test]
fn an_identity_is_read_as_it_is_written_or_refused() {
    wire::IDENTITY_FILE.smoke();
}

#[test]
fn layers_open_or_leave_zeros() {
    wire::LAYERS.smoke();
}

#[test]
fn one_text_stands_for_one_thing() {
    wire::NAMES.smoke();
}

#[test]
fn a_collection_is_read_as_it_is_written_or_refused() {
    collection::COLLECTION.smoke();
}

#[test]
fn every_payload_is_counted() {
    payload::PAYLOAD.smoke();
}
