//! The way in from the islands page: lets time pass, hands over what is seen, and asks for what a hand wants. What is
//! refused comes back in words; an empty answer is a yes.

use super::{Contest, tables, words};
use sametick::Span;
use sametick::eventlock::Denial as Refusal;
use sametick_islands::{BuildingKind, Cell, Denial, Mark, Opening, Request, UnitKind, Verb};
use wasm_bindgen::prelude::*;

/// A contest, for the page to draw.
#[wasm_bindgen]
pub struct Skirmish(Contest);

impl Skirmish {
    pub(super) fn of(contest: Contest) -> Self {
        Self(contest)
    }
}

#[wasm_bindgen]
impl Skirmish {
    /// The contest of a seed for so many players, with settlers or with war, over a line of this ping.
    #[wasm_bindgen(constructor)]
    pub fn new(seed: u32, players: u8, is_war: bool, ping_ms: u32) -> Skirmish {
        let opening = if is_war { Opening::War } else { Opening::Settlers };
        Self(Contest::new(seed.into(), players, opening, Span::millis(ping_ms.into())))
    }

    /// Goes on with a contest of a file; nothing if it cannot.
    pub fn load(file: &[u8], ping_ms: u32) -> Option<Skirmish> {
        Contest::load(file, Span::millis(ping_ms.into())).map(Self)
    }

    /// The contest for a file; empty if it is held elsewhere.
    pub fn save(&self) -> Vec<u8> {
        self.0.road().save().unwrap_or_default()
    }

    /// Lets time pass.
    pub fn advance(&mut self, milliseconds: f64) {
        self.0.advance(Span::from_millis_f64(milliseconds));
    }

    /// Lets so many ticks pass at once, for tests and pictures.
    pub fn skip(&mut self, ticks: u32) {
        self.0.skip(ticks);
    }

    /// Has a bot play for the hand, or gives the hand back.
    pub fn watch(&mut self, is_watched: bool) {
        self.0.road_mut().watch(is_watched);
    }

    /// How one came to the server, if it is elsewhere; else empty.
    pub fn road(&self) -> String {
        self.0.road().name().into()
    }

    /// How long an answer of the server takes, in milliseconds; negative if it was not measured.
    pub fn ping(&self) -> f64 {
        self.0.road().ping().map_or(-1.0, |ping| ping.as_millis_f64())
    }

    /// Why the way to the server is over; empty if it is not.
    pub fn ended(&self) -> String {
        self.0.road().end().unwrap_or_default().into()
    }

    /// What leads a new [`Guest`](super::Guest) to the same seat; empty if nothing does.
    pub fn ticket(&self) -> String {
        self.0.road().ticket().unwrap_or_default()
    }

    /// Makes the way to the server longer.
    pub fn delay(&mut self, ping_ms: u32) {
        self.0.road_mut().set_delay(Span::millis(ping_ms.into()));
    }

    /// Says goodbye to the server.
    pub fn leave(&mut self) {
        self.0.road_mut().leave();
    }

    /// The contest's clock in ticks, with a fraction.
    pub fn clock(&self) -> f64 {
        self.0.clock()
    }

    /// Cells along the map's side.
    pub fn side(&self) -> i32 {
        self.0.content().side()
    }

    /// Whether there is land, cell by cell.
    pub fn land(&self) -> Vec<u8> {
        let content = self.0.content();
        let cells = (0..content.side()).flat_map(|y| (0..content.side()).map(move |x| (x, y)));
        cells
            .map(|(x, y)| u8::from(Cell::new(x, y).is_some_and(|cell| content.is_land(cell))))
            .collect()
    }

    /// The springs' columns and rows.
    pub fn springs(&self) -> Vec<i32> {
        self.0.content().springs().iter().flat_map(|cell| [cell.x(), cell.y()]).collect()
    }

    /// The altars' columns and rows, by seat.
    pub fn homes(&self) -> Vec<i32> {
        self.0.content().homes().iter().flat_map(|home| [home.altar.x(), home.altar.y()]).collect()
    }

    /// All units that are seen.
    pub fn units(&self) -> Vec<f32> {
        self.0.units()
    }

    /// All buildings that are seen.
    pub fn buildings(&self) -> Vec<f32> {
        self.0.buildings()
    }

    /// Who shoots at whom.
    pub fn shots(&self) -> Vec<f32> {
        self.0.shots()
    }

    /// Which blocks are seen.
    pub fn sight(&self) -> Vec<u8> {
        self.0.sight()
    }

    /// What a squad has before it.
    pub fn way(&self, squad: u16) -> Vec<f32> {
        self.0.way(squad)
    }

    /// What was asked for and is not official yet.
    pub fn unofficial(&self) -> Vec<f32> {
        self.0.unofficial()
    }

    /// All else, as JSON.
    pub fn words(&self) -> String {
        self.0.words()
    }

    /// What everything costs, as JSON.
    pub fn tables() -> String {
        tables()
    }

    /// What the server has denied though it looked lawful here, in words; empty if nothing.
    pub fn denied(&mut self) -> String {
        said(self.0.take_denial().map_or(Ok(()), Err))
    }

    /// Units go to a place, fighting or not.
    pub fn go(&mut self, units: &[u16], x: i32, y: i32, fights: bool) -> String {
        let verb = if fights { Verb::Assault } else { Verb::Go };
        let Some(place) = Cell::new(x, y) else { return Denial::Unreachable.words().into() };
        said(self.0.ask_for(units, &Request { verb, place, ..Request::default() }))
    }

    /// Units attack something.
    pub fn attack(&mut self, units: &[u16], target: u16) -> String {
        let request = Request { verb: Verb::Attack, target: Mark(target), ..Request::default() };
        said(self.0.ask_for(units, &request))
    }

    /// Units stop.
    pub fn stop(&mut self, units: &[u16]) -> String {
        said(self.0.ask_for(units, &Request { verb: Verb::Stop, ..Request::default() }))
    }

    /// Workers gather near a place.
    pub fn gather(&mut self, workers: &[u16], x: i32, y: i32) -> String {
        let Some(place) = Cell::new(x, y) else { return Denial::NoSpring.words().into() };
        said(self.0.gather(workers, place))
    }

    /// A worker builds; a bridge leads somewhere and has a length.
    pub fn build(
        &mut self,
        worker: u16,
        kind: usize,
        x: i32,
        y: i32,
        direction: u8,
        span: u8,
    ) -> String {
        let (Some(place), Some(kind)) = (Cell::new(x, y), BuildingKind::ALL.get(kind)) else {
            return Denial::NotOnLand.words().into();
        };
        let request = Request { direction, span, ..Request::build(Mark(worker), *kind, place) };
        said(self.0.ask(request))
    }

    /// A building makes units.
    pub fn produce(&mut self, building: u16, kind: usize, count: u8) -> String {
        let Some(kind) = UnitKind::ALL.get(kind) else { return Denial::CannotMake.words().into() };
        said(self.0.ask(Request::produce(Mark(building), *kind, count)))
    }

    /// A building gives up what it makes, or itself.
    pub fn cancel(&mut self, building: u16) -> String {
        said(self.0.ask(Request {
            verb: Verb::Cancel,
            target: Mark(building),
            ..Request::default()
        }))
    }
}

fn said(verdict: Result<(), Refusal>) -> String {
    verdict.err().map_or_else(String::new, |refusal| words::of(refusal).into())
}
