//! Counts of users who hold a bit in a period.

use crate::{assert_shifted, coin, holders, sum};
use throng_mechanism::{Longitudinal, Protocol, Tally};

// A user's sign is counted with chance ρ, the share of levels that the period is made of, and is
// right on average: P[±1] = (ρ ± bit/scale)/2.
#[test]
fn periods() {
    for n in [1_usize, 2, 5, 20, 100] {
        for (periods, changes) in [(1_u64, 1_u32), (2, 1), (8, 1), (8, 3), (1 << 10, 1)] {
            for keep in [0.51, 0.7, 0.95, 0.9999] {
                let m = Longitudinal::new(periods, changes, coin(keep)).unwrap();
                let levels = f64::from(m.levels());
                let scale = f64::from(changes) * levels / (2.0 * keep - 1.0);
                for period in [1, 7.min(periods), 8.min(periods)] {
                    let rho = f64::from(period.count_ones()) / levels;
                    let user = |bit: f64| {
                        [0.5 * (rho - bit / scale), 1.0 - rho, 0.5 * (rho + bit / scale)]
                    };
                    for held in holders(n) {
                        let law = sum(&[(held, &user(1.0)), (n - held, &user(0.0))]);
                        let about =
                            format!("longitudinal {n}, {period} of {periods}, {changes}, {keep}");
                        assert_shifted(&about, held as f64, &law, |c, at| {
                            let (n, level) = (n as u64, u64::from(period.trailing_zeros()));
                            let (sign, signs) = (u64::from(c >= n), c.abs_diff(n));
                            let mut bag =
                                vec![m.message(period, 1 + 2 * level + sign); signs as usize];
                            bag.resize(n as usize, m.message(period, 0));
                            let mut tally = Tally::new(&m);
                            tally.absorb(&m, &bag);
                            m.estimate(&tally, at)[period as usize - 1]
                        });
                    }
                }
            }
        }
    }
}
