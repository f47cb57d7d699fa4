//! Values in files of a user of the command line.

use crate::target::Target;
use crate::values::Column;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use tempfile::TempDir;
use throng_mechanism::{Kind, Values};

/// The place of a kind of value in the list, whether rows have weights, then a file.
pub const VALUES: Target = Target {
    name: "values",
    rounds: 5_000,
    seeds: || {
        let file = "a,b,weight\n1,0,2\nyes,no,0.5\nTRUE,false,1e3\n".as_bytes();
        let reals = "a,b,weight\n0.25,x,2\n -7 ,\"y,\nz\",0\n1e9,,1\n".as_bytes();
        let all = (0..).zip(Kind::ALL);
        let seeds = all
            .flat_map(|(place, _)| [[place, 0], [place, 1]].map(|head| [&head[..], file].concat()));
        seeds.chain([[&[1, 0][..], reals].concat(), [&[3, 1][..], reals].concat()]).collect()
    },
    body: |bytes| {
        let [kind, weighted, file @ ..] = bytes else { return };
        let kind = Kind::ALL[usize::from(*kind) % Kind::ALL.len()];
        fs::write(&FILE.1, file).unwrap();
        let several = matches!(kind, Kind::Attributes | Kind::State);
        let column = if several { vec!["a".into(), "b".into()] } else { vec!["a".into()] };
        let weights = (weighted % 2 == 1).then(|| "weight".into());
        let n = weights.as_ref().map(|_| USERS);
        let asked = crate::args::ValuesArgs { column, weights, low: -1.0, high: 2.0 };
        if let Ok(column) = asked.read(&FILE.1, kind, n) {
            assert_fits(&column, kind, n);
        }
        // An error names the place, never a value.
        if let Err(error) = asked.read(&FILE.1, Kind::Bit, n) {
            assert!(!format!("{error:#}").contains("secret"));
        }
    },
};

/// Checks that there is one value of each user, in range.
fn assert_fits(column: &Column, kind: Kind, n: Option<u64>) {
    let users = match &column.values {
        Values::Bits(bits) => bits.len(),
        Values::Reals(reals) => {
            assert!(reals.iter().all(|real| (0.0..=1.0).contains(real)));
            reals.len()
        }
        Values::Categories(categories) => {
            assert!(categories.iter().all(|place| (*place as usize) < column.names.len()));
            categories.len()
        }
        Values::Texts(texts) => texts.len(),
        Values::Rows { bits, width } => {
            assert!(*width == 2 && matches!(kind, Kind::Attributes | Kind::State));
            bits.len() / width
        }
    };
    assert!(users > 0 && n.is_none_or(|n| n == users as u64));
}

static FILE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("values.csv");
    (directory, file)
});

/// The users that weights are about.
const USERS: u64 = 50;
