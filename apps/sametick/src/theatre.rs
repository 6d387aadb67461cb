//! Serves the theatre alone, for whoever wants to see what everyone sees without a match; or plays its scenes here and
//! tells what they came to, for comparing machines.

use crate::stop::Stop;
use crate::{address, page, print};
use clap::Args;
use sametick::theatre::{Recorded, Scene, Setup, run as play, run_locked};
use sametick_arena::theatre::{BadLine, Staged};
use sametick_hello::Greeting;
use sametick_islands::theatre::Bridge;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const EXAMPLES: &str = "Examples:
  sametick theatre                         the theatre on this machine
  sametick theatre --page 0.0.0.0:4090     for everyone on the network
  sametick theatre --write public          a folder for any host of static files
  sametick theatre --trace                 the hash of each scene, as the page must have it";

/// How often the end is looked for.
const NAP: Duration = Duration::from_millis(100);

/// Where it is served.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Serve it here, over TCP
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4090", value_parser = address::listening)]
    page: SocketAddr,
    /// Write it into a folder instead, which any host can serve as it is
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Play every scene here instead, and print the hash of all that everyone saw
    #[arg(long)]
    trace: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.trace {
        Staged::all().iter().try_for_each(|scene| tell(scene, play))?;
        tell(&BadLine::default(), play)?;
        tell(&Greeting, play)?;
        return tell(&Bridge::default(), run_locked);
    }
    if let Some(folder) = &options.write {
        let bytes = page::write_theatre(folder)?;
        return print(&format!("{} kB in {}\n", bytes / 1000, folder.display()));
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

/// What a scene comes to.
fn tell<S: Scene>(scene: &S, play: fn(&S, &Setup) -> Recorded) -> anyhow::Result<()> {
    let poster = scene.poster();
    let trace = play(scene, &poster.setup()).trace();
    print(&format!("{} {trace:016x}\n", poster.key))
}
