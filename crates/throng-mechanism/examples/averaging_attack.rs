//! The averaging attack on repeated randomized response, and the memory that stops it.
//!
//! The same yes-or-no question every day, answered with fresh noise each time, is answered by the
//! average in the end. A permanent response, drawn once and remembered, is not: what is averaged
//! away is the noise of the single reports, and the permanent noise stays.

use chacha20::ChaCha12Rng;
use chacha20::rand_core::SeedableRng;
use throng_account::{Probability, Threshold};
use throng_mechanism::{BinaryResponse, Bloom, Error, Memory, Protocol, Rappor, sample};

fn main() -> Result<(), Error> {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    one_user_a_hundred_days()?;

    println!("\n{USERS} users, half of them \"yes\"; the attacker guesses the likelier answer.\n");
    println!("          fresh noise every day        remembered permanent response");
    println!("reports   guessed right         ε      guessed right         ε");
    let fresh = BinaryResponse::new(coin(0.25)?)?;
    let rappor = two_answers()?;
    for reports in [1, 10, 100] {
        let (mut averaged, mut remembered) = (0, 0);
        for user in 0..USERS {
            let yes = user % 2 == 0;
            averaged += u32::from(average(fresh, yes, reports, &mut rng)? == yes);
            remembered += u32::from(remember(&rappor, yes, reports, &mut rng)? == yes);
        }
        println!(
            "{reports:7}   {:12.1}%   {:7.2}      {:12.1}%   {:7.2}",
            100.0 * f64::from(averaged) / f64::from(USERS),
            f64::from(reports) * 3_f64.ln(),
            100.0 * f64::from(remembered) / f64::from(USERS),
            rappor.privacy().reports(u64::from(reports)).get(),
        );
    }
    let forever = rappor.privacy().forever().get();
    println!("for ever         100.0%         ∞              75.0%   {forever:7.2}");
    Ok(())
}

/// The attacker's guess from `reports` answers with fresh noise: the majority.
fn average(
    fresh: BinaryResponse,
    truth: bool,
    reports: u32,
    rng: &mut ChaCha12Rng,
) -> Result<bool, Error> {
    let mut answers = Vec::new();
    for _ in 0..reports {
        fresh.encode(&truth, rng, &mut answers)?;
    }
    let yes: u64 = answers.iter().sum();
    guess(yes, u64::from(reports) - yes, rng)
}

/// The attacker's guess from several reports on a permanent response: the bit shown more often.
fn remember(
    rappor: &Rappor,
    truth: bool,
    reports: u32,
    rng: &mut ChaCha12Rng,
) -> Result<bool, Error> {
    let mut memory = Memory::new(rappor, 1, rng);
    let mut messages = Vec::new();
    for _ in 0..reports {
        rappor.respond(if truth { "yes" } else { "no" }, &mut memory, rng, &mut messages)?;
    }
    let [yes, no] = bits(rappor);
    let shown = |bit: u64| messages.chunks(2).filter(|message| message[1] & bit != 0).count();
    guess(shown(yes) as u64, shown(no) as u64, rng)
}

/// The one there is more evidence for, or either.
fn guess(yes: u64, no: u64, rng: &mut ChaCha12Rng) -> Result<bool, Error> {
    Ok(yes > no || (yes == no && sample::coin(coin(0.5)?, rng)))
}

/// One bit for each answer, f = ½, p = ½, q = ¾.
fn two_answers() -> Result<Rappor, Error> {
    for seed in 0.. {
        let rappor = Rappor::new(Bloom::new(2, 1, 1, seed)?, coin(0.5)?, coin(0.5)?, coin(0.75)?)?;
        let [yes, no] = bits(&rappor);
        if yes != no {
            return Ok(rappor);
        }
    }
    unreachable!("some seed sets the answers apart")
}

fn bits(rappor: &Rappor) -> [u64; 2] {
    let bloom = rappor.bloom();
    ["yes", "no"].map(|answer| bloom.filter(bloom.digest(answer), 0)[0])
}

fn coin(probability: f64) -> Result<Threshold, Error> {
    Ok(Threshold::at_least(Probability::new("coin", probability)?))
}

/// One user says "yes" 75 times in 100 answers, each true with probability ¾.
fn one_user_a_hundred_days() -> Result<(), Error> {
    let flip = BinaryResponse::new(coin(0.25)?)?.flip().probability();
    // C(100, k)·(1−b)^k·b^(100−k) if the truth is "yes", and with b and 1−b exchanged if it is
    // "no".
    let chance = |k: i32, yes: f64| -> f64 {
        let choose: f64 = (0..k).map(|j| f64::from(100 - j) / f64::from(j + 1)).product();
        choose * yes.powi(k) * (1.0 - yes).powi(100 - k)
    };
    let (yes, no) = (chance(75, 1.0 - flip), chance(75, flip));
    let tail: f64 = (75..=100).map(|k| chance(k, flip)).sum();
    println!("75 of one user's 100 answers are \"yes\", each true with probability 3/4.\n");
    println!("chance of that if the truth is \"yes\"               {yes:.4}");
    println!("chance of that if it is \"no\"                       {no:.4e}");
    println!("chance of 75 or more if it is \"no\"                 {tail:.4e}");
    println!("likelihood ratio of \"no\" to \"yes\", 3^-50           {:.4e}", no / yes);
    println!("privacy loss: realised, 50 ln 3                    {:.2}", (yes / no).ln());
    println!("privacy loss: at most, 100 ln 3                    {:.2}", 100.0 * 3_f64.ln());
    Ok(())
}

const USERS: u32 = 100_000;
