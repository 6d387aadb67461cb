//! The matches that one program hosts: each on a thread and with doors of its own, and all of them on a list that
//! their pages show.

use crate::address;
use crate::crew::Crew;
use crate::host::figures::Figures;
use crate::host::log::{Line, Log};
use crate::host::metrics::{self, Board};
use crate::host::{Host, Plan};
use crate::page::{self, Beside, Match};
use crate::recording_file;
use crate::rules::Rules;
use crate::stop::Stop;
use crate::tables;
use anyhow::bail;
use clap::Args;
use sametick::secure::TokenKey;
use sametick::{Span, Time};
use sametick_arena::Content;
use sametick_links::{Both, Link, address_of};
use std::net::SocketAddr;

/// How many matches there may be beside the first.
const ALSO_MAX: usize = 7;

/// What `play` and `serve` let whoever starts them say alike.
#[derive(Args, Clone, Debug)]
#[group(skip)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) rules: Rules,
    /// Maps of further matches, with the same rules and as many bots, each with doors at free ports: browsers choose
    #[arg(long, value_name = "MAP,...", value_delimiter = ',')]
    also: Vec<String>,
    #[command(flatten)]
    pub(crate) page: page::Options,
    #[command(flatten)]
    pub(crate) recording: recording_file::Wanted,
    #[command(flatten)]
    pub(crate) codec: tables::Options,
}

/// What they say for themselves.
pub(crate) struct Wanted {
    pub(crate) bots: u32,
    /// Without it, the usual one if it is free.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) key: Option<TokenKey>,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) lasts: Option<Span>,
    /// Has pages without being asked for them, and says how to join.
    pub(crate) invites: bool,
}

/// A match, and where it is found.
struct Open {
    host: Host,
    listening: Line<'static>,
}

/// Matches that are ready for players; the first is the one that is told of.
pub(crate) struct Matches {
    all: Vec<Open>,
}

impl Matches {
    pub(crate) fn open(options: &Options, wanted: &Wanted) -> anyhow::Result<Self> {
        if options.also.len() > ALSO_MAX {
            bail!("--also names {} maps: there is room for {ALSO_MAX}", options.also.len());
        }
        options.rules.seat(wanted.bots)?;
        let further = options.also.iter().map(|map| {
            let rules = Rules { map: map.clone(), ..options.rules.clone() };
            Options { rules, page: options.page.elsewhere(), ..options.clone() }
        });
        // All that takes time, and may fail, before anyone is let in.
        let wishes: Vec<Options> = [options.clone()].into_iter().chain(further).collect();
        let load = |options: &Options| options.rules.content();
        let contents: Vec<Content> = wishes.iter().map(load).collect::<anyhow::Result<_>>()?;
        contents.iter().for_each(|content| _ = content.map.visibility());
        let beside = Beside::default();
        let mut all = Vec::new();
        for (options, content) in wishes.iter().zip(contents) {
            let is_first = all.is_empty();
            let free = SocketAddr::new(wanted.address.unwrap_or(address::USUAL).ip(), 0);
            let address = if is_first { wanted.address } else { Some(free) };
            let wanted = Wanted { address, key: wanted.key.clone(), ..*wanted };
            all.push(options.open_one(content, &wanted, &beside, is_first)?);
        }
        Ok(Self { all })
    }

    /// The address to open in a browser on this machine, if there is a page.
    pub(crate) fn page(&self) -> Option<&str> {
        match &self.all.first()?.listening {
            Line::Listening { pages, .. } => pages.first().map(String::as_str),
            _ => None,
        }
    }

    /// Plays all of them until they end, whoever brings it about.
    pub(crate) fn run(self, stop: &Stop, log: &mut Log) {
        self.all.iter().for_each(|open| log.tell(Time::ZERO, &open.listening));
        let mut hosts = self.all.into_iter().map(|open| open.host);
        let first = hosts.next();
        std::thread::scope(|scope| {
            let quiet = |mut host: Host| scope.spawn(move || host.run(stop, &mut Log::silent()));
            let beside: Vec<_> = hosts.map(quiet).collect();
            let _ = first.map(|mut host| host.run(stop, log));
            let ended: Vec<_> = beside.into_iter().map(|thread| thread.join()).collect();
            if ended.iter().any(Result::is_err) {
                log.tell(Time::ZERO, &Line::Warning("a further match ended in a panic"));
            }
            let ended: Vec<Figures> = ended.into_iter().flatten().collect();
            ended
                .iter()
                .for_each(|figures| log.tell(Time::ZERO + figures.uptime, &Line::Stopped(figures)));
        });
    }
}

impl Options {
    fn open_one(
        &self,
        content: Content,
        wanted: &Wanted,
        beside: &Beside,
        is_first: bool,
    ) -> anyhow::Result<Open> {
        let rules = &self.rules;
        let rates = rules.rates()?;
        let link = address::bind_chosen(wanted.address, "--address")?;
        let bound = address_of(link.local());
        let board = Board::default();
        let figures_at = wanted.metrics.filter(|_| is_first);
        let figures_at = figures_at.map(|at| metrics::serve(at, board.clone())).transpose()?;
        let key = wanted.key.clone();
        let tables = self.codec.load()?;
        let game = Match {
            facts: rules.facts(&content, &rates),
            tables: tables.clone(),
            board: board.clone(),
            key: key.clone(),
            beside: beside.clone(),
            front: page::FRONT,
        };
        let web = self.page.open(wanted.invites, game)?;
        let pages = web.as_ref().map(page::addresses).unwrap_or_default();
        let mut what = rules.text(&content, &rates);
        if let Some(tables) = &tables {
            what += &format!(", compact with tables {:016x}", tables.hash());
            what += if self.codec.is_by_load() { ", or plain by its load" } else { "" };
            what += if self.codec.foresees() { ", own entities foreseen" } else { "" };
        }
        if wanted.invites {
            what += &format!("; join with `sametick bots --connect {}`", address::nearby(bound));
        }
        let crew = (wanted.bots > 0).then(|| rules.crew(&content, wanted.bots, bound, key.clone()));
        let crew = crew.map(|crew| Crew { tables: tables.clone(), ..crew });
        let recording = match is_first {
            true => self.recording.open(&rules.configuration())?,
            false => None,
        };
        let plan = Plan {
            content,
            rates,
            seed: rules.seed,
            players_max: rules.players_max as usize,
            key,
            link: Both::new(link, web),
            crew,
            lasts: wanted.lasts,
            recording,
            tables,
            by_load: self.codec.is_by_load(),
            foresees: self.codec.foresees(),
        };
        let metrics = figures_at.map(|at| at.to_string());
        let listening = Line::Listening { address: bound.to_string(), what, metrics, pages };
        Ok(Open { host: Host::new(plan, board)?, listening })
    }
}
