//! Small systems of linear equations, positive definite or nearly so.

use crate::dot;

/// Value and variance of each unknown, by Cholesky's factors: the solution, and the diagonal of the
/// inverse. `None` where the unknowns before it leave nothing to it.
///
/// It takes the lower half of the matrix, row by row up to the diagonal, and the right-hand side.
pub(crate) fn solve(mut lower: Vec<Vec<f64>>, right: &[f64]) -> Vec<Option<(f64, f64)>> {
    let size = right.len();
    let kept = factor(&mut lower);
    let mut forward = vec![0.0; size];
    for i in (0..size).filter(|&i| kept[i]) {
        forward[i] = (right[i] - dot(&lower[i][..i], &forward)) / lower[i][i];
    }
    // Column by column of L⁻¹: x = L⁻ᵀ(L⁻¹b), and its variances are the squares of the columns.
    let mut column = vec![0.0; size];
    let mut unknown = |i: usize| {
        column[i] = 1.0 / lower[i][i];
        for j in i + 1..size {
            let sum = dot(&lower[j][i..j], &column[i..]);
            column[j] = if kept[j] { -sum / lower[j][j] } else { 0.0 };
        }
        (dot(&column[i..], &forward[i..]), dot(&column[i..], &column[i..]))
    };
    (0..size).map(|i| kept[i].then(|| unknown(i))).collect()
}

/// Replaces the lower half of A by L with A = L·Lᵀ, and says which rows are not left out.
fn factor(lower: &mut [Vec<f64>]) -> Vec<bool> {
    let mut kept = vec![true; lower.len()];
    for i in 0..lower.len() {
        let (before, rest) = lower.split_at_mut(i);
        let row = &mut rest[0];
        for (j, other) in before.iter().enumerate() {
            let sum = dot(&row[..j], other);
            row[j] = if kept[j] { (row[j] - sum) / other[j] } else { 0.0 };
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        kept[i] = pivot > 1e-9 * row[i];
        row[i] = pivot.max(0.0).sqrt();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_solves_and_the_variances_are_those_of_the_inverse() {
        let lower = vec![vec![2.5], vec![1.5, 5.0], vec![0.75, -1.5, 2.75]];
        let full = |i: usize, j: usize| lower[i.max(j)][i.min(j)];
        let right = [1.0, -2.0, 3.0];
        let solved = solve(lower.clone(), &right);
        let value = |i: usize| solved[i].unwrap().0;
        for (i, right) in right.iter().enumerate() {
            let left: f64 = (0..3).map(|j| full(i, j) * value(j)).sum();
            assert!((left - right).abs() < 1e-12);
        }
        for i in 0..3 {
            let unit: Vec<f64> = (0..3).map(|j| f64::from(u8::from(i == j))).collect();
            let inverse = solve(lower.clone(), &unit)[i].unwrap();
            assert!((inverse.0 - inverse.1).abs() < 1e-12);
        }
    }

    #[test]
    fn an_unknown_that_repeats_others_is_left_out() {
        let lower = vec![vec![2.0], vec![1.0, 3.0], vec![2.0, 1.0, 2.0], vec![0.0, 1.0, 0.0, 1.0]];
        let solved = solve(lower, &[1.0, 2.0, 1.0, 1.0]);
        let without = solve(vec![vec![2.0], vec![1.0, 3.0], vec![0.0, 1.0, 1.0]], &[1.0, 2.0, 1.0]);
        assert_eq!(solved[2], None);
        assert_eq!([solved[0], solved[1], solved[3]], without[..]);
        assert!(solve(Vec::new(), &[]).is_empty());
    }
}
