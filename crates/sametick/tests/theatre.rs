//! The theatre with another game than the arena: that of the hello example, which knows one axis and two walkers.
#![cfg(feature = "secure")]

use sametick::theatre::{Cargo, Hand, Play, Setup, Shape, ShapeKind, Wire, run};
use sametick::{Fields, Game, Model, Networked, NoEvent, PlayerId, Span, Turn, World};

#[derive(Clone, Debug, Default, PartialEq)]
struct Wish(i32);
impl Networked for Wish {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.int("east", &mut self.0, -1..=1);
    }
}

#[derive(Clone, Debug, Default)]
struct Walker(f32, u16); // Where it is, and whose.
impl Networked for Walker {
    fn fields<F: Fields>(&mut self, f: &mut F) {
        f.exact("x", &mut self.0).shown(-20.0..=20.0, 0.01);
        f.bits("who", &mut self.1, 16);
    }
}
sametick::entities! { enum Entity { Walker } }

struct Hello;
impl Game for Hello {
    type Entity = Entity;
    type Command = Wish;
    type Event = NoEvent;
    type Content = ();
    fn step(world: &mut World<Entity>, turn: &Turn<'_, Self>) {
        turn.joined().for_each(|player| _ = world.spawn_owned(player, Walker(0.0, player.0)));
        for (player, Wish(east)) in turn.commands() {
            let Some((_, Walker(x, _))) = world.owned_mut(player) else { continue };
            *x = (*x + *east as f32 * 15.0 * turn.dt()).clamp(-20.0, 20.0);
        }
    }
}

/// Both walk to and fro and turn every 1.6 s.
struct ToAndFro;
impl Play for ToAndFro {
    type Game = Hello;
    fn content(&self) {}
    fn command(&self, me: PlayerId, view: &World<Entity>, dt: f32) -> Wish {
        let turns = (view.tick().0 as f32 * dt / 1.6) as u32 + u32::from(me.0);
        Wish(if turns.is_multiple_of(2) { 1 } else { -1 })
    }
    fn shapes(&self, world: &World<Entity>, into: &mut Vec<Shape>) {
        into.extend(world.all::<Walker>().map(|(id, walker)| Shape {
            id,
            kind: ShapeKind::Person,
            owner: Some(PlayerId(walker.1)),
            place: [walker.0, 0.0, 0.0],
            size: [0.4, 1.8],
            facing: 0.0,
            pitch: 0.0,
            is_alive: true,
            is_unofficial: false,
        }));
    }
}

fn setup(model: Model, ping: u64) -> Setup {
    Setup {
        seed: 3,
        rates: model.rates,
        view: model.view,
        wires: vec![Wire::of(Span::millis(ping)), Wire::of(Span::millis(30))],
        begins: Span::seconds(3),
        length: Span::seconds(4),
        hand: Hand::default(),
        lockstep: None,
    }
}

#[test]
fn the_age_of_what_a_screen_shows_is_that_of_the_line_and_the_model() {
    for (model, behind) in [(Model::QUAKE, 0.0), (Model::HALF_LIFE, 100.0)] {
        for ping in [0, 100, 200] {
            let shown = run(&ToAndFro, &setup(model, ping));
            let ages = (0..shown.frames.len()).filter_map(|frame| shown.age(frame, 1, PlayerId(1)));
            let mut ages: Vec<f64> = ages.map(Span::as_millis_f64).collect();
            ages.sort_by(f64::total_cmp);
            let (median, least) = (ages[ages.len() / 2], ping as f64 / 2.0 + behind);
            // At most a snapshot more, for who shows the newest until the next one comes.
            assert!(
                (least - 5.0..least + 60.0).contains(&median),
                "{} {ping}: {median}",
                model.name
            );
        }
    }
}

#[test]
fn who_predicts_itself_is_ahead_of_the_server_and_who_does_not_is_behind_it() {
    let error = |model: Model| {
        let shown = run(&ToAndFro, &setup(model, 200));
        (30..200).map(|frame| shown.error(frame, 1, true)).fold(0.0, f32::max)
    };
    // 15 m/s over the way there, and over the way there and back.
    let (ahead, behind) = (error(Model::HALF_LIFE), error(Model::QUAKE));
    assert!((1.2..3.0).contains(&ahead) && behind > 1.0, "{ahead} m, {behind} m");
}

#[test]
fn every_packet_is_kept_with_its_way_and_lost_ones_without_an_end() {
    let mut setup = setup(Model::HALF_LIFE, 80);
    setup.wires[0].loss = 0.2;
    let shown = run(&ToAndFro, &setup);
    let (mut lost, mut told) = (0, 0);
    for packet in &shown.packets {
        let ping = setup.wires[usize::from(packet.player.0)].ping;
        match packet.arrived {
            Some(arrived) => assert_eq!(arrived - packet.sent, ping / 2, "{packet:?}"),
            None => lost += 1,
        }
        told += usize::from(matches!(packet.cargo, Cargo::Snapshot(_)) && packet.player.0 == 0);
    }
    assert!(lost > 40, "{lost} of {}", shown.packets.len());
    // Twenty a second for four seconds.
    assert!((75..=90).contains(&told), "{told} snapshots");
    assert!(shown.sums[0][0].lost > 0 && shown.sums[1][0].lost == 0);
}

#[test]
fn a_moment_is_found_again_by_its_time() {
    let shown = run(&ToAndFro, &setup(Model::HALF_LIFE, 80));
    for number in [0, 17, shown.frames.len() - 1] {
        assert_eq!(shown.frame_at(shown.frames[number].at), number);
    }
    assert_eq!(shown.frame_at(Span::MAX), shown.frames.len() - 1);
    assert!(shown.shapes(usize::MAX, 9).is_empty());
}
