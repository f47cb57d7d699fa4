//! A short run of every fuzz target of boards. `fuzz/README.md` has the long one.

#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/src/rounds.rs"]
mod rounds;
#[path = "../../../fuzz/src/target.rs"]
mod target;

#[test]
fn a_key_is_of_both_ends_whatever_others_post() {
    rounds::CARDS.smoke();
}

#[test]
fn a_channel_gives_what_was_said_whatever_others_post() {
    rounds::CHANNEL.smoke();
}

#[test]
fn no_member_can_pass_off_a_wrong_result() {
    rounds::COMPUTATION.smoke();
}

#[test]
fn no_bulletin_leads_to_a_wrong_result() {
    rounds::TALK.smoke();
}

#[test]
fn every_sum_is_a_number() {
    rounds::XOR_SUM.smoke();
}
