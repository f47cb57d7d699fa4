//! Releases of one kind in a row, and what all kinds together cost.

use super::Composition;
use super::table::Table;
use crate::{Error, Profile};

/// Releases that one person has reports in, all of the same kind.
pub(super) struct Kind<'a> {
    /// The profile of one of them.
    pub one: &'a Table,
    /// The profiles of 1, 2, … of them in a row, where more is known than of one.
    pub row: &'a [Table],
    pub times: u64,
}

/// The profiles of 1, 2, … up to `most` releases in a row, where `profile` knows them, each cut off
/// below `floor` per release; none elsewhere.
pub(super) fn in_a_row(
    profile: &dyn Profile,
    one: &Table,
    most: u64,
    floor: f64,
) -> Result<Vec<Table>, Error> {
    let most = most.min(LONGEST);
    let row = profile.in_a_row(most, floor * most as f64).unwrap_or_default();
    let table = |(rounds, points)| match rounds {
        1 => Ok(one.clone()),
        rounds => one.of_rounds(rounds, points),
    };
    (1..).zip(row).map(table).collect()
}

/// The smaller answer to what is asked of a composition: of all releases one by one, and with those
/// of one kind in a row.
///
/// Only one kind may be taken in a row. Others come between its releases, and a pair of laws that
/// is fixed in advance may be moved out of the row, a choice of pairs may not (`docs/privacy.md`,
/// 9.1).
pub(super) fn least(
    kinds: &[Kind<'_>],
    asked: impl Fn(Composition<'_>) -> Result<f64, Error>,
) -> Result<f64, Error> {
    let apart = asked(apart(kinds));
    let Some(in_a_row) = in_row(kinds) else { return apart };
    match (apart, asked(in_a_row)) {
        (Ok(apart), Ok(in_a_row)) => Ok(apart.min(in_a_row)),
        (apart, in_a_row) => in_a_row.or(apart),
    }
}

/// All releases one by one.
pub(super) fn apart<'a>(kinds: &[Kind<'a>]) -> Composition<'a> {
    kinds.iter().fold(Composition::new(), |all, kind| all.and(kind.one, kind.times))
}

/// All releases, those of the commonest kind that has a row in a row; none where no kind has one.
pub(super) fn in_row<'a>(kinds: &[Kind<'a>]) -> Option<Composition<'a>> {
    let in_rows = kinds.iter().enumerate().filter(|(_, kind)| kind.times > 1);
    let in_rows = in_rows.filter(|(_, kind)| !kind.row.is_empty());
    let (chosen, _) = in_rows.max_by_key(|(_, kind)| kind.times)?;
    Some(kinds.iter().enumerate().fold(Composition::new(), |all, (index, kind)| {
        let Kind { one, row, times } = *kind;
        if index != chosen {
            return all.and(one, times);
        }
        let (rows, rest) = (times / row.len() as u64, (times % row.len() as u64) as usize);
        let all = all.and(&row[row.len() - 1], rows);
        if rest > 0 { all.and(&row[rest - 1], 1) } else { all }
    }))
}

/// Releases that are taken in a row: more would gain a few thousandths of ε.
const LONGEST: u64 = 40;
