//! The arguments that `values` reads a file with, in the place of those of the command line.

/// The columns to read.
pub struct ValuesArgs {
    /// The columns.
    pub column: Vec<String>,
    /// The column of weights.
    pub weights: Option<String>,
    /// The lower end of numbers.
    pub low: f64,
    /// Their upper end.
    pub high: f64,
}
