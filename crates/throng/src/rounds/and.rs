//! `throng rounds and`: the wedding problem, with six cards and through the mixes.

use super::computation::compute;
use crate::args::rounds::{And, Answer};
use crate::report::{Report, Rows};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use throng_rounds::six_cards::play;
use throng_rounds::{Circuit, Committee, Input, Seat};

/// Plays it at the table, then between two clients and a helper.
pub async fn run(request: &And) -> Result<Report> {
    let (alice, bob) = (request.alice == Answer::Yes, request.bob == Answer::Yes);
    let play = play(alice, bob, getrandom::u32()? & 1 == 1);
    let rows = play.steps.iter().map(|step| vec![step.row.to_string(), step.sentence.to_owned()]);
    let table = Rows { head: vec!["table", "what is done"], rows: rows.collect() };

    eprintln!("now through the mixes: Alice, Bob, and Carol who helps");
    let [a, b, c] = [Seat(0), Seat(1), Seat(2)];
    let mut circuit = Circuit::new(3, Committee::new(vec![a, b, c], 1)?);
    let (hers, his) = (circuit.bit(a), circuit.bit(b));
    let both = circuit.and(hers, his);
    let answer = circuit.reveal_bit(both, &[a, b]);
    let values = [vec![Input::Bit(alice)], vec![Input::Bit(bob)], Vec::new()];
    let done = compute(circuit, &values, &BTreeMap::new(), request.mixes.mixes).await?;

    let shown = |seat: Seat| done.outcomes.get(&seat).and_then(|outcome| outcome.bit(answer));
    let (hers, his) = (shown(a).context("no answer for Alice")?, shown(b).context("none for Bob")?);
    let right = hers == (alice && bob) && his == hers && play.together == hers;
    Ok(Report::default()
        .well(right)
        .line("cards", "by the cards, both say yes", play.together)
        .line("alice_learns", "through the mixes, Alice learns", hers)
        .line("bob_learns", "Bob learns", his)
        .line("carol_learns", "Carol learns", shown(c).is_some())
        .field("cost", done.cost.clone())
        .table(table)
        .table(vec![done.cost])
        .note(
            "Each of the three learns no more than this from the messages, as long as no two of \
             them put together what they saw, and one mix is honest. Whoever says no learns \
             nothing about the other's answer; whoever says yes learns it from the result, and no \
             protocol can help that.",
        ))
}
