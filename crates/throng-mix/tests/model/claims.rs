//! What holds in every schedule, and what comes about in some.

use crate::bounds::{Action, Bounds};
use crate::driver::Driver;
use crate::machines::EARLIEST;
use crate::world::{At, EPOCHS, Log, Party, Told, World, Wrong, has, set};
use stateright::{Model, Property, Representative};

impl Bounds {
    /// What is asked of an exploration.
    pub fn all_properties(&self) -> Vec<Property<Self>> {
        let mut properties = Self::claims();
        if !self.folded {
            let name = "a world that stands for another behaves alike";
            properties.push(Property::always(name, Self::is_alike));
        }
        // An exploration in which nothing happens proves nothing.
        properties.extend([
            Property::sometimes("all is settled in the end", Self::is_settled),
            Property::sometimes("a crowd is released", |_, world: &World| {
                world.parties[2].rows.iter().flatten().any(|row| row.at == At::Released)
            }),
            Property::sometimes("a batch is given up", |_, world: &World| {
                world.parties[0].rows.iter().flatten().any(|row| row.at == At::GivenUp)
            }),
            Property::sometimes("a word passes two mixes", |_, world: &World| {
                world.parties[2].rows.iter().flatten().any(|row| row.at == At::Short(0))
            }),
        ]);
        if self.chain.driver == Driver::Hasty {
            // The bound is reached.
            let name = "a batch is taken a minute early";
            properties.push(Property::sometimes(name, |model: &Self, world: &World| {
                let end = model.chain.machines.route.schedule.end_of(0);
                world.parties[1].rows[0].is_some() && model.chain.true_time(world) + EARLIEST == end
            }));
        }
        properties
    }

    /// What holds in every world.
    fn claims() -> Vec<Property<Self>> {
        let never = |name, condition| Property::<Self>::always(name, condition);
        vec![
            never("no key and no log outlives its window", |model, world| {
                let at_rest = |hop| model.chain.decide(world, hop).is_none();
                world.wrong != Some(Wrong::KeyOutlived)
                    && all(world, |hop, _| !at_rest(hop) || !model.chain.outlived(world, hop))
            }),
            never("no key is destroyed too soon", |_, world| {
                world.wrong != Some(Wrong::KeyTooSoon)
            }),
            never("a destroyed window has no keys", |_, world| {
                all(world, |_, party| party.keys & party.destroyed == 0)
            }),
            never("nothing is closed or taken early", |_, world| world.wrong != Some(Wrong::Early)),
            never("one batch leaves", |_, world| world.wrong != Some(Wrong::Twice)),
            never("what is acknowledged is kept", |model, world| {
                world.wrong != Some(Wrong::Lost) && all(world, |hop, party| model.keeps(hop, party))
            }),
            never("what is decided stays", |_, world| world.wrong != Some(Wrong::Reverted)),
            never("all that is done leads on", |_, world| world.wrong != Some(Wrong::Idle)),
            never("no slots overlap", |_, world| {
                let apart = |party: &Party| {
                    let rows = party.rows.iter().enumerate();
                    let rows =
                        rows.filter_map(|(first, row)| Some(set(first, (*row)?.last.into())));
                    rows.clone().map(u32::from).sum::<u32>()
                        == rows.map(u32::from).fold(0, |a, b| a | b)
                };
                world.parties.iter().all(apart)
            }),
            never("what is closed stays closed", |model, world| {
                let (timetable, machines) =
                    (model.chain.machines.timetable(0, &world.parties[0]), &model.chain.machines);
                (0..machines.route.epochs).all(|epoch| {
                    let closed = world.parties[0].row_of(epoch as usize).is_some();
                    let within = machines.route.schedule.start_of(epoch);
                    !closed || timetable.admit(epoch, within).is_err()
                })
            }),
            never("in the end all is settled", |model, world| {
                world.wrong.is_some() || !model.is_rest(world) || model.is_settled(world)
            }),
        ]
    }

    /// True if all is decided everywhere, and nothing is left of it.
    fn is_settled(&self, world: &World) -> bool {
        let (machines, now) = (&self.chain.machines, self.chain.true_time(world));
        let settled = |(hop, party): (usize, &Party)| {
            let known = machines.fates(hop, party, now).iter().all(|fates| fates.fate.is_final());
            let rows = || party.rows.iter().flatten();
            let told = rows().all(|row| row.word != Told::Waiting && row.shredded);
            let bare = party.keys | party.inputs | party.outputs == 0;
            known && told && bare && party.logs == [Log::None; EPOCHS]
        };
        self.is_last(world) && world.parties.iter().enumerate().all(settled)
    }

    /// True if time stands at its end and nobody has anything left to do.
    fn is_rest(&self, world: &World) -> bool {
        let mut actions = Vec::new();
        self.is_last(world) && {
            self.fair(world, &mut actions);
            actions.is_empty()
        }
    }

    /// True if the world that stands for this one has the same claims hold, can do the same, and
    /// what comes of it has the same world stand for it.
    fn is_alike(&self, world: &World) -> bool {
        let other = world.representative();
        let claims = Self::claims();
        let holds = |world: &World| -> Vec<bool> {
            claims.iter().map(|claim| (claim.condition)(self, world)).collect()
        };
        other == *world
            || holds(world) == holds(&other) && self.outcomes(world) == self.outcomes(&other)
    }

    /// All that can be done, with the worlds that stand for what comes of it.
    fn outcomes(&self, world: &World) -> Vec<(Action, Option<World>)> {
        let mut actions = Vec::new();
        self.actions(world, &mut actions);
        let outcome = |action| self.next_state(world, action).map(|next| next.representative());
        actions.into_iter().map(|action| (action, outcome(action))).collect()
    }

    /// True if everything that a party acknowledged is there, or was dropped for a reason.
    fn keeps(&self, hop: usize, party: &Party) -> bool {
        (0..self.chain.machines.route.epochs as usize).all(|epoch| {
            let opens = has(party.keys, self.chain.machines.window(epoch).start);
            match party.row_of(epoch) {
                None if hop == 0 => party.logs[epoch] == Log::None || opens,
                None => !has(party.signed, epoch),
                Some((_, row)) if !row.settled() && hop == 0 => {
                    party.logs[epoch] == Log::None || opens
                }
                Some((first, row)) => match row.at {
                    At::Received => opens && has(party.inputs, first),
                    At::Sealed => has(party.outputs, first),
                    At::GivenUp => has(party.left, first),
                    _ => true,
                },
            }
        })
    }
}

/// True if a claim holds for every party.
fn all(world: &World, claim: impl Fn(usize, &Party) -> bool) -> bool {
    world.parties.iter().enumerate().all(|(hop, party)| claim(hop, party))
}
