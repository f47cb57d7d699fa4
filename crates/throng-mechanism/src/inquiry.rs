//! The questions of an accountant about the noise of a mechanism: numbers as people know them, not
//! the integers of a sampler.

use crate::{Error, Parameters};
use throng_account::{Crowd, Epsilon, Probability, Profile, Threshold};

/// A mechanism of which a profile says all there is to say, as `throng account` asks about it.
///
/// ```
/// use throng_account::{Crowd, Epsilon};
/// use throng_mechanism::{Key, Setting, Settings};
///
/// let inquiry = Key::CoinCount.row().inquiry.unwrap();
/// assert_eq!(inquiry.settings, [Setting::Slots("Slots for noise per report"), Setting::Chance]);
///
/// // One slot, used one time in a hundred, among ten thousand.
/// let settings = Settings { slots: 1, chance: 0.01, ..Settings::default() };
/// let profile = (inquiry.profile)(&settings, Crowd::new(10_000)?)?;
/// assert!(profile.delta(Epsilon::new(1.5)?).upper < 1e-6);
/// # Ok::<(), throng_mechanism::Error>(())
/// ```
pub struct Inquiry {
    /// A line that says what is accounted for.
    pub about: &'static str,
    /// Arguments that make an example.
    pub example: &'static str,
    /// The settings that have to be known.
    pub settings: &'static [Setting],
    /// The profile that follows from the settings.
    #[allow(clippy::type_complexity)] // What `Claims::profile` returns, from a plain function.
    pub profile: fn(&Settings, Crowd) -> Result<Box<dyn Profile>, Error>,
}

/// A setting of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The local ε₀, or instead of it all of these parameters of the mechanism.
    Local(&'static [&'static str]),
    /// The number of the things named here.
    Size(&'static str),
    /// The number of the things named here; 2 if nothing is said.
    SizeOrTwo(&'static str),
    /// The number of steps from one end of the range to the other; 1000 if nothing is said.
    Grid,
    /// The chance that a bit is flipped.
    Flip,
    /// Places for noise in a report, in these words; 1 if nothing is said.
    Slots(&'static str),
    /// The chance that a place is used.
    Chance,
    /// The chance that a slot holds a coin of each level.
    Weights,
    /// The chance of each event of a catalogue.
    Bursts,
}

/// The values of all [`Setting`]s that a mechanism has; others stay as they are by default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// The value of [`Setting::Local`].
    pub local: f64,
    /// The parameters given instead of it, of which the mechanism is made; empty if none are.
    pub made_of: Parameters,
    /// The value of [`Setting::Size`] or [`Setting::SizeOrTwo`].
    pub size: u64,
    /// The value of [`Setting::Grid`].
    pub grid: u64,
    /// The value of [`Setting::Flip`].
    pub flip: f64,
    /// The value of [`Setting::Slots`].
    pub slots: u64,
    /// The value of [`Setting::Chance`].
    pub chance: f64,
    /// The values of [`Setting::Weights`], the lowest level first.
    pub weights: Vec<f64>,
    /// The chances of 1, 2, … pairs, for [`Setting::Bursts`].
    pub pairs: Vec<f64>,
    /// The chances of 1, 2, … plusses, for [`Setting::Bursts`].
    pub plus: Vec<f64>,
    /// The chances of 1, 2, … minuses, for [`Setting::Bursts`].
    pub minus: Vec<f64>,
}

impl Settings {
    pub(crate) fn local(&self) -> Result<Epsilon, Error> {
        Ok(Epsilon::new(self.local)?)
    }

    pub(crate) fn chance(&self) -> Result<Threshold, Error> {
        Ok(Threshold::at_least(Probability::new("p", self.chance)?))
    }
}

/// Probabilities as integers out of 2⁶⁴; 0 stays 0.
pub(crate) fn weights(chances: &[f64]) -> Result<Vec<u64>, Error> {
    let weight = |&p: &f64| match p {
        0.0 => Ok(0),
        p => Ok(Threshold::at_least(Probability::new("weight", p)?).get()),
    };
    chances.iter().map(weight).collect()
}
