//! Everybody who reports: what they hold in which world, and what they send.

use super::Case;
use super::deliver::{Packed, Post, World};
use crate::parallel::generator;
use anyhow::Result;
use chacha20::rand_core::Rng;
use std::sync::Arc;
use throng_client::Client;
use throng_mechanism::{Attack, Mechanism, NoiseCounts};
use throng_wire::SignedDirectory;

/// The people of an audit. What they draw follows from a seed, so that the others draw the same in
/// both worlds, and that the audit knows what is in their reports.
pub struct People<'a> {
    /// The way into the chain.
    pub post: Arc<Post>,
    attack: &'a Attack<'a>,
    claimed: &'a Mechanism,
    randomizer: &'a Mechanism,
    /// True if the randomizer is not the one that is claimed.
    planted: bool,
    seed: u64,
}

impl<'a> People<'a> {
    /// The people of a case, who send by this post.
    pub fn of(case: &'a Case<'_>, attack: &'a Attack<'a>, post: Arc<Post>) -> Self {
        let Case { claimed, client: randomizer, request, .. } = case;
        // Pilots have seeds of their own.
        let (planted, seed) = (request.weaken.is_some(), case.seed ^ 1 << 63);
        Self { post, attack, claimed, randomizer, planted, seed }
    }

    /// The reports of a run for a pair of collections, the first of which is at `pair`, with the
    /// keys of both.
    pub fn pack(
        &self,
        run: u64,
        pair: usize,
        epoch: u64,
        keys: [&SignedDirectory; 2],
    ) -> Result<Packed> {
        let swapped = (generator(self.seed, unit(run, COIN)).next_u64() & 1) as usize;
        let mut noise = NoiseCounts::default();
        let mut worlds = Vec::with_capacity(2);
        for world in 0..2 {
            let side = world ^ swapped;
            worlds.push(self.world(run, world, (pair + side, epoch, keys[side]), &mut noise)?);
        }
        Ok(Packed { run, epoch, worlds, noise })
    }

    /// The reports of one world and the counts of their bag.
    fn world(
        &self,
        run: u64,
        world: usize,
        (way, epoch, keys): (usize, u64, &SignedDirectory),
        noise: &mut NoiseCounts,
    ) -> Result<World> {
        let Self { claimed, randomizer, .. } = self;
        let collection = self.post.collection(way);
        let window = collection.schedule.window_of(epoch);
        let (mut reports, mut tally) = (Vec::new(), claimed.tally());
        for (place, (group, value)) in self.attack.users(world).enumerate() {
            let attacked = group >= 2;
            // The others draw the same in both worlds.
            let place = if attacked { ATTACKED + world as u64 } else { place as u64 };
            let rng = || generator(self.seed, unit(run, place));
            let mut device = Client::new(collection.clone())?;
            if self.planted {
                device = device.with_planted_bug((*randomizer).clone());
            }
            device.learn(keys, window)?;
            reports.push(device.report(value, epoch, &mut rng())?);
            // What is inside: the same randomness once more.
            let (mut memory, mut words) = (Vec::new(), Vec::new());
            randomizer.respond(value, epoch, &mut memory, &mut rng(), &mut words)?;
            claimed.absorb(&mut tally, &words);
            if attacked || world == 0 {
                noise[group] += self.attack.noise(group, &words);
            }
        }
        Ok(World { way, reports, tally })
    }
}

/// The number of a generator: that of somebody in a run.
fn unit(run: u64, place: u64) -> u64 {
    run << 40 | place
}

/// The places of the attacked user in the first world, which the second follows, and of the coin
/// that says which world is where. No crowd is so large.
const ATTACKED: u64 = 1 << 39;
const COIN: u64 = ATTACKED + 2;
