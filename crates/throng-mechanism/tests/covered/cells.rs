//! Counts of users who hold a category or an attribute.

use crate::{assert_covered, assert_shifted, coin, difference, from_cells, holders, sum};
use throng_account::profile::Bursts;
use throng_account::{Crowd, Delta, Epsilon};
use throng_mechanism::{
    AdditiveHistogram, Ask, BurstHistogram, Columns, Histogram, KaryResponse, Key, Mechanism,
    Protocol, Question, Selection, SubsetSelection,
};

// Wald's interval covers 88 % of the categories that nobody holds at n = 3k.
#[test]
fn categories_of_kary_response() {
    let sizes = [(1, 2), (2, 3), (5, 10), (50, 100), (100, 100), (300, 100), (500, 100)];
    for (n, k) in sizes.into_iter().chain([(1_000, 100), (1_500, 500)]) {
        for gamma in [0.01, 0.3, 0.72, 0.95, 0.999] {
            category_of_kary_response(n, &holders(n), KaryResponse::new(k, coin(gamma)).unwrap());
        }
    }
}

#[test]
fn categories_of_calibrated_kary_response() {
    for (n, size, epsilon, delta) in [
        (300, 100, 1.0, 1e-6),
        (3_000, 1_000, 1.0, 1e-6),
        (1_000, 300, 1.0, 1e-6),
        (100_000, 30_000, 1.0, 1e-8),
        (3_000, 1_000, 0.5, 1e-6),
    ] {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        let crowd = Crowd::new(n as u64).unwrap();
        let ask = Ask::new(Question::Category { size }, crowd, epsilon, delta);
        let Ok(Mechanism::KaryResponse(m)) = ask.calibrate(Key::KaryResponse) else {
            panic!("{n} of {size} is no setting");
        };
        category_of_kary_response(n, &[0, 1, 2, 5, 20], m);
    }
}

fn category_of_kary_response(n: usize, holders: &[usize], m: KaryResponse) {
    let (k, gamma) = (m.categories(), m.replace().probability());
    let q = gamma / f64::from(k);
    let p = 1.0 - gamma + q;
    for &held in holders {
        let law = sum(&[(held, &[1.0 - p, p]), (n - held, &[1.0 - q, q])]);
        assert_covered(&format!("kary-response {n} {k} {gamma}"), held as f64, &law, |c, at| {
            from_cells(&m, n as u64, &[(0, c)], at)
        });
    }
}

#[test]
fn columns_of_categories_and_attributes() {
    for n in [1, 2, 4, 20, 150] {
        for b in [0.001, 0.05, 0.2, 0.4] {
            let columns = Columns::new(2, coin(b)).unwrap();
            let (histogram, selection) = (Histogram::new(columns), Selection::new(columns));
            for held in holders(n) {
                let law = sum(&[(held, &[b, 1.0 - b]), (n - held, &[1.0 - b, b])]);
                let bits = |c: u64| [(0, n as u64 - c), (1, c)];
                assert_covered(&format!("histogram {n} {b}"), held as f64, &law, |c, at| {
                    from_cells(&histogram, 2 * n as u64, &bits(c), at)
                });
                assert_covered(&format!("selection {n} {b}"), held as f64, &law, |c, at| {
                    from_cells(&selection, 2 * n as u64, &bits(c), at)
                });
            }
        }
    }
}

#[test]
fn subsets() {
    for n in [1, 2, 4, 20, 150, 1_000] {
        for (k, size, include) in [(6, 2, 0.6), (100, 27, 0.5), (100, 2, 0.9), (1_000, 1, 0.3)] {
            let m = SubsetSelection::new(k, size, coin(include)).unwrap();
            let other = (f64::from(size) - include) / f64::from(k - 1);
            for held in holders(n) {
                let law =
                    sum(&[(held, &[1.0 - include, include]), (n - held, &[1.0 - other, other])]);
                let about = format!("subset-selection {n} {k} {size} {include}");
                assert_covered(&about, held as f64, &law, |c, at| {
                    from_cells(&m, n as u64, &[(0, c)], at)
                });
            }
        }
    }
}

#[test]
fn categories_beside_random_ones() {
    for n in [1_usize, 2, 5, 20, 100, 600, 5_000] {
        for (k, slots, p) in [(2, 1, 0.4), (50, 3, 0.4), (50, 3, 0.01), (1_000, 1, 0.9)] {
            let m = AdditiveHistogram::new(k, slots, coin(p)).unwrap();
            let (cell, messages) = (p / f64::from(k), n as u64 * u64::from(slots + 1));
            for held in holders(n) {
                let noise = (n * slots as usize, &[1.0 - cell, cell][..]);
                let law = sum(&[(held, &[0.0, 1.0]), noise]);
                let about = format!("additive-histogram {n} {k} {p}");
                assert_shifted(&about, held as f64, &law, |c, at| {
                    from_cells(&m, messages, &[(0, c)], at)
                });
            }
        }
    }
}

#[test]
fn categories_and_bursts() {
    for n in [1_usize, 2, 5, 20, 100, 600] {
        for k in [2, 10, 1_000] {
            for chances in [[0.2, 0.1, 0.05], [0.02, 0.0, 0.01], [0.0, 0.0, 0.3]] {
                let weights = chances.map(|p| if p > 0.0 { coin(p).get() } else { 0 }).to_vec();
                let events = Bursts::new(vec![1 << 60], weights.clone(), weights).unwrap();
                let m = BurstHistogram::new(k, events).unwrap();
                let [one, two, three] = chances.map(|p| p / f64::from(k));
                let none = 1.0 - 2.0 * (one + two + three);
                let noise = sum(&[(n, &[three, two, one, none, one, two, three])]);
                let messages = (n * m.messages()) as u64;
                for held in holders(n) {
                    let law = [vec![0.0; held], noise.clone()].concat();
                    let about = format!("burst-histogram {n} {k} {chances:?}");
                    assert_shifted(&about, held as f64, &law, |c, at| {
                        from_cells(&m, messages, &difference([1, 0], c, 3 * n as u64), at)
                    });
                }
            }
        }
    }
}
