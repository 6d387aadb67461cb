//! A small contest for tests of rules: who is where, and what is asked for.

use sametick::{Alone, EntityId, PlayerId, World};
use sametick_islands::bot::Bot;
use sametick_islands::{
    Building, BuildingKind, Content, Denial, Entity, Errand, Islands, Link, Mark, Opening, Realm,
    Request, Squad, TICK, Unit, UnitKind, clock, judge,
};

pub(crate) struct Stage {
    pub(crate) game: Alone<Islands>,
    pub(crate) content: Content,
}

impl Stage {
    /// Two players who have just come.
    pub(crate) fn new(opening: Opening) -> Self {
        Self::with(Content::new(4, 2, opening))
    }

    pub(crate) fn with(content: Content) -> Self {
        let mut game = Alone::new(content.clone(), 1, TICK);
        (0..u16::from(content.players())).for_each(|player| game.join(PlayerId(player)));
        let mut stage = Self { game, content };
        stage.wait(2);
        stage
    }

    pub(crate) fn world(&self) -> &World<Entity> {
        self.game.world()
    }

    pub(crate) fn clock(&self) -> u32 {
        clock(self.world())
    }

    pub(crate) fn wait(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| self.game.step([]).expect("all numbers are finite"));
    }

    /// Asks for something; a refusal changes nothing.
    pub(crate) fn ask(&mut self, player: u16, request: &Request) -> Result<(), Denial> {
        let verdict = judge(self.world(), &self.content, PlayerId(player), request);
        let layouts = sametick::Layouts::of::<Entity>();
        let mut twin = Alone::<Islands>::new(self.content.clone(), 1, TICK);
        twin.set_world(self.world().clone());
        // With the same players, of whom nobody asks for anything.
        (0..u16::from(self.content.players())).for_each(|player| twin.join(PlayerId(player)));
        self.game.step([(PlayerId(player), request.clone())]).expect("all numbers are finite");
        twin.step([]).expect("all numbers are finite");
        let differences = self.world().differences(twin.world(), &layouts);
        assert_eq!(
            differences.is_empty(),
            verdict.is_err(),
            "{request:?}: {verdict:?}, {differences:?}"
        );
        verdict
    }

    pub(crate) fn units(&self, seat: u8, kind: UnitKind) -> Vec<(Mark, Unit)> {
        let units =
            self.world().all::<Unit>().filter(|(_, unit)| unit.seat == seat && unit.kind == kind);
        units.map(|(id, unit)| (Mark::to(id), *unit)).collect()
    }

    pub(crate) fn building(&self, seat: u8, kind: BuildingKind) -> (Mark, Building) {
        let mut all = self.world().all::<Building>();
        let found = all.find(|(_, building)| building.seat == seat && building.kind == kind);
        found.map(|(id, building)| (Mark::to(id), *building)).expect("it stands")
    }

    pub(crate) fn squad(&self, link: Link) -> Squad {
        let found = self.world().all::<Squad>().find(|(id, _)| Link::to(*id) == link);
        *found.expect("the squad is there").1
    }

    pub(crate) fn errand(&self, squad: Link) -> Errand {
        let mut errands = self.world().all::<Errand>().map(|(_, errand)| *errand);
        errands.find(|errand| errand.squad == squad).expect("every squad has one")
    }

    pub(crate) fn realm(&self, seat: u8) -> Realm {
        *self.world().all::<Realm>().find(|(_, realm)| realm.seat == seat).expect("it has come").1
    }

    pub(crate) fn name(&self, mark: Mark) -> EntityId {
        let mut names = self.world().entities().map(|(id, _)| id);
        names.find(|id| Mark::to(*id) == mark).expect("it is there")
    }

    pub(crate) fn mark(&self, link: Link) -> Mark {
        let mut names = self.world().entities().map(|(id, _)| id);
        names.find(|id| Link::to(*id) == link).map(Mark::to).expect("it is there")
    }
}

/// What bots ask for.
pub(crate) fn think(
    bots: &mut [Bot],
    world: &World<Entity>,
    content: &Content,
) -> Vec<(PlayerId, Request)> {
    let bots = bots.iter_mut().enumerate();
    bots.map(|(index, bot)| {
        (PlayerId(index as u16), bot.think(world, PlayerId(index as u16), content))
    })
    .collect()
}

pub(crate) fn bots(content: &Content, seed: u64) -> Vec<Bot> {
    (0..u64::from(content.players())).map(|player| Bot::new(seed ^ player)).collect()
}
