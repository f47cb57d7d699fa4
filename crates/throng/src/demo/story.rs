//! The questions that can be demonstrated, each with people to ask and with the truth about them.

use super::samples::{aircraft, apportion, browsers, delays, drawn, names};
use crate::parallel::generator;
use clap::ValueEnum;
use throng_account::show::Count;
use throng_collection::{Prompt, Subject};
use throng_mechanism::{Key, Question, Range, Values, sample};

/// A question and the people who are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Story {
    /// A bit: whose application crashed today? Simulated
    Crash,
    /// A number: how many minutes late do flights leave? Real flights (also: session)
    #[value(aliases = ["delay", "session"])]
    Delays,
    /// One of 15: which browser do people use? Real shares
    #[value(alias = "browser")]
    Browsers,
    /// A string: which names do newborns get? Real names
    #[value(alias = "name")]
    Names,
    /// A bit that changes: how many aircraft fly, period after period? Real aircraft (also:
    /// adoption)
    #[value(alias = "adoption")]
    Aircraft,
}

impl Story {
    /// Clients, if no number is asked for.
    pub fn usual_clients(self) -> u64 {
        // Each aircraft of the sample eight times, in every one of several epochs.
        if self == Self::Aircraft { 8_192 } else { 20_000 }
    }

    /// Epochs, if no number is asked for.
    pub fn usual_epochs(self) -> u64 {
        if self == Self::Aircraft { 8 } else { 1 }
    }

    /// Epochs that there are values for.
    pub fn most_epochs(self) -> u64 {
        if self == Self::Aircraft { 32 } else { 100 }
    }

    /// The mechanism, if none is asked for: one whose reports are a single message.
    pub fn usual_mechanism(self) -> Key {
        match self {
            Self::Crash => Key::BitSum,
            Self::Delays => Key::LaplaceMean,
            Self::Browsers => Key::KaryResponse,
            Self::Names => Key::Rappor,
            Self::Aircraft => Key::Longitudinal,
        }
    }

    /// The ε of all epochs together, if none is asked for. A name that is remembered and shown
    /// again is protected without a crowd, where an ε of 1 would leave none to be found.
    pub fn usual_epsilon(self, epochs: u64) -> f64 {
        if self == Self::Names && epochs > 1 { 8.0 } else { 1.0 }
    }

    /// The kind of the question.
    pub fn question(self, epochs: u64) -> Question {
        match self {
            Self::Crash => Question::Bit,
            Self::Delays => Question::Real,
            Self::Browsers => Question::Category { size: self.shares().len() as u32 },
            // One hash function errs least where all strings that occur are candidates.
            Self::Names => Question::Text { bits: 128, hashes: 1, cohorts: 64 },
            Self::Aircraft => {
                Question::State { periods: epochs.next_power_of_two(), changes: FOLLOWED }
            }
        }
    }

    /// The question in words.
    pub fn prompt(self) -> Prompt {
        let mut prompt = Prompt::new(match self {
            Self::Crash => "Did the application crash today?",
            Self::Delays => "How many minutes late did the flight leave?",
            Self::Browsers => "Which browser do you use?",
            Self::Names => "Which name did the newborn get?",
            Self::Aircraft => "Did the aircraft fly in this period?",
        });
        prompt.labels = self.shares().into_iter().map(|(label, _)| label).collect();
        if self == Self::Delays {
            (prompt.low, prompt.high) = DELAYS;
            prompt.unit = "minutes".into();
        }
        prompt
    }

    /// True if a release answers about several things at once.
    pub fn has_several_answers(self) -> bool {
        matches!(self, Self::Browsers | Self::Names)
    }

    /// The noun for what is counted or measured.
    pub fn counted(self) -> &'static str {
        match self {
            Self::Crash => "crashes",
            Self::Delays => "minutes",
            Self::Browsers => "users",
            Self::Names => "newborns",
            Self::Aircraft => "aircraft",
        }
    }

    /// The labels with the weight of each, if people hold one of several.
    fn shares(self) -> Vec<(String, f64)> {
        match self {
            Self::Browsers => browsers(),
            Self::Names => names(CANDIDATES),
            _ => Vec::new(),
        }
    }
}

/// The clients of a demonstration, and what they hold.
pub struct People {
    /// The question they are asked.
    pub story: Story,
    /// How many they are.
    pub clients: u64,
    /// The epochs in which they are asked.
    pub epochs: u64,
    /// The seed of their values.
    pub seed: u64,
    shares: Vec<(String, u64)>,
    flown: Vec<Vec<bool>>,
    delays: Vec<f64>,
}

impl People {
    /// This number of clients over this number of epochs. The seed decides all that is random about
    /// their values.
    pub fn new(story: Story, clients: u64, epochs: u64, seed: u64) -> Self {
        let (labels, weights): (Vec<String>, Vec<f64>) = story.shares().into_iter().unzip();
        let shares = labels.into_iter().zip(apportion(&weights, clients)).collect();
        let flown = if story == Story::Aircraft { aircraft() } else { Vec::new() };
        let delays = if story == Story::Delays { delays() } else { Vec::new() };
        Self { story, clients, epochs, seed, shares, flown, delays }
    }

    /// A sentence about who is asked, and where their values come from.
    pub fn about(&self) -> String {
        let clients = Count(self.clients);
        match self.story {
            Story::Crash => format!(
                "{clients} clients answer. Their answers are simulated: three in a hundred crash, \
                 and with every further epoch one more in a hundred."
            ),
            Story::Delays => {
                let (rows, (low, high)) = (Count(self.delays.len() as u64), DELAYS);
                let parts = match self.epochs {
                    1 => String::new(),
                    epochs => format!(
                        " Each epoch asks another of {epochs} equal parts of them, in the file's \
                         order."
                    ),
                };
                format!(
                    "{clients} clients answer, each for one of {rows} real flights out of New York \
                     City in 2013. What is below {low} or above {high} minutes counts as \
                     that.{parts}"
                )
            }
            Story::Browsers => format!(
                "{clients} clients answer, apportioned by the real shares of {} browsers in global \
                 usage.",
                self.shares.len()
            ),
            Story::Names => format!(
                "{clients} clients answer, apportioned by the real counts of the {CANDIDATES} \
                 commonest names among newborns of 2016 in the United States. The names are also \
                 the candidates that are looked for."
            ),
            Story::Aircraft => {
                let many = self.flown.iter().filter(|row| self.changes(row) > FOLLOWED).count();
                format!(
                    "{clients} clients answer, each for one of {} real aircraft that flew out of \
                     New York City in 2013, in the first {} periods of 11 days. {FOLLOWED} changes \
                     of each are followed; {many} of the aircraft have more, which go uncounted.",
                    Count(self.flown.len() as u64),
                    self.epochs
                )
            }
        }
    }

    /// The values that everybody holds in an epoch.
    pub fn values(&self, epoch: u64) -> Values {
        let mut rng = generator(self.seed, u64::MAX - epoch);
        let each = || self.shares.iter().enumerate();
        match self.story {
            Story::Crash => {
                let crashed = |_| sample::below(100, &mut rng) < 3 + epoch;
                Values::Bits((0..self.clients).map(crashed).collect())
            }
            Story::Delays => {
                let rows = self.delays.len() as u64;
                let upto = |epoch: u64| (rows * epoch / self.epochs) as usize;
                let part = &self.delays[upto(epoch)..upto(epoch + 1)];
                let unit = |late: f64| range().unit(late).expect("a number");
                Values::Reals(drawn(part, self.clients, &mut rng).into_iter().map(unit).collect())
            }
            Story::Browsers => Values::Categories(
                each().flat_map(|(kind, (_, n))| vec![kind as u32; *n as usize]).collect(),
            ),
            Story::Names => Values::Texts(
                each().flat_map(|(_, (name, n))| vec![name.clone(); *n as usize]).collect(),
            ),
            Story::Aircraft => Values::Bits(self.flying(epoch).collect()),
        }
    }

    /// The true values behind a release of this epoch, under its labels, the most important first.
    pub fn truth(&self, values: &Values, epoch: u64) -> Vec<(Subject, f64)> {
        match values {
            Values::Reals(units) => {
                let mean = units.iter().sum::<f64>() / units.len().max(1) as f64;
                vec![(Subject::Mean, range().low() + (range().high() - range().low()) * mean)]
            }
            Values::Bits(_) if self.story == Story::Aircraft => {
                let count = |period| self.flying(period).filter(|flies| *flies).count() as f64;
                let periods = (0..=epoch).rev();
                periods.map(|period| (Subject::Period(period + 1), count(period))).collect()
            }
            Values::Bits(bits) => {
                vec![(Subject::Yes, bits.iter().filter(|bit| **bit).count() as f64)]
            }
            _ => {
                let named =
                    |(label, n): &(String, _)| (Subject::Label(label.as_str().into()), *n as f64);
                let mut truth: Vec<_> = self.shares.iter().map(named).collect();
                truth.sort_by(|a, b| b.1.total_cmp(&a.1));
                truth
            }
        }
    }

    fn flying(&self, period: u64) -> impl Iterator<Item = bool> {
        self.flown.iter().cycle().take(self.clients as usize).map(move |row| row[period as usize])
    }

    /// Changes in the epochs that are asked about, from not flying before the first.
    fn changes(&self, row: &[bool]) -> u32 {
        let asked = &row[..self.epochs as usize];
        u32::from(asked[0]) + asked.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32
    }
}

fn range() -> Range {
    Range::new(DELAYS.0, DELAYS.1).expect("a range")
}

/// Minutes between which all but three in a hundred delays lie.
const DELAYS: (f64, f64) = (-15.0, 120.0);
/// Names that occur and are looked for: among more, none would be common enough to be found.
const CANDIDATES: usize = 100;
/// Changes of an aircraft that are followed. The noise grows with each, and few have more.
const FOLLOWED: u32 = 3;
