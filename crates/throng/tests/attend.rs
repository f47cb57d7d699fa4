//! Taking part with the clock on the wall: three participants, each on its own, through servers
//! that keep the time themselves.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use throng_collection::Board;
use throng_mix::Limits;
use throng_mix::store::Store;
use throng_rounds::{
    Circuit, Committee, ComputationPlan, Error, Input, Method, Participant, Seat, attend,
};
use throng_server::{Clock, Listener, Parts, Role, Server};
use throng_wire::{Below, Chain, Identity, Party, Schedule};

/// A round takes the servers about a second; four leave time for a machine that is busy.
const ROUND: u64 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn three_participants_compute_while_the_clock_runs() {
    let [alice, bob, carol] = [1, 2, 3].map(|seed| Identity::from_seed(&[seed; 32]));
    let seats = [Seat(0), Seat(1), Seat(2)];
    let mut circuit = Circuit::new(3, Committee::new(seats.to_vec(), 1).unwrap());
    let (hers, his) = (circuit.bit(seats[0]), circuit.bit(seats[1]));
    let both = circuit.and(hers, his);
    let answer = circuit.reveal_bit(both, &seats[..2]);
    let roster = [&alice, &bob, &carol].map(Identity::public).to_vec();
    let plan =
        Arc::new(ComputationPlan::new(circuit, roster, Method::cards(128).unwrap()).unwrap());

    let data = tempfile::TempDir::new().unwrap();
    let mut listeners = Vec::new();
    for _ in 0..3 {
        listeners.push(Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap());
    }
    let identities = [11, 12, 13].map(|seed| Identity::from_seed(&[seed; 32]));
    let mut parties: Vec<Party> = listeners
        .iter()
        .zip(&identities)
        .map(|(listener, identity)| Party {
            name: "party".into(),
            url: format!("http://{}", listener.address().unwrap()),
            identity: identity.public(),
        })
        .collect();
    let analyzer = parties.pop().unwrap();
    let chain = Chain { mixes: parties, analyzer };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let schedule = |start| Schedule { start, every: ROUND, grace: 0, below: Below::Expire };
    let keys = plan.key_board(1, 3, schedule(now + 1), chain.clone());
    let talk = plan.talk_board(3, schedule(keys.schedule.deadline(1)), chain);

    let mut running = Vec::new();
    for (place, (listener, identity)) in listeners.into_iter().zip(identities).enumerate() {
        let parts = Parts {
            role: if place == 2 { Role::Analyzer } else { Role::Mix },
            identity,
            collections: Vec::new(),
            boards: vec![keys.clone(), talk.clone()],
            store: Store::on_disk(&data.path().join(place.to_string())).unwrap(),
            limits: Limits::default(),
            tls: None,
            authority: None,
            access: None,
        };
        running.push(Server::from_parts(parts, Clock::System).unwrap().start_on(listener).unwrap());
    }

    let take_part = |seat: Seat, identity: Identity, values: Vec<Input>| {
        let (plan, keys, talk) = (plan.clone(), keys.clone(), talk.clone());
        tokio::spawn(async move {
            let participant = Participant::new(&plan, seat, identity, &values).unwrap();
            attend(participant, &keys, &talk, &mut generator()).await
        })
    };
    let alice = take_part(Seat(0), alice, vec![Input::Bit(true)]);
    let bob = take_part(Seat(1), bob, vec![Input::Bit(true)]);
    let carol = take_part(Seat(2), carol.clone(), Vec::new());
    let outcomes = [alice.await, bob.await, carol.await].map(|done| done.unwrap().unwrap());
    assert_eq!(outcomes.each_ref().map(|seen| seen.bit(answer)), [Some(true), Some(true), None]);

    // Whoever comes now comes too late.
    let late = late(&plan, &keys, &talk).await;
    assert_eq!(late, Err(Error::Late { round: 0 }));
    for server in running {
        server.stop().await;
    }
}

async fn late(plan: &Arc<ComputationPlan>, keys: &Board, talk: &Board) -> Result<(), Error> {
    let carol = Participant::new(plan, Seat(2), Identity::from_seed(&[3; 32]), &[])?;
    attend(carol, keys, talk, &mut generator()).await.map(drop)
}

fn generator() -> chacha20::ChaCha12Rng {
    use chacha20::rand_core::SeedableRng;
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).unwrap();
    chacha20::ChaCha12Rng::from_seed(seed)
}
