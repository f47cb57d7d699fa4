//! The page of a collection's promise, of the guarantees of a release, and of the budget spent.

mod curve;
mod picture;
mod trade;

pub(crate) use curve::Curves;

use super::Frame;
use super::book::proof;
use super::collection::{of_all, with_unit};
use super::number::Delta;
use super::query::Query;
use super::site::Survey;
use super::time::Epochs;
use crate::Error;
use askama::Template;
use picture::{Picture, budget, profile, trade_off};
use throng_account::show::{Count, Lower, Upper};
use throng_account::{self as account, Crowd, Epsilon};
use throng_collection::{BatchGuarantee, Disclosure, Release, Terms};
use throng_mechanism::{Question, Spending};

/// Renders the page for the release that the query names, or for the last one.
pub(crate) fn privacy(
    asked: &Survey,
    words: &[String],
    curves: &Curves,
    query: &str,
    frame: Frame,
) -> Result<String, Error> {
    let place = asked.place(&Query::parse(query));
    let shown = place.map(|place| Guarantees::new(asked, &asked.releases[place], curves));
    super::shown(&Page { frame, asked, words, place, shown: shown.transpose()? })
}

#[derive(Template)]
#[template(path = "privacy.html")]
struct Page<'a> {
    frame: Frame,
    asked: &'a Survey,
    words: &'a [String],
    /// The place of the release that is shown.
    place: Option<usize>,
    shown: Option<Guarantees<'a>>,
}

/// The guarantees of one release.
struct Guarantees<'a> {
    release: &'a Release,
    /// ε and δ if all who report are honest.
    all_honest: (Epsilon, account::Delta),
    profile: Option<Picture>,
    /// The trade-off, and a sentence that says what it means.
    trade: Option<(Picture, String)>,
    budget: Option<Picture>,
}

impl<'a> Guarantees<'a> {
    fn new(asked: &Survey, release: &'a Release, curves: &Curves) -> Result<Self, Error> {
        let terms = &asked.collection.terms;
        let BatchGuarantee { epsilon, epochs, honest, .. } = release.guarantee;
        let reached = epsilon.get() / epochs as f64;
        // Without a curve the numbers are there all the same.
        let curve = curves.of(asked.collection.id(), terms, honest, reached).ok();
        let curve = curve.map(|curve| curve.together(release.epochs()));
        Ok(Self {
            release,
            all_honest: if_all_honest(terms, release)?,
            profile: curve.as_ref().map(|curve| profile(curve, terms, release)),
            trade: curve.as_ref().map(trade_off),
            budget: budget(&asked.ledger, &terms.promise, &asked.collection.schedule),
        })
    }
}

/// The cost of a release if all who report are honest. For one epoch δ is the promised one, whoever
/// is honest.
fn if_all_honest(terms: &Terms, release: &Release) -> Result<(Epsilon, account::Delta), Error> {
    let (epochs, guarantee) = (release.epochs(), &release.guarantee);
    if epochs == 1 {
        return Ok((guarantee.if_all_honest, guarantee.delta));
    }
    let honest = Crowd::new(release.reports)?;
    Ok(BatchGuarantee::cost(terms, Disclosure { epochs, honest })?)
}

/// The largest effect of one liar on the result, in its unit.
fn liar(terms: &Terms, release: &Release) -> String {
    match (release.influence.of_one, terms.mechanism.question()) {
        (None, _) => "any distance: one person who lies can make the result worthless".to_owned(),
        (Some(moves), Question::Real) => format!("at most {}", with_unit(Upper(moves), terms)),
        (Some(moves), _) => {
            format!("at most {}, where an honest person moves it by 1", Upper(moves))
        }
    }
}

/// A note on the subject of the curves, where it is not one report.
fn about(terms: &Terms, release: &Release) -> &'static str {
    match terms.spending() {
        Spending::Lifetime => "The curves are of all that one person ever sends.",
        Spending::Memoized => {
            "The curves are of one report by itself. Reports of one person hang together through \
             what the device remembers; what all of them cost is in the last row."
        }
        Spending::PerEpoch if release.epochs() > 1 => {
            "Several epochs were merged. The curves are of a person with a report in each of \
             them, by group privacy."
        }
        Spending::PerEpoch => "",
    }
}

/// The most releases that can be chosen from a list; older ones are reached one by one.
const CHOICES: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dashboard::site::Truth;
    use crate::{Ledger, Role};
    use std::sync::Arc;
    use throng_account::Theorem;
    use throng_collection::{Budget, Collection, Influence, Promise, Prompt, example};
    use throng_mechanism::{Ask, Key};
    use throng_wire::{Below, Chain, CollectionId, Identity, Party, Schedule};

    /// A count of bits, promised at (1, 10⁻⁶) among 1,000.
    pub fn terms(key: Key) -> Terms {
        let (epsilon, delta) =
            (Epsilon::new(1.0).unwrap(), throng_account::Delta::new(1e-6).unwrap());
        let ask = Ask::new(Question::Bit, Crowd::new(1_000).unwrap(), epsilon, delta)
            .with_max_messages(9);
        let promise = Promise {
            epsilon: ask.epsilon,
            delta: ask.delta,
            crowd: ask.crowd,
            corrupt: 0.0,
            epochs: 4,
            lifetime: (Epsilon::new(9.0).unwrap(), throng_account::Delta::new(1e-3).unwrap()),
        };
        let question = Prompt::new("Is it <b>?");
        Terms { question, promise, mechanism: ask.calibrate(key).unwrap() }
    }

    fn collection(key: Key) -> Collection {
        let party = |name: &str, seed: u8| Party {
            name: name.into(),
            url: format!("https://{name}.example"),
            identity: Identity::from_seed(&[seed; 32]).public(),
        };
        Collection {
            terms: terms(key),
            schedule: Schedule {
                start: 1_000,
                every: 60,
                grace: 5,
                below: Below::Merge { window: 2 },
            },
            chain: Chain { mixes: vec![party("a", 1)], analyzer: party("b", 2) },
        }
    }

    fn release(first: u64, last: u64) -> Arc<Release> {
        let epsilon = |value| Epsilon::new(value).unwrap();
        Arc::new(Release {
            first,
            last,
            reports: 1_337,
            estimates: vec![],
            guarantee: BatchGuarantee {
                epsilon: epsilon(0.876_51),
                delta: throng_account::Delta::new(1e-6).unwrap(),
                lower: Some(epsilon(0.876_49)),
                if_all_honest: epsilon(0.812_34),
                honest: Crowd::new(1_203).unwrap(),
                corrupt: 0.1,
                epochs: last - first + 1,
                local_floor: Some(epsilon(4.321_09)),
                theorem: Theorem::ExactBag,
                source: "a book <i>".into(),
                neighbours: "one report".into(),
                holds_if: "the first mix is honest".into(),
            },
            spent: Budget {
                epsilon: epsilon(1.234_56),
                delta: throng_account::Delta::new(1e-3).unwrap(),
                lifetime: epsilon(9.0),
            },
            influence: Influence { of_one: Some(1.234_567), corrupt: 134 },
            losses: vec![],
            ..example::release()
        })
    }

    /// The page of the release whose first epoch this is.
    fn rendered(collection: &Collection, releases: &[Arc<Release>], first: u64) -> String {
        let mut ledger = Ledger::open(&CollectionId::new([0; 32]), &[], None).unwrap();
        for (number, release) in releases.iter().enumerate() {
            let total = Epsilon::new(0.617_28 * (number + 1) as f64).unwrap();
            ledger.push(ledger.entry(release.first, release.last, 1_203, total));
        }
        let words = ["It is <safe>.".to_owned()];
        let ledger = ledger.entries().to_vec();
        let collection = Arc::new(collection.clone());
        let asked = Survey {
            collection,
            releases: releases.to_vec(),
            ledger,
            fates: vec![],
            truth: Truth::new(),
        };
        let frame = Frame::new(Role::Analyzer, false, None, "/");
        let query = format!("release={first}");
        privacy(&asked, &words, &Curves::default(), &query, frame).unwrap()
    }

    #[test]
    fn without_a_release_the_promise_is_there() {
        let html = rendered(&collection(Key::BitSum), &[], 0);
        assert!(html.contains("It is &#60;safe&#62;.") && html.contains("Is it &#60;b&#62;?"));
        assert!(html.contains("Nothing has been released") && !html.contains("<table"));
    }

    #[test]
    fn the_numbers_of_the_release_are_there_rounded_outward() {
        let releases = [release(0, 0), release(1, 1), release(2, 2)];
        let html = rendered(&collection(Key::BitSum), &releases, 1);
        for part in [
            ">0.8766<",
            ">1,203<",
            ">0.8124<",
            ">1,337<",
            ">4.322<",
            ">1.235<",
            "1.235 of 9",
            "ε = 0.8764",
            "at most 1.235,",
            "/docs/privacy.md#2-",
            "a book &#60;i&#62;",
            "?release=0\"",
            "?release=2\"",
            "<option value=\"1\" selected>",
        ] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(!html.contains("<safe>") && !html.contains("style="));
        assert_eq!(html.matches("<figure").count(), 3);
    }

    #[test]
    fn a_value_in_clear_and_merged_epochs_are_said_aloud() {
        let mut merged = (*release(0, 1)).clone();
        merged.guarantee.local_floor = None;
        merged.guarantee.lower = None;
        merged.influence.of_one = None;
        let html = rendered(&collection(Key::BurstCount), &[Arc::new(merged)], 0);
        for part in
            ["the value travels in clear inside the bag", "infinite", "by group privacy", "0–1"]
        {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(html.contains("worthless"));
    }

    #[test]
    fn every_theorem_leads_to_the_section_that_its_source_names() {
        for theorem in Theorem::ALL {
            let section = theorem.section();
            assert!(proof(section).starts_with(&format!("/docs/privacy.md#{section}-")));
            if theorem.source().contains("docs/privacy.md") {
                let named = format!("(docs/privacy.md, {section})");
                assert!(theorem.source().ends_with(&named), "{theorem:?}: {section}");
            }
        }
    }
}
