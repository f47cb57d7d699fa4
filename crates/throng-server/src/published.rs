//! Releases in memory, in the form that pages show them: parsed once, asked for often.

use serde_json::Value;
use std::sync::Arc;

/// One release as it was published.
///
/// ```
/// use std::sync::Arc;
/// use throng_server::Published;
/// # let row = r#"{
/// #     "first": 0, "last": 1, "reports": 1200, "confidence": 0.95, "batch": "0f3a",
/// #     "estimates": [
/// #         { "label": "yes", "value": 611.8, "standard_error": 6.6, "interval": [598.9, 624.7] },
/// #         { "label": "no", "value": null, "standard_error": null, "interval": [null, null] }
/// #     ],
/// #     "privacy": {
/// #         "epsilon": 0.8, "delta": 1e-6, "epsilon_lower": 0.5, "epsilon_if_all_honest": 0.7,
/// #         "honest": 1000, "local_floor": null, "theorem": "t", "source": "s",
/// #         "neighbours": "n", "holds_if": "h", "spent_epsilon": 0.8, "spent_delta": 1e-6,
/// #         "lifetime_epsilon": 1.0
/// #     },
/// #     "influence": { "of_one": 1.5 },
/// #     "dropped": {
/// #         "mixes": [{ "replayed": 2, "malformed": 1 }],
/// #         "analyzer": { "replayed": 0, "malformed": 0, "nonsense": 4 }
/// #     }
/// # }"#;
///
/// let release = Arc::new(Published::parse(row, None).expect("a release"));
/// assert_eq!((release.first, release.last, release.reports), (0, 1, 1200));
/// assert_eq!(release.labels[..], ["yes", "no"]);
///
/// // The same labels are kept once.
/// let next = Published::parse(row, Some(&release)).expect("a release");
/// assert!(Arc::ptr_eq(&release.labels, &next.labels));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The first epoch.
    pub first: u64,
    /// The last epoch.
    pub last: u64,
    /// Distinct valid reports.
    pub reports: u64,
    /// Of every interval.
    pub confidence: f64,
    /// What each estimate is of. Shared with the release before where it is the same.
    pub labels: Arc<[String]>,
    /// One for each label.
    pub estimates: Vec<Point>,
    /// What holds for this batch.
    pub privacy: Privacy,
    /// How far one liar moves an estimate; `None` is any distance.
    pub influence: Option<f64>,
    /// Left out by each mix, in the order of the chain, and then by the analyzer.
    pub dropped: Vec<Left>,
    /// The batch, as text.
    pub batch: String,
}

/// An estimate and its interval.
///
/// ```
/// use throng_server::{Point, Published};
/// # let row = r#"{
/// #     "first": 0, "last": 1, "reports": 1200, "confidence": 0.95, "batch": "0f3a",
/// #     "estimates": [
/// #         { "label": "yes", "value": 611.8, "standard_error": 6.6, "interval": [598.9, 624.7] },
/// #         { "label": "no", "value": null, "standard_error": null, "interval": [null, null] }
/// #     ],
/// #     "privacy": {
/// #         "epsilon": 0.8, "delta": 1e-6, "epsilon_lower": 0.5, "epsilon_if_all_honest": 0.7,
/// #         "honest": 1000, "local_floor": null, "theorem": "t", "source": "s",
/// #         "neighbours": "n", "holds_if": "h", "spent_epsilon": 0.8, "spent_delta": 1e-6,
/// #         "lifetime_epsilon": 1.0
/// #     },
/// #     "influence": { "of_one": 1.5 },
/// #     "dropped": {
/// #         "mixes": [{ "replayed": 2, "malformed": 1 }],
/// #         "analyzer": { "replayed": 0, "malformed": 0, "nonsense": 4 }
/// #     }
/// # }"#;
///
/// let release = Published::parse(row, None).expect("a release");
/// let yes = Point { value: 611.8, standard_error: 6.6, low: 598.9, high: 624.7 };
/// assert_eq!(release.estimates[0], yes);
///
/// // An estimate that could be anything is null in JSON and no number here.
/// assert!(release.estimates[1].value.is_nan());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// What was published about the privacy of a release.
///
/// ```
/// use throng_server::Published;
/// # let row = r#"{
/// #     "first": 0, "last": 1, "reports": 1200, "confidence": 0.95, "batch": "0f3a",
/// #     "estimates": [
/// #         { "label": "yes", "value": 611.8, "standard_error": 6.6, "interval": [598.9, 624.7] },
/// #         { "label": "no", "value": null, "standard_error": null, "interval": [null, null] }
/// #     ],
/// #     "privacy": {
/// #         "epsilon": 0.8, "delta": 1e-6, "epsilon_lower": 0.5, "epsilon_if_all_honest": 0.7,
/// #         "honest": 1000, "local_floor": null, "theorem": "t", "source": "s",
/// #         "neighbours": "n", "holds_if": "h", "spent_epsilon": 0.8, "spent_delta": 1e-6,
/// #         "lifetime_epsilon": 1.0
/// #     },
/// #     "influence": { "of_one": 1.5 },
/// #     "dropped": {
/// #         "mixes": [{ "replayed": 2, "malformed": 1 }],
/// #         "analyzer": { "replayed": 0, "malformed": 0, "nonsense": 4 }
/// #     }
/// # }"#;
///
/// let privacy = Published::parse(row, None).expect("a release").privacy;
/// assert!(privacy.epsilon_lower.unwrap() <= privacy.epsilon);
/// assert!(privacy.spent_epsilon <= privacy.lifetime_epsilon);
/// assert_eq!(privacy.local_floor, None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Privacy {
    /// Against everybody but one honest mix.
    pub epsilon: f64,
    /// What may be added.
    pub delta: f64,
    /// Below this no ε holds, where that is known.
    pub epsilon_lower: Option<f64>,
    /// With no report of the adversary's among them.
    pub epsilon_if_all_honest: f64,
    /// Reports that are counted on.
    pub honest: u64,
    /// With nobody honest; `None` is infinite.
    pub local_floor: Option<f64>,
    /// The name of the theorem.
    pub theorem: String,
    /// Where it is from.
    pub source: String,
    /// What is replaced by what.
    pub neighbours: String,
    /// On what it rests.
    pub holds_if: String,
    /// Of all releases up to this one.
    pub spent_epsilon: f64,
    /// The δ of the lifetime.
    pub spent_delta: f64,
    /// What may be spent.
    pub lifetime_epsilon: f64,
}

/// Messages that a party left out.
///
/// ```
/// use throng_server::Left;
///
/// let left = Left { replayed: 2, malformed: 1, ..Left::default() };
/// assert_eq!(left.total(), 3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Left {
    /// Seen before.
    pub replayed: u64,
    /// Could not be opened.
    pub malformed: u64,
    /// Could be opened and are not what a client sends; only the analyzer can tell.
    pub nonsense: u64,
}

impl Published {
    /// From the JSON object of a release. `before` is an earlier release of the same collection.
    pub fn parse(row: &str, before: Option<&Arc<Self>>) -> Option<Self> {
        let row: Value = serde_json::from_str(row).ok()?;
        let rows = row["estimates"].as_array()?;
        let labels: Option<Vec<String>> =
            rows.iter().map(|row| Some(row["label"].as_str()?.to_owned())).collect();
        let labels = labels?;
        let shared = before.map(|before| &before.labels).filter(|known| known[..] == labels[..]);
        let estimates: Option<Vec<Point>> = rows.iter().map(Point::parse).collect();
        let parties = row["dropped"]["mixes"].as_array()?.iter();
        let parties = parties.chain([&row["dropped"]["analyzer"]]);
        let dropped: Option<Vec<Left>> = parties.map(Left::parse).collect();
        Some(Self {
            first: row["first"].as_u64()?,
            last: row["last"].as_u64()?,
            reports: row["reports"].as_u64()?,
            confidence: row["confidence"].as_f64()?,
            labels: shared.map_or_else(|| labels.into(), Arc::clone),
            estimates: estimates?,
            privacy: Privacy::parse(&row["privacy"])?,
            influence: row["influence"]["of_one"].as_f64(),
            dropped: dropped?,
            batch: row["batch"].as_str()?.to_owned(),
        })
    }
}

impl Point {
    fn parse(row: &Value) -> Option<Self> {
        // JSON has no infinity: an estimate that could be anything is null.
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        Some(Self {
            value: number(row.get("value")?),
            standard_error: number(row.get("standard_error")?),
            low: number(&row["interval"][0]),
            high: number(&row["interval"][1]),
        })
    }
}

impl Privacy {
    fn parse(row: &Value) -> Option<Self> {
        let number = |name: &str| row[name].as_f64();
        let text = |name: &str| Some(row[name].as_str()?.to_owned());
        Some(Self {
            epsilon: number("epsilon")?,
            delta: number("delta")?,
            epsilon_lower: number("epsilon_lower"),
            epsilon_if_all_honest: number("epsilon_if_all_honest")?,
            honest: row["honest"].as_u64()?,
            local_floor: number("local_floor"),
            theorem: text("theorem")?,
            source: text("source")?,
            neighbours: text("neighbours")?,
            holds_if: text("holds_if")?,
            spent_epsilon: number("spent_epsilon")?,
            spent_delta: number("spent_delta")?,
            lifetime_epsilon: number("lifetime_epsilon")?,
        })
    }
}

impl Left {
    fn parse(row: &Value) -> Option<Self> {
        Some(Self {
            replayed: row["replayed"].as_u64()?,
            malformed: row["malformed"].as_u64()?,
            nonsense: row["nonsense"].as_u64().unwrap_or(0),
        })
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.replayed + self.malformed + self.nonsense
    }
}
