//! Serves the theatre alone, for whoever wants to see what everyone sees without a match; or plays its scenes here and
//! tells what they came to, for comparing machines.

use crate::stop::Stop;
use crate::{address, page, print};
use clap::Args;
use sametick::theatre::run as play;
use sametick_arena::theatre::Staged;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick theatre                         the theatre on this machine
  sametick theatre --page 0.0.0.0:4090     for everyone on the network
  sametick theatre --trace                 the hash of each scene, as the page must have it";

/// How often the end is looked for.
const NAP: Duration = Duration::from_millis(100);

/// Where it is served.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Serve it here, over TCP
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4090", value_parser = address::listening)]
    page: SocketAddr,
    /// Play every scene here instead, and print the hash of all that everyone saw
    #[arg(long)]
    trace: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.trace {
        for scene in Staged::all() {
            let trace = play(&scene, &scene.setup()).trace();
            print(&format!("{} {trace:016x}\n", scene.key))?;
        }
        return Ok(());
    }
    let link = page::alone(options.page)?;
    for place in page::addresses(&link) {
        print(&format!("{place}theatre.html\n"))?;
    }
    let stop = Stop::on_signals()?;
    while !stop.is_asked() {
        std::thread::sleep(NAP);
    }
    Ok(())
}
