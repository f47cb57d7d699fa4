//! A short run of the fuzz target of files with values. `fuzz/README.md` has the long one.

#[path = "../../../fuzz/src/args.rs"]
mod args;
#[path = "../../../fuzz/src/csv.rs"]
mod csv;
#[path = "../../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/src/target.rs"]
mod target;
#[path = "../src/values.rs"]
#[allow(dead_code, reason = "the command line also invents values")]
mod values;

#[test]
fn a_column_is_read_or_refused() {
    csv::VALUES.smoke();
}
