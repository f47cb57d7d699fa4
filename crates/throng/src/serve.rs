//! `throng serve`: one party for real.

use crate::args::{Serve, ServeArgs};
use crate::shield::Shield;
use crate::stop::{Signals, Wish};
use anyhow::{Context, Result};
use throng_server::{Clock, Config, Role, Server, raise_open_files};
use tracing_subscriber::EnvFilter;

/// Serves until it is told to stop. SIGHUP has it read its configuration again.
pub fn run(party: &Serve) -> Result<()> {
    let (role, ServeArgs { config: file, log_json }) = match party {
        Serve::Mix(args) => (Role::Mix, args),
        Serve::Analyzer(args) => (Role::Analyzer, args),
    };
    log_to_stderr(*log_json);
    // Before any secret is read.
    Shield::raise().log();
    let advice = || {
        let file = file.display();
        format!("cannot start (throng doctor --config {file} --role {role} says more)")
    };
    raise_open_files();
    let config = Config::read(role, file).with_context(advice)?;
    let server = Server::open(&config, Clock::System).with_context(advice)?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let mut signals = Signals::listen()?;
        let mut running = server.start().await.with_context(advice)?;
        if !log_json {
            eprintln!("{role} listening on {}", running.address());
        }
        while signals.next().await == Wish::Reload {
            // The log says how it went, and a failure changes nothing.
            let _ = running.reload(file).await;
        }
        if !log_json {
            eprintln!("stopping: requests under way are finished first");
        }
        running.stop().await;
        Ok(())
    })
}

/// Logs everything of ours from `info` on, or what `RUST_LOG` says.
fn log_to_stderr(json: bool) {
    let filter = EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("warn,throng=info,throng_server=info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if json { log.json().init() } else { log.init() }
}
