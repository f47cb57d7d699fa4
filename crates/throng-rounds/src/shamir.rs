//! Shamir's shares: a secret is the value at 0 of a random polynomial, and member i knows its value
//! at i + 1 (Shamir, "How to Share a Secret", 1979).
//!
//! ```text
//! share    f(x) = secret + c₁·x + … + c_t·x^t, the c uniform;   member i gets f(i + 1)
//! open     f(0) = Σ λᵢ·f(i + 1)                                  from any t + 1 of them
//! ```
//!
//! t shares are uniform and independent of the secret: for every secret, the map from the c to any
//! t shares is a Vandermonde matrix and can be inverted.
//!
//! Of 2t + 1 shares at most t are wrong, so t + 1 are right and fix the polynomial. If all of them
//! lie on one polynomial it is that one: a wrong share is noticed for certain, whatever it was made
//! from.

use crate::{Element, Error};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The shares of one member, or of one secret. They are wiped when dropped.
pub(crate) type Shares = Zeroizing<Vec<Element>>;

/// As many shares as there is `room` for. A vector that grew would leave copies of them behind,
/// where it was before.
pub(crate) fn gather(room: usize, shares: impl Iterator<Item = Element>) -> Shares {
    let mut gathered = Zeroizing::new(Vec::with_capacity(room));
    gathered.extend(shares.take(room));
    gathered
}

/// Shares of many secrets for `members`, by member. Any `corrupt` members together know nothing.
pub(crate) fn share_all(
    secrets: &[Element],
    corrupt: u32,
    members: usize,
    rng: &mut impl CryptoRng,
) -> Vec<Shares> {
    // With room for all, so that none of them grows.
    let room = |_| Zeroizing::new(Vec::with_capacity(secrets.len()));
    let mut shares: Vec<_> = (0..members).map(room).collect();
    let mut coefficients = Zeroizing::new(vec![Element::ZERO; corrupt as usize]);
    for &secret in secrets {
        coefficients.fill_with(|| Element::random(rng));
        for (member, shares) in shares.iter_mut().enumerate() {
            shares.push(evaluate(secret, &coefficients, member));
        }
    }
    shares
}

/// The way in which a set of members opens secrets, computed once for all of them.
///
/// Needs 2·`corrupt` + 1 members, and all shares that are given have to lie on one polynomial: then
/// the secret is right even if `corrupt` of them were made up.
pub(crate) struct Opening {
    /// The factors by which the first t + 1 shares give the value at 0.
    secret: Vec<Element>,
    /// The factors by which they give what each further member must have.
    further: Vec<Vec<Element>>,
}

impl Opening {
    pub fn new(members: &[usize], corrupt: u32) -> Result<Self, Error> {
        let needed = 2 * corrupt as usize + 1;
        let mut distinct = members.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < needed {
            return Err(Error::TooFew { present: distinct.len(), needed });
        }
        if distinct.len() < members.len() {
            return Err(Error::Inconsistent);
        }
        let (base, further) = members.split_at(corrupt as usize + 1);
        let further = further.iter().map(|&member| lagrange(base, point(member))).collect();
        Ok(Self { secret: at_zero(base), further })
    }

    /// The secret, from the shares in the order of the members.
    pub fn open(&self, shares: &[Element]) -> Result<Element, Error> {
        let (base, further) = shares.split_at(self.secret.len());
        let fits = |(share, by): (&Element, &Vec<_>)| *share == combine(by, base);
        if further.len() != self.further.len() || !further.iter().zip(&self.further).all(fits) {
            return Err(Error::Inconsistent);
        }
        Ok(combine(&self.secret, base))
    }
}

/// The λ by which the shares of these members give the value at 0 of a polynomial of lower degree
/// than there are members. They have to be distinct.
pub(crate) fn at_zero(members: &[usize]) -> Vec<Element> {
    lagrange(members, Element::ZERO)
}

/// `Π_{m ≠ j} (x − x_m)/(x_j − x_m)` for every member j.
fn lagrange(members: &[usize], x: Element) -> Vec<Element> {
    let coefficient = |&j: &usize| {
        let others = || members.iter().filter(move |&&m| m != j).map(|&m| point(m));
        let above = others().fold(Element::ONE, |product, m| product * (x - m));
        let below = others().fold(Element::ONE, |product, m| product * (point(j) - m));
        above * below.inverse()
    };
    members.iter().map(coefficient).collect()
}

fn combine(coefficients: &[Element], shares: &[Element]) -> Element {
    coefficients.iter().zip(shares).map(|(&by, &share)| by * share).sum()
}

/// Horner's rule at the member's point.
fn evaluate(secret: Element, coefficients: &[Element], member: usize) -> Element {
    let x = point(member);
    coefficients.iter().rev().fold(Element::ZERO, |sum, &c| (sum + c) * x) + secret
}

fn point(member: usize) -> Element {
    Element::from(member as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

    fn share(secret: Element, corrupt: u32, members: usize, rng: &mut ChaCha12Rng) -> Shares {
        let shares = share_all(&[secret], corrupt, members, rng);
        Zeroizing::new(shares.iter().map(|own| own[0]).collect())
    }

    /// The secret, from pairs of a member and its share.
    fn open(shares: &[(usize, Element)], corrupt: u32) -> Result<Element, Error> {
        let (members, values): (Vec<_>, Vec<_>) = shares.iter().copied().unzip();
        Opening::new(&members, corrupt)?.open(&values)
    }

    /// All subsets of `members` as bits, of at least `least`.
    fn subsets(members: usize, least: usize) -> impl Iterator<Item = Vec<usize>> {
        (0_u32..1 << members)
            .filter(move |set| set.count_ones() as usize >= least)
            .map(move |set| (0..members).filter(|m| set >> m & 1 == 1).collect())
    }

    fn given(shares: &[Element], members: &[usize]) -> Vec<(usize, Element)> {
        members.iter().map(|&m| (m, shares[m])).collect()
    }

    #[test]
    fn every_subset_opens_or_is_too_few() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for (t, members) in [(1, 3), (1, 5), (2, 5), (2, 7), (3, 7)] {
            let secret = Element::random(&mut rng);
            let shares = share(secret, t, members, &mut rng);
            let needed = 2 * t as usize + 1;
            for set in subsets(members, 0) {
                let expected = if set.len() < needed {
                    Err(Error::TooFew { present: set.len(), needed })
                } else {
                    Ok(secret)
                };
                assert_eq!(open(&given(&shares, &set), t), expected);
            }
        }
    }

    #[test]
    fn up_to_t_wrong_shares_are_noticed_for_certain() {
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        for (t, members) in [(1, 3), (2, 5), (2, 6), (3, 7)] {
            let shares = share(Element::from(7), t, members, &mut rng);
            for wrong in subsets(members, 1).filter(|wrong| wrong.len() <= t as usize) {
                let mut altered = shares.clone();
                for &m in &wrong {
                    altered[m] = altered[m] + Element::ONE;
                }
                for set in subsets(members, 2 * t as usize + 1) {
                    let seen = set.iter().any(|m| wrong.contains(m));
                    let opened = open(&given(&altered, &set), t);
                    assert_eq!(opened, if seen { Err(Error::Inconsistent) } else { Ok(7.into()) });
                }
            }
        }
    }

    // Even with one's own share twice, one is one.
    #[test]
    fn a_member_counts_once() {
        let shares = [(0, Element::ONE), (1, Element::ONE), (1, Element::ONE)];
        assert_eq!(open(&shares, 1), Err(Error::TooFew { present: 2, needed: 3 }));
        let shares = [(0, Element::ONE), (1, Element::ONE), (2, Element::ONE), (2, Element::ONE)];
        assert_eq!(open(&shares, 1), Err(Error::Inconsistent));
    }

    /// For a fixed secret, t shares are an affine function of the t coefficients. It is one to one,
    /// so uniform coefficients give uniform shares: the determinant of every t columns is not 0.
    #[test]
    fn any_t_shares_are_uniform_whatever_the_secret() {
        for t in 1..=3_usize {
            for set in subsets(7, t).filter(|set| set.len() == t) {
                let unit = |i: usize| (0..t).map(|j| Element::from(i == j)).collect::<Vec<_>>();
                let column = |i: usize| {
                    set.iter().map(|&m| evaluate(Element::ZERO, &unit(i), m)).collect::<Vec<_>>()
                };
                assert_ne!(determinant(&(0..t).map(column).collect::<Vec<_>>()), Element::ZERO);
                // The secret only shifts them.
                let secret = Element::from(9);
                for &m in &set {
                    let shifted =
                        evaluate(secret, &unit(0), m) - evaluate(Element::ZERO, &unit(0), m);
                    assert_eq!(shifted, secret);
                }
            }
        }
    }

    /// By expansion.
    fn determinant(columns: &[Vec<Element>]) -> Element {
        let Some((first, rest)) = columns.split_first() else { return Element::ONE };
        let minor = |row: usize| {
            let without = |column: &Vec<Element>| {
                column.iter().enumerate().filter(|&(i, _)| i != row).map(|(_, &e)| e).collect()
            };
            determinant(&rest.iter().map(without).collect::<Vec<_>>())
        };
        let sign = |row: usize| Element::from_signed(if row.is_multiple_of(2) { 1 } else { -1 });
        first.iter().enumerate().map(|(row, &e)| sign(row) * e * minor(row)).sum()
    }

    #[test]
    fn many_secrets_are_shared_like_one() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let secrets: Vec<_> = (0..10).map(|_| Element::random(&mut rng)).collect();
        let shares = share_all(&secrets, 2, 5, &mut rng);
        for (place, &secret) in secrets.iter().enumerate() {
            let given: Vec<_> = shares.iter().map(|s| s[place]).enumerate().collect();
            assert_eq!(open(&given, 2), Ok(secret));
        }
    }
}
