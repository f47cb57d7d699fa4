//! The choices on the planner's form: sliders over lists of values, or exact numbers.

use crate::dashboard::query::Query;
use std::fmt::Write;
use throng_account::show::Count;
use throng_account::{Crowd, Delta, Epsilon};
use throng_collection::Promise;
use throng_mechanism::{Ask, Key, Kind, Question};

/// The state of the form. Every number is within the ends of its list, whatever the query said.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub value: Kind,
    /// The numbers, one for each of [`DIALS`].
    chosen: [Setting; DIALS.len()],
    pub fragile: bool,
}

/// A quantity with a slider.
pub struct Dial {
    pub name: &'static str,
    pub label: &'static str,
    /// The kinds of value that it applies to, if not all.
    pub only: &'static str,
    pub steps: &'static [f64],
    usual: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Setting {
    number: f64,
    /// True if the number was typed, and not slid.
    exact: bool,
}

impl Choice {
    /// Reads a query: for each quantity the number itself, or else the place in its list.
    pub fn parse(query: &Query) -> Self {
        Self {
            value: query.get("value").and_then(Kind::named).unwrap_or(Kind::Bit),
            chosen: std::array::from_fn(|place| DIALS[place].read(query)),
            fragile: query.get("fragile").is_some(),
        }
    }

    /// The question to the mechanisms.
    pub fn ask(&self) -> Result<Ask, throng_account::Error> {
        let reports = self.number("n") as u64;
        let floor = self.number("local_floor");
        let crowd = Crowd::honest(reports, self.number("corrupt"))?;
        let epsilon = Epsilon::new(self.number("epsilon"))?;
        Ok(Ask::new(self.question(), crowd, epsilon, Delta::new(self.number("delta"))?)
            .with_reports(reports)
            .with_epochs(self.number("epochs") as u64)
            .with_max_messages(self.number("max_messages") as u64)
            .with_local_floor(floor.is_finite().then(|| Epsilon::new(floor)).transpose()?)
            .with_fragile(self.fragile))
    }

    /// The same question as a command line.
    pub fn command(&self) -> String {
        format!("throng plan --value {}{}", self.value.name(), self.flags())
    }

    /// A command line that writes a collection with this mechanism, its parties left to fill in.
    pub fn writes(&self, key: Key) -> String {
        format!(
            "throng collection new question.toml --mechanism {key} --text \"The question?\"{} \
             --every 24h --mix NAME=URL=IDENTITY --mix NAME=URL=IDENTITY --analyzer \
             NAME=URL=IDENTITY",
            self.flags()
        )
    }

    /// The promise and its limits as arguments.
    fn flags(&self) -> String {
        let mut command = format!(
            " --n {} --epsilon {} --delta {:e} --epochs {}",
            self.number("n") as u64,
            self.number("epsilon"),
            self.number("delta"),
            self.number("epochs"),
        );
        let sized = !matches!(self.value, Kind::Bit | Kind::Real);
        let more = [
            ("size", sized.then(|| self.size().into())),
            ("changes", (self.value == Kind::State).then(|| self.number("changes"))),
            ("corrupt", Some(self.number("corrupt"))),
            ("max-messages", Some(self.number("max_messages"))),
            ("local-floor", Some(self.number("local_floor")).filter(|floor| floor.is_finite())),
        ];
        for (flag, value) in more.into_iter().filter_map(|(flag, value)| Some((flag, value?))) {
            // Writing to a string does not fail.
            let _ = write!(command, " --{flag} {value}");
        }
        if self.fragile {
            command += " --fragile";
        }
        command
    }

    /// The place of the slider that is nearest to the number.
    pub fn place(&self, dial: &Dial) -> usize {
        let number = self.number(dial.name);
        let far = |step: &f64| if *step == number { 0.0 } else { (step - number).abs() };
        let places = dial.steps.iter().enumerate();
        places.min_by(|a, b| far(a.1).total_cmp(&far(b.1))).map_or(0, |(place, _)| place)
    }

    /// The number that counts, in words.
    pub fn words(&self, dial: &Dial) -> String {
        words(self.number(dial.name))
    }

    /// The number that was typed, if one was.
    pub fn exact(&self, dial: &Dial) -> String {
        let chosen = self.chosen(dial.name);
        if chosen.exact { chosen.number.to_string() } else { String::new() }
    }

    fn question(&self) -> Question {
        let size = self.size();
        match self.value {
            Kind::Bit => Question::Bit,
            Kind::Real => Question::Real,
            Kind::Category => Question::Category { size },
            Kind::Text => Question::Text { bits: size, hashes: 2, cohorts: 64 },
            Kind::Attributes => Question::Attributes { count: size },
            Kind::State => {
                Question::State { periods: size.into(), changes: self.number("changes") as u32 }
            }
        }
    }

    /// The size, within what a filter can hold, or such that periods form a tree.
    fn size(&self) -> u32 {
        let size = self.number("size") as u32;
        match self.value {
            Kind::Text => size.clamp(4, 512),
            Kind::State => size.next_power_of_two(),
            _ => size,
        }
    }

    fn number(&self, name: &str) -> f64 {
        self.chosen(name).number
    }

    fn chosen(&self, name: &str) -> Setting {
        let place = DIALS.iter().position(|dial| dial.name == name);
        self.chosen[place.expect("a name of the list below")]
    }
}

impl Dial {
    const fn new(
        name: &'static str,
        label: &'static str,
        steps: &'static [f64],
        usual: f64,
    ) -> Self {
        Self { name, label, only: "", steps, usual }
    }

    const fn only(self, kinds: &'static str) -> Self {
        Self { only: kinds, ..self }
    }

    /// All steps as people read them, without spaces.
    pub fn words(&self) -> Vec<String> {
        self.steps.iter().map(|step| words(*step)).collect()
    }

    fn read(&self, query: &Query) -> Setting {
        let ends = self.steps.iter();
        let (least, most) =
            ends.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        let typed = query.get(self.name).and_then(|text| text.trim().replace(',', "").parse().ok());
        if let Some(number) = typed.filter(|number: &f64| number.is_finite()) {
            let number = number.clamp(least, most);
            let whole = self.steps.iter().all(|step| step.fract() == 0.0);
            let number = if whole { number.round() } else { number };
            return Setting { number, exact: true };
        }
        let step = query.get(&format!("{}_step", self.name)).and_then(|text| text.parse().ok());
        let step = step.and_then(|step: usize| self.steps.get(step)).copied();
        Setting { number: step.unwrap_or(self.usual), exact: false }
    }
}

fn words(number: f64) -> String {
    match number {
        number if !number.is_finite() => "none".into(),
        number if number >= 1000.0 => Count(number as u64).to_string(),
        number if number < 1e-3 && number > 0.0 => format!("{number:e}"),
        number => number.to_string(),
    }
}

/// Every quantity with a slider. The ends of the lists bound what a query can ask for.
pub const DIALS: [Dial; 9] = [
    Dial::new("n", "Reports in one release", &CROWDS, 1e5),
    Dial::new("epochs", "Epochs, each with a release about the same people", &EPOCHS, 1.0),
    Dial::new("epsilon", "ε of all epochs together", &EPSILONS, 1.0),
    Dial::new("delta", "δ of all epochs together: how likely ε may fail", &DELTAS, 1e-6),
    Dial::new("size", "Answers, things, periods or bits", &SIZES, 10.0).only("sized"),
    Dial::new("changes", "Changes followed", &CHANGES, 1.0).only("state"),
    Dial::new(
        "corrupt",
        "Share of reports that may be the adversary’s",
        &CORRUPT,
        Promise::USUAL_CORRUPT,
    ),
    Dial::new("max_messages", "Messages in a report at most", &MESSAGES, 16.0),
    Dial::new("local_floor", "ε of a report by itself at most", &FLOORS, f64::INFINITY),
];

const CROWDS: [f64; 22] = [
    1e2, 2e2, 5e2, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8,
    2e8, 5e8, 1e9,
];
const EPOCHS: [f64; 12] = [1.0, 2.0, 4.0, 7.0, 12.0, 30.0, 52.0, 90.0, 180.0, 365.0, 730.0, 1000.0];
const EPSILONS: [f64; 15] =
    [0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];
const DELTAS: [f64; 9] = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12];
const SIZES: [f64; 22] = [
    2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 16.0, 20.0, 32.0, 50.0, 64.0, 100.0, 128.0, 200.0, 256.0, 500.0,
    512.0, 1e3, 1024.0, 2e3, 5e3, 1e4,
];
const CHANGES: [f64; 5] = [1.0, 2.0, 3.0, 5.0, 10.0];
const CORRUPT: [f64; 8] = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5];
const MESSAGES: [f64; 12] = [1.0, 2.0, 3.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0];
const FLOORS: [f64; 12] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, f64::INFINITY];

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(query: &str) -> Choice {
        Choice::parse(&Query::parse(query))
    }

    #[test]
    fn a_number_counts_before_a_slider_and_a_slider_before_the_usual() {
        let chosen = choice("value=category&n=1e6&n_step=0&epsilon_step=0&size=7&fragile=on");
        let ask = chosen.ask().unwrap();
        assert_eq!((ask.reports, ask.epsilon.get(), ask.delta.get()), (1_000_000, 0.1, 1e-6));
        assert_eq!(ask.question, Question::Category { size: 7 });
        assert!(ask.fragile && ask.local_floor.is_none() && ask.max_messages == 16);
        let dial = |name| DIALS.iter().find(|dial| dial.name == name).unwrap();
        assert_eq!((chosen.exact(dial("n")), chosen.place(dial("n"))), ("1000000".into(), 12));
        assert_eq!(
            (chosen.exact(dial("epsilon")), chosen.place(dial("epsilon"))),
            (String::new(), 0)
        );
        assert_eq!(chosen.place(dial("local_floor")), FLOORS.len() - 1);
    }

    #[test]
    fn no_query_asks_for_more_than_the_sliders_can() {
        for query in [
            "n=1e300&size=1e9&epsilon=1e9&delta=1&corrupt=1&max_messages=1e9&local_floor=1e9&epochs=1e9",
            "n=-5&size=-1&epsilon=0&delta=0&corrupt=-1&max_messages=0&local_floor=-1&changes=0",
            "n=nan&size=inf&epsilon=&delta=x&corrupt=%00&n_step=99&epsilon_step=-1",
        ] {
            for value in Kind::ALL {
                let ask = choice(&format!("{query}&value={}", value.name())).ask().unwrap();
                assert!((100..=1_000_000_000).contains(&ask.reports), "{query}");
                assert!(ask.crowd.get() >= ask.reports / 2, "{query}");
                assert!((0.1..=8.0).contains(&ask.epsilon.get()), "{query}");
                assert!((1e-12..=1e-4).contains(&ask.delta.get()), "{query}");
                assert!((1..=128).contains(&ask.max_messages), "{query}");
                assert!((1..=1_000).contains(&ask.epochs), "{query}");
                assert!(ask.local_floor.is_none_or(|floor| floor.get() >= 0.5), "{query}");
            }
        }
    }

    #[test]
    fn the_command_line_asks_for_the_same() {
        let all = "value=state&n=5e4&epsilon=0.5&delta=1e-9&size=100&changes=2&corrupt=0.1\
                   &max_messages=4&local_floor=3&fragile=1&epochs=30";
        assert_eq!(
            choice(all).command(),
            "throng plan --value state --n 50000 --epsilon 0.5 --delta 1e-9 --epochs 30 --size 128 \
             --changes 2 --corrupt 0.1 --max-messages 4 --local-floor 3 --fragile"
        );
        assert_eq!(
            choice("").command(),
            "throng plan --value bit --n 100000 --epsilon 1 --delta 1e-6 --epochs 1 --corrupt 0.05 --max-messages 16"
        );
        assert_eq!(
            choice("epochs=365").writes(Key::BitSum),
            "throng collection new question.toml --mechanism bit-sum --text \"The question?\" --n \
             100000 --epsilon 1 --delta 1e-6 --epochs 365 --corrupt 0.05 --max-messages 16 --every 24h --mix \
             NAME=URL=IDENTITY --mix NAME=URL=IDENTITY --analyzer NAME=URL=IDENTITY"
        );
    }
}
