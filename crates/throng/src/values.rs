//! The values of a simulation: a column of a file, or made up.

use crate::args::ValuesArgs;
use anyhow::{Context, Result, bail, ensure};
use chacha20::ChaCha12Rng;
use std::collections::BTreeMap;
use std::path::Path;
use throng_mechanism::{Kind, Question, Range, Values, sample};

/// Users' values, and the names of categories where they have names.
pub struct Column {
    /// The values.
    pub values: Values,
    /// The names of the categories or attributes.
    pub names: Vec<String>,
}

impl ValuesArgs {
    /// The range of numbers.
    pub fn range(&self) -> Result<Range> {
        Ok(Range::new(self.low, self.high)?)
    }

    /// Reads the column, in as many copies as its weights say if there are weights and `n`.
    pub fn read(&self, file: &Path, kind: Kind, n: Option<u64>) -> Result<Column> {
        let table = if file.extension().is_some_and(|kind| kind == "parquet") {
            parquet_table(file)
        } else {
            csv_table(file)
        };
        let (head, rows) = table.with_context(|| format!("cannot read {}", file.display()))?;
        let place = |name: &str| {
            head.iter().position(|column| column == name).with_context(|| {
                format!("{} has no column {name}; it has {}", file.display(), head.join(", "))
            })
        };
        ensure!(!self.column.is_empty(), "--column is needed: one of {}", head.join(", "));
        ensure!(!rows.is_empty(), "{} has no rows", file.display());
        let places: Vec<usize> = self.column.iter().map(|c| place(c)).collect::<Result<_>>()?;
        if places.len() > 1 && !matches!(kind, Kind::Attributes | Kind::State) {
            bail!("several columns are for attributes and periods only");
        }
        let copies = match (self.weights.as_deref().map(place).transpose()?, n) {
            (None, _) => vec![1; rows.len()],
            (Some(place), Some(n)) => apportion(&weights(&rows, place)?, n),
            (Some(_), None) => bail!("--n is needed with --weights: how many users in all?"),
        };
        let chosen = |row: &Row| places.iter().map(|&i| row[i].clone()).collect();
        let rows: Vec<Row> = rows.iter().map(chosen).collect();
        self.parse(kind, &rows, &copies)
    }

    /// Parses the rows. An error names the line, never the raw value.
    fn parse(&self, kind: Kind, rows: &[Row], copies: &[u64]) -> Result<Column> {
        let mut names = Vec::new();
        let values = match kind {
            Kind::Bit => Values::Bits(repeated(rows, copies, |line, row| bit(line, &row[0]))?),
            Kind::Real => {
                let range = self.range()?;
                Values::Reals(repeated(rows, copies, |line, row| {
                    let here = || format!("line {}", line + 2);
                    let number: Result<f64, _> = row[0].trim().parse();
                    let number = number.with_context(|| format!("{}: not a number", here()))?;
                    range.unit(number).with_context(here)
                })?)
            }
            Kind::Category => {
                let mut known = BTreeMap::new();
                Values::Categories(repeated(rows, copies, |_, row| {
                    let next = known.len() as u32;
                    let category = *known.entry(row[0].clone()).or_insert(next);
                    if category == next {
                        names.push(row[0].clone());
                    }
                    Ok(category)
                })?)
            }
            Kind::Text => Values::Texts(repeated(rows, copies, |_, row| Ok(row[0].clone()))?),
            Kind::Attributes | Kind::State => {
                names.clone_from(&self.column);
                let bits = |line, row: &[String]| {
                    row.iter().map(|text| bit(line, text)).collect::<Result<Vec<bool>>>()
                };
                let bits = repeated(rows, copies, bits)?.concat();
                Values::Rows { bits, width: self.column.len() }
            }
        };
        Ok(Column { values, names })
    }
}

/// What every row says, in as many copies as there are; a row without copies is not read.
fn repeated<T: Clone>(
    rows: &[Row],
    copies: &[u64],
    mut read: impl FnMut(usize, &[String]) -> Result<T>,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    for ((line, row), &copies) in rows.iter().enumerate().zip(copies) {
        if copies > 0 {
            values.extend(vec![read(line, row)?; copies as usize]);
        }
    }
    Ok(values)
}

/// A row of a file, as text.
type Row = Vec<String>;

/// The head of a file and its rows.
fn csv_table(file: &Path) -> Result<(Row, Vec<Row>)> {
    let mut reader = csv::Reader::from_path(file)?;
    let row = |record: &csv::StringRecord| record.iter().map(String::from).collect();
    let head = row(reader.headers()?);
    let rows = reader.records().map(|record| Ok(row(&record?)));
    Ok((head, rows.collect::<Result<_>>()?))
}

#[cfg(feature = "parquet")]
fn parquet_table(file: &Path) -> Result<(Row, Vec<Row>)> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(std::fs::File::open(file)?)?;
    let schema = reader.metadata().file_metadata().schema().get_fields().to_vec();
    let head = schema.iter().map(|field| field.name().to_string()).collect();
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None)? {
        let text = |field: &parquet::record::Field| match field {
            parquet::record::Field::Str(text) => text.clone(),
            other => other.to_string(),
        };
        rows.push(row?.get_column_iter().map(|(_, field)| text(field)).collect());
    }
    Ok((head, rows))
}

#[cfg(not(feature = "parquet"))]
fn parquet_table(_: &Path) -> Result<(Row, Vec<Row>)> {
    bail!("this build reads CSV only; build with --features parquet for Parquet files")
}

fn weights(rows: &[Row], place: usize) -> Result<Vec<f64>> {
    let weight = |(line, row): (usize, &Row)| {
        let weight = row[place].trim().parse().ok().filter(|w: &f64| *w >= 0.0);
        weight.with_context(|| format!("line {}: the weight is not a number from 0 on", line + 2))
    };
    rows.iter().enumerate().map(weight).collect()
}

/// Invented values of `n` users: three in ten say yes, numbers are spread evenly, categories and
/// strings follow Zipf's law, attributes get rarer, and states begin at a random period.
pub fn synthetic(question: Question, n: u64, rng: &mut ChaCha12Rng) -> Values {
    let n = n as usize;
    // The place of everybody's value in a list of `kinds`.
    let zipf = |kinds: usize| {
        let weights: Vec<f64> = (1..=kinds).map(|rank| 1.0 / rank as f64).collect();
        let counts = apportion(&weights, n as u64).into_iter().enumerate();
        counts.flat_map(|(kind, count)| vec![kind; count as usize])
    };
    match question {
        Question::Bit => Values::Bits((0..n).map(|i| i * 10 < n * 3).collect()),
        Question::Real => Values::Reals((0..n).map(|i| (i as f64 + 0.5) / n as f64).collect()),
        Question::Category { size } => {
            Values::Categories(zipf(size as usize).map(|kind| kind as u32).collect())
        }
        Question::Text { .. } => {
            Values::Texts(zipf(100).map(|kind| format!("string-{kind}")).collect())
        }
        Question::Attributes { count } => {
            let width = count as usize;
            let row = |user: usize| (0..width).map(move |a| (user + a).is_multiple_of(a + 2));
            Values::Rows { bits: (0..n).flat_map(row).collect(), width }
        }
        Question::State { periods, .. } => {
            let width = periods as usize;
            let mut bits = Vec::with_capacity(n * width);
            for _ in 0..n {
                let start = sample::below(2 * periods, rng) as usize;
                bits.extend((0..width).map(|period| period >= start));
            }
            Values::Rows { bits, width }
        }
    }
}

/// Whole numbers in proportion to weights that add up to `total`, by largest remainders.
fn apportion(weights: &[f64], total: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|w| w / sum * total as f64).collect();
    let mut whole: Vec<u64> = exact.iter().map(|share| share.floor() as u64).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let left = total.saturating_sub(whole.iter().sum()) as usize;
    order.into_iter().cycle().take(left).for_each(|i| whole[i] += 1);
    whole
}

fn bit(line: usize, text: &str) -> Result<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => bail!("line {}: not a bit (0 or 1, true or false, yes or no)", line + 2),
    }
}
