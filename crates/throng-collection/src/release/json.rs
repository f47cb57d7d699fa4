//! The text of a release: a JSON object, one for each release.
//!
//! JSON has no infinity: a bound that is infinite is `"infinity"`, an estimate that could be
//! anything is `null`.

use super::guarantee::words;
use super::{About, Answer, BatchGuarantee, Budget, Influence, Release, Subjects};
use crate::Error;
use serde_json::{Value, json};
use throng_account::{Crowd, Delta, Epsilon, Probability, Theorem};
use throng_wire::bytes::unhex_array;
use throng_wire::{BatchId, Loss, Utc, hex};

impl Release {
    /// The JSON object that is published. Numbers read back to the same bits.
    pub fn to_json(&self) -> String {
        self.value().to_string()
    }

    /// Reads a release of a collection, and refuses what [`Release::to_json`] never writes.
    pub fn parse(text: &str, subjects: &Subjects) -> Result<Self, Error> {
        let value = serde_json::from_str(text).map_err(|_| Error::Release)?;
        let release = read(&value, subjects).ok_or(Error::Release)?;
        if release.value() == value { Ok(release) } else { Err(Error::Release) }
    }

    fn value(&self) -> Value {
        let mut value = json!({
            "collection": self.collection.to_string(),
            "first": self.first,
            "last": self.last,
            "reports": self.reports,
            "confidence": self.confidence.get(),
            "estimates": self.estimates.iter().map(estimate).collect::<Vec<_>>(),
            "privacy": privacy(&self.guarantee, &self.spent),
            "influence": {
                "of_one": bound(self.influence.of_one),
                "corrupt": self.influence.corrupt as f64,
                "of_all_corrupt": bound(self.influence.of_all_corrupt()),
            },
            "dropped": dropped(&self.losses, self.nonsense),
            "batch": self.batch.to_string(),
            "ledger": hex(&self.ledger),
        });
        if let Some(About { question, begin, end }) = &self.about {
            value["question"] = question.as_str().into();
            value["begin"] = Utc(*begin).to_string().into();
            value["end"] = Utc(*end).to_string().into();
        }
        value
    }
}

fn estimate(answer: &Answer) -> Value {
    json!({
        "label": answer.what.to_string(),
        "value": answer.value,
        "standard_error": answer.standard_error,
        "interval": [answer.low, answer.high],
    })
}

fn privacy(guarantee: &BatchGuarantee, spent: &Budget) -> Value {
    json!({
        "epsilon": guarantee.epsilon.get(),
        "delta": guarantee.delta.get(),
        "epsilon_lower": guarantee.lower.map(Epsilon::get),
        "honest": guarantee.honest.get(),
        "corrupt": guarantee.corrupt,
        "epsilon_if_all_honest": guarantee.if_all_honest.get(),
        "epochs_merged": guarantee.epochs,
        "local_floor": bound(guarantee.local_floor.map(Epsilon::get)),
        "theorem": guarantee.theorem.name(),
        "source": guarantee.source,
        "neighbours": guarantee.neighbours,
        "holds_if": guarantee.holds_if,
        "spent_epsilon": spent.epsilon.get(),
        "spent_delta": spent.delta.get(),
        "lifetime_epsilon": spent.lifetime.get(),
    })
}

fn dropped(losses: &[Loss], nonsense: u64) -> Value {
    let party = |loss: &Loss| json!({ "replayed": loss.replayed, "malformed": loss.malformed });
    let nothing = Loss::default();
    let (analyzer, mixes) = losses.split_last().unwrap_or((&nothing, &[]));
    let mut analyzer = party(analyzer);
    analyzer["nonsense"] = nonsense.into();
    json!({ "mixes": mixes.iter().map(party).collect::<Vec<_>>(), "analyzer": analyzer })
}

fn bound(bound: Option<f64>) -> Value {
    bound.map_or_else(|| json!("infinity"), |bound| json!(bound))
}

/// Reads the fields that are there. The caller checks that there are no others and that they agree.
fn read(row: &Value, subjects: &Subjects) -> Option<Release> {
    let rows = row["estimates"].as_array()?;
    let labels: Option<Vec<&str>> = rows.iter().map(|row| row["label"].as_str()).collect();
    let answer = |(what, row): (_, &Value)| {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let (value, standard_error) = (number(&row["value"]), number(&row["standard_error"]));
        let (low, high) = (number(&row["interval"][0]), number(&row["interval"][1]));
        Answer { what, value, standard_error, low, high }
    };
    let dropped = &row["dropped"];
    let losses = dropped["mixes"].as_array()?.iter().chain([&dropped["analyzer"]]);
    let losses: Vec<Loss> = losses.map(read_loss).collect::<Option<_>>()?;
    let (first, last) = (row["first"].as_u64()?, row["last"].as_u64()?);
    let release = Release {
        collection: row["collection"].as_str()?.parse().ok()?,
        first,
        last,
        reports: row["reports"].as_u64()?,
        confidence: Probability::new("confidence", row["confidence"].as_f64()?).ok()?,
        estimates: subjects.read(&labels?)?.into_iter().zip(rows).map(answer).collect(),
        guarantee: read_guarantee(&row["privacy"])?,
        spent: Budget {
            epsilon: epsilon(&row["privacy"]["spent_epsilon"])?,
            delta: Delta::new(row["privacy"]["spent_delta"].as_f64()?).ok()?,
            lifetime: epsilon(&row["privacy"]["lifetime_epsilon"])?,
        },
        influence: Influence {
            of_one: row["influence"]["of_one"].as_f64(),
            corrupt: row["influence"]["corrupt"].as_f64()? as u64,
        },
        losses,
        nonsense: dropped["analyzer"]["nonsense"].as_u64()?,
        batch: BatchId(hash(&row["batch"])?),
        ledger: hash(&row["ledger"])?,
        about: row.get("begin").map(|_| About::of(subjects.collection(), first, last)),
    };
    let collection = subjects.collection();
    let ours = release.collection == collection.id()
        && release.losses.len() == usize::from(collection.chain.hops())
        && last.checked_sub(first)?.checked_add(1)? == release.guarantee.epochs;
    ours.then_some(release)
}

fn read_guarantee(row: &Value) -> Option<BatchGuarantee> {
    let theorem = Theorem::named(row["theorem"].as_str()?)?;
    Some(BatchGuarantee {
        epsilon: epsilon(&row["epsilon"])?,
        delta: Delta::new(row["delta"].as_f64()?).ok()?,
        lower: epsilon(&row["epsilon_lower"]),
        honest: Crowd::new(row["honest"].as_u64()?).ok()?,
        corrupt: row["corrupt"].as_f64()?,
        if_all_honest: epsilon(&row["epsilon_if_all_honest"])?,
        epochs: row["epochs_merged"].as_u64()?,
        local_floor: epsilon(&row["local_floor"]),
        theorem,
        source: words(theorem, row["source"].as_str()?),
        neighbours: words(theorem, row["neighbours"].as_str()?),
        holds_if: words(theorem, row["holds_if"].as_str()?),
    })
}

fn read_loss(row: &Value) -> Option<Loss> {
    Some(Loss { replayed: row["replayed"].as_u64()?, malformed: row["malformed"].as_u64()? })
}

fn epsilon(value: &Value) -> Option<Epsilon> {
    Epsilon::new(value.as_f64()?).ok()
}

fn hash(value: &Value) -> Option<[u8; 32]> {
    unhex_array(value.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::testing::{collection, rich_collection};
    use crate::{Collection, Subject, example};
    use std::sync::Arc;
    use throng_mechanism::{Key, Question};

    /// A release that claims to be of 1,200 people, of an empty tally, or of one message in period
    /// 1.
    fn release(subjects: &Subjects, (first, last): (u64, u64)) -> Release {
        let Collection { terms, chain, .. } = &**subjects.collection();
        let mut tally = terms.mechanism.tally();
        if let Question::State { .. } = terms.mechanism.question() {
            terms.mechanism.absorb(&mut tally, &[0]);
        }
        let confidence = Probability::new("confidence", 0.95).unwrap();
        let epochs: Vec<u64> = (first..=last).collect();
        let guarantee = BatchGuarantee::of(terms, 1_200, last - first + 1).unwrap();
        Release {
            collection: subjects.collection().id(),
            first,
            last,
            reports: 1_200,
            confidence,
            estimates: subjects.answers(&tally, &epochs, confidence),
            spent: Budget::of(terms, guarantee.epsilon),
            guarantee,
            influence: Influence::of(terms, 1_200, &tally),
            losses: vec![Loss { replayed: 1, malformed: 2 }; chain.hops().into()],
            nonsense: 3,
            batch: BatchId([0xab; 32]),
            ledger: [0xcd; 32],
            about: Some(About::of(subjects.collection(), first, last)),
        }
    }

    fn asked(question: Question, key: Key) -> Subjects {
        let mut collection = Collection { terms: example::asked(question, key), ..collection() };
        if let Question::Category { size: 3 } = question {
            collection.terms.question.labels = vec!["yes".into(), "mean".into(), "period 7".into()];
        }
        Subjects::of(Arc::new(collection))
    }

    #[test]
    fn a_release_of_every_mechanism_reads_back() {
        let questions = [
            Question::Bit,
            Question::Real,
            Question::Category { size: 3 },
            Question::Category { size: 4 },
            Question::Attributes { count: 5 },
            Question::State { periods: 8, changes: 1 },
            Question::Text { bits: 64, hashes: 2, cohorts: 8 },
        ];
        let mut keys = Vec::new();
        for (question, key) in questions
            .iter()
            .flat_map(|question| question.keys().into_iter().map(move |key| (*question, key)))
        {
            let subjects = asked(question, key);
            let made = release(&subjects, (0, 0));
            let text = made.to_json();
            let again =
                Release::parse(&text, &subjects).unwrap_or_else(|_| panic!("{key}: {text}"));
            assert_eq!(again.to_json(), text, "{key}");
            let (about, told): (Vec<&Subject>, Vec<&Subject>) = (
                made.estimates.iter().map(|answer| &answer.what).collect(),
                again.estimates.iter().map(|answer| &answer.what).collect(),
            );
            assert_eq!(about, told, "{key}");
            match question {
                Question::Bit => assert_eq!(told, [&Subject::Yes]),
                Question::Real => assert_eq!(told, [&Subject::Mean]),
                Question::Category { size: 3 } => {
                    assert_eq!(told[0], &Subject::Label("yes".into()));
                }
                Question::Category { size: 4 } => assert_eq!(told[3], &Subject::Label("3".into())),
                Question::Attributes { .. } => assert_eq!(told.len(), 5),
                Question::State { .. } => assert_eq!(told, [&Subject::Period(1)]),
                _ => assert!(told.is_empty()),
            }
            keys.push(key);
        }
        assert!(Key::ALL.iter().all(|key| keys.contains(key)), "{keys:?}");
    }

    #[test]
    fn the_text_is_the_one_that_is_published() {
        assert_eq!(example::release().to_json(), PUBLISHED);
    }

    /// Releases were published without question and times before there were any.
    #[test]
    fn an_older_release_reads_back_without_question_and_times() {
        let subjects = Subjects::of(Arc::new(example::collection()));
        let older = Release { about: None, ..example::release() };
        let text = older.to_json();
        assert!(!text.contains("question") && PUBLISHED.starts_with(text.trim_end_matches('}')));
        assert_eq!(Release::parse(&text, &subjects), Ok(older));
    }

    #[test]
    fn merged_epochs_a_mean_and_what_is_unknown_read_back() {
        let subjects = Subjects::of(Arc::new(rich_collection()));
        let mut release = release(&subjects, (2, 3));
        release.estimates[0].value = f64::NAN;
        release.influence.of_one = None;
        release.guarantee.local_floor = None;
        release.guarantee.holds_if = "words of another day".into();
        let text = release.to_json();
        assert!(text.contains(r#""value":null"#) && text.contains(r#""of_one":"infinity""#));
        assert!(text.contains(r#""epochs_merged":2"#) && text.contains(r#""epsilon_lower":null"#));
        let again = Release::parse(&text, &subjects).unwrap();
        assert!(again.estimates[0].value.is_nan() && again.influence.of_one.is_none());
        assert_eq!(again.to_json(), text);
    }

    #[test]
    fn what_no_analyzer_wrote_is_refused() {
        let subjects = Subjects::of(Arc::new(example::collection()));
        assert_eq!(Release::parse(PUBLISHED, &subjects), Ok(example::release()));
        let elsewhere = Subjects::of(Arc::new(collection()));
        assert_eq!(Release::parse(PUBLISHED, &elsewhere), Err(Error::Release));
        for (from, to) in [
            (r#""label":"yes""#, r#""label":"mean""#),
            (r#""first":0"#, r#""first":1"#),
            (r#""last":0"#, r#""last":1"#),
            (r#""last":0"#, r#""last":0,"extra":1"#),
            (r#""reports":1200"#, r#""reports":1200.0"#),
            (r#""reports":1200"#, r#""reports":-1"#),
            (r#""corrupt":0.0,"of_all"#, r#""corrupt":0.5,"of_all"#),
            (r#""of_all_corrupt":0.0"#, r#""of_all_corrupt":1.0"#),
            (r#""theorem":"exact-bag""#, r#""theorem":"hearsay""#),
            (r#""epsilon":0."#, r#""epsilon":-0."#),
            (r#""delta":1e-6"#, r#""delta":0.0"#),
            (r#""mixes":[{"replayed":2,"malformed":1}]"#, r#""mixes":[]"#),
            (r#""estimates":["#, r#""estimates":[{"label":"yes"},"#),
            (r#""batch":"07"#, r#""batch":"0G"#),
            (r#""ledger":"08"#, r#""ledger":"8"#),
            (r#""begin":"1970"#, r#""begin":"1971"#),
            (r#","end":"#, r#","ending":"#),
        ] {
            assert!(PUBLISHED.contains(from), "{from}");
            let altered = PUBLISHED.replacen(from, to, 1);
            assert_eq!(Release::parse(&altered, &subjects), Err(Error::Release), "{from} to {to}");
        }
    }

    #[test]
    fn periods_and_strings_are_those_of_the_question() {
        let followed = asked(Question::State { periods: 8, changes: 1 }, Key::Longitudinal);
        let periods = |labels: &[&str]| followed.read(labels);
        assert_eq!(
            periods(&["period 1", "period 8"]),
            Some(vec![Subject::Period(1), Subject::Period(8)])
        );
        for labels in [
            ["period 2", "period 1"],
            ["period 1", "period 9"],
            ["period 0", "period 1"],
            ["period 01", "period 2"],
            ["yes", "period 2"],
            ["period 2", "period 2"],
        ] {
            assert_eq!(periods(&labels), None, "{labels:?}");
        }
        let text = Question::Text { bits: 64, hashes: 2, cohorts: 8 };
        let mut collection = Collection::clone(asked(text, Key::Rappor).collection());
        collection.terms.question.labels = vec!["a".into(), "b".into()];
        let strings = Subjects::of(Arc::new(collection));
        assert_eq!(strings.read(&["b", "a"]).map(|found| found.len()), Some(2));
        assert_eq!(strings.read(&["b", "b"]), None);
        assert_eq!(strings.read(&["c"]), None);
    }

    const PUBLISHED: &str = concat!(
        r#"{"collection":"05560b3ef9dfca0f9df1147696fbee8b73c913fcd930c6b0340c9f91676a52b5","#,
        r#""first":0,"last":0,"reports":1200,"confidence":0.95,"estimates":[{"label":"yes","#,
        r#""value":642.6203531816191,"standard_error":6.371241617504012,"interval""#,
        r#":[630.0,655.0]}],"privacy":{"epsilon":0.8657804400801586,"#,
        r#""delta":1e-6,"epsilon_lower":0.8657804397477472,"honest":1200,"corrupt":0.0,"#,
        r#""epsilon_if_all_honest":0.8657804400801586,"epochs_merged":1,"local_floor""#,
        r#":3.450946949349202,"theorem":"exact-bag","source":"#,
        r#""the law of the bag of bits, maximised over all datasets (docs/privacy.md, 2)","#,
        r#""neighbours":"one person's report is replaced by another","holds_if":"the first "#,
        r#"mix is honest, or a later one is and those before it put in no reports of their own "#,
        r#"beyond the corrupt fraction; no more than the corrupt fraction of the reports that "#,
        r#"the honest mix let through is from, or known to, the adversary, whoever put them "#,
        r#"there, people or mixes; and how many report does not react to earlier releases, on "#,
        r#"which the promised epsilon and lifetime do not rest","spent_epsilon":0.8657804400801586,"#,
        r#""spent_delta":1e-6,"lifetime_epsilon":1.0},"influence":{"of_one":1.065508829540477,"#,
        r#""corrupt":0.0,"of_all_corrupt":0.0},"dropped":{"mixes":[{"replayed":2,"malformed""#,
        r#":1}],"analyzer":{"replayed":0,"malformed":0,"nonsense":0}},"batch":"#,
        r#""0707070707070707070707070707070707070707070707070707070707070707","ledger":"#,
        r#""0808080808080808080808080808080808080808080808080808080808080808","#,
        r#""question":"Do you cycle to work?","begin":"1970-01-01T00:16:40Z","#,
        r#""end":"1970-01-02T00:16:40Z"}"#,
    );
}
