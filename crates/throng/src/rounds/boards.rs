//! Boards on this machine, one after the other in time.

use crate::local::LocalServers;
use anyhow::Result;
use throng_collection::Board;
use throng_wire::{Chain, Schedule};

/// Starts mixes and an analyzer that run these boards. The first round of each comes after the last
/// of the one before.
pub async fn start<const N: usize>(
    mixes: u8,
    make: [impl FnOnce(Schedule, Chain) -> Board; N],
) -> Result<(LocalServers, [Board; N])> {
    let mut made = None;
    let servers = LocalServers::start(mixes, |schedule, chain| {
        let mut start = schedule.start;
        let boards = make.map(|make| {
            let board = make(Schedule { start, ..schedule }, chain.clone());
            start = board.schedule.deadline(board.rounds);
            board
        });
        made = Some(boards.clone());
        (Vec::new(), boards.to_vec())
    })
    .await?;
    Ok((servers, made.expect("boards that were made")))
}
