//! Intersection over epochs: who took part when is no secret, and need not be.
//!
//! The adversary knows all other people's answers, and in which epochs the victim took part. It
//! adds up the bits of the bags that the victim was in, and says 1 from some sum on. Its laws are
//! sums of binomial ones, so that what it gains is exact, for every threshold.
//!
//! (ε, δ) over all epochs bounds `P[says 1 | 1] − e^ε·P[says 1 | 0]` by δ for every such test, and
//! with it the advantage over guessing, `P[says 1 | 1] − P[says 1 | 0]`, by `(e^ε − 1 + 2δ)/(e^ε + 1)`
//! (Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy, 2015, Theorem 2.1).

use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::{Promise, Prompt, Terms};
use throng_mechanism::{Ask, Key, Mechanism, Question};

/// Noise for a lifetime holds against it; noise for one epoch does not.
#[test]
fn whoever_knows_who_took_part_when_learns_no_more_than_the_lifetime_allows() {
    let wish = wish();
    let lasting = wish.clone().with_epochs(EPOCHS).calibrate(Key::BitSum).unwrap();
    assert!(Terms::parse(&promised(&wish, &lasting).to_toml()).is_ok());
    let (epsilon, delta) = (wish.epsilon.get(), wish.delta.get());
    let most = (epsilon.exp() - 1.0 + 2.0 * delta) / (epsilon.exp() + 1.0);
    for epochs in [1, EPOCHS / 2, EPOCHS] {
        for ones in [0, OTHERS / 2, OTHERS] {
            let attack = Attack::on(&lasting, ones, epochs);
            assert!(attack.beyond(epsilon) <= delta, "{epochs} epochs, {ones} ones");
            assert!(attack.beyond(0.0) <= most, "{epochs} epochs, {ones} ones");
        }
    }
    // Half of the epochs tell the victim's answer better than one of them does.
    let [once, half] = [1, EPOCHS / 2].map(|epochs| Attack::on(&lasting, OTHERS, epochs));
    assert!(half.beyond(0.0) > 2.0 * once.beyond(0.0));

    // One epoch is hidden well by noise for one. Fifty are not, and such a file is refused.
    let once = wish.clone().calibrate(Key::BitSum).unwrap();
    assert!(Attack::on(&once, OTHERS, 1).beyond(epsilon) <= delta);
    let half = Attack::on(&once, OTHERS, EPOCHS / 2);
    assert!(half.beyond(epsilon) > 100.0 * delta, "{}", half.beyond(epsilon));
    assert!(half.beyond(0.0) > most, "{} of {most}", half.beyond(0.0));
    assert!(Terms::parse(&promised(&wish, &once).to_toml()).is_err());
}

/// The laws of the sum of all bags that the victim was in, if its answer is 0 and if it is 1.
struct Attack([Vec<f64>; 2]);

impl Attack {
    /// `ones` of the others answer 1, in every epoch.
    fn on(mechanism: &Mechanism, ones: usize, epochs: u64) -> Self {
        let Mechanism::BitSum(response) = mechanism else { panic!("not a bit-sum") };
        let (flip, times) = (response.flip().probability(), epochs as usize);
        Self([0, 1].map(|answer| {
            let said = times * (ones + answer);
            let silent = times * (OTHERS + 1) - said;
            let mut law = vec![1.0];
            for (people, one) in [(said, 1.0 - flip), (silent, flip)] {
                for _ in 0..people {
                    law = with_coin(&law, one);
                }
            }
            law
        }))
    }

    /// The largest `P[sum ≥ t | 1] − e^ε·P[sum ≥ t | 0]` over all thresholds t, or the same for an
    /// adversary who says 0 up to a sum.
    fn beyond(&self, epsilon: f64) -> f64 {
        let Self([zero, one]) = self;
        let most = |p: &mut dyn Iterator<Item = (&f64, &f64)>| {
            let (mut sum, mut most) = (0.0_f64, 0.0_f64);
            for (p, q) in p {
                sum += p - epsilon.exp() * q;
                most = most.max(sum);
            }
            most
        };
        most(&mut one.iter().rev().zip(zero.iter().rev())).max(most(&mut zero.iter().zip(one)))
    }
}

/// The law of a sum with one more coin.
fn with_coin(law: &[f64], one: f64) -> Vec<f64> {
    let mut sum = vec![0.0; law.len() + 1];
    for (place, mass) in law.iter().enumerate() {
        sum[place] += mass * (1.0 - one);
        sum[place + 1] += mass * one;
    }
    sum
}

fn wish() -> Ask {
    let crowd = Crowd::new(OTHERS as u64 + 1).unwrap();
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-4).unwrap());
    Ask::new(Question::Bit, crowd, epsilon, delta)
}

/// A draft that promises the wish for all epochs, and for each of them.
fn promised(wish: &Ask, mechanism: &Mechanism) -> Terms {
    let promise = Promise {
        epsilon: wish.epsilon,
        delta: wish.delta,
        crowd: wish.crowd,
        corrupt: 0.0,
        epochs: EPOCHS,
        lifetime: (wish.epsilon, wish.delta),
    };
    Terms { question: Prompt::new("Do you?"), promise, mechanism: mechanism.clone() }
}

const EPOCHS: u64 = 100;
const OTHERS: usize = 99;
