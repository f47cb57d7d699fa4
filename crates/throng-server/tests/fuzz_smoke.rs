//! A short run of every fuzz target of this crate and of `throng-client`. `fuzz/README.md` has the
//! long one.

#[path = "../../../fuzz/src/client.rs"]
mod client;
#[path = "../../../fuzz/src/http.rs"]
mod http;
#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/src/parties.rs"]
mod parties;
#[path = "../../../fuzz/src/server.rs"]
mod server;
#[path = "../../../fuzz/src/target.rs"]
mod target;
#[path = "../../../fuzz/src/world.rs"]
mod world;

#[test]
fn a_slot_is_read_as_it_was_written_or_refused() {
    server::SLOT_ROW.smoke();
}

#[test]
fn a_ledger_is_the_one_that_was_written_or_refused() {
    server::LEDGER.smoke();
}

#[test]
fn a_configuration_is_read_or_refused() {
    server::CONFIG.smoke();
}

#[test]
fn a_damaged_log_is_where_it_began_or_refused() {
    server::LOG.smoke();
}

#[test]
fn a_client_goes_on_from_what_it_kept_or_refuses() {
    client::CLIENT_STATE.smoke();
}

#[test]
fn no_request_breaks_a_server() {
    http::REQUEST.smoke();
}

#[test]
fn no_query_asks_for_more_than_the_planner_has() {
    http::QUERY.smoke();
}

#[test]
fn tokens_are_read_as_they_are_written_or_refused() {
    http::TOKENS.smoke();
}

#[test]
fn a_mix_signs_one_notice_of_a_round_whatever_it_is_sent() {
    http::STATEMENT.smoke();
}

#[test]
fn a_disk_is_read_or_refused() {
    http::ROWS.smoke();
}

#[test]
fn progress_makes_sense_or_is_refused() {
    http::PROGRESS.smoke();
}
