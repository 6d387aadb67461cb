//! The one walk: a value names its fields with their kinds, and visitors do the rest.
//!
//! Writing, reading, rounding and describing a value are four visitors of the same function, so
//! they cannot drift apart. They are monomorphised and inlined; the names cost nothing.

use crate::core::entity::EntityId;
use crate::core::list::{List, Text};
use crate::schema::kinds::{
    Angle, Bits, Characters, Choice, Direction, Exact, Exacts, Flag, Int, Integer, Kind,
    Octahedral, Quaternion, Ranged, Rangeds, Reference, SmallFloat,
};
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A value that crosses the network. Its default is what both ends assume before any is sent.
pub trait Networked: Clone + Default {
    /// Names every field, always the same ones in the same order.
    ///
    /// A value may convert on the way: walk a local and, if [`Fields::WRITES`], rebuild from it
    /// what is derived.
    ///
    /// ```
    /// use sametick::{Fields, Networked};
    ///
    /// /// Keeps its heading as a direction, sends it as an angle.
    /// #[derive(Clone, Default)]
    /// struct Turret { east: f32, north: f32 }
    ///
    /// impl Networked for Turret {
    ///     fn fields<F: Fields>(&mut self, f: &mut F) {
    ///         let mut heading = libm::atan2f(self.north, self.east);
    ///         f.angle("heading", &mut heading, 12);
    ///         if F::WRITES {
    ///             (self.north, self.east) = libm::sincosf(heading);
    ///         }
    ///     }
    /// }
    /// ```
    fn fields<F: Fields>(&mut self, f: &mut F);
}

/// How fields belong together, by the names they are met with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// See [`Fields::rate_of`].
    RateOf {
        /// The velocity.
        rate: &'static str,
        /// What it moves.
        of: &'static str,
    },
    /// See [`Fields::near`].
    Near {
        /// The place.
        place: &'static str,
        /// How near, in its own steps.
        steps: u32,
    },
    /// See [`Fields::leads`].
    Leads,
    /// See [`Fields::attached_to`].
    AttachedTo {
        /// The field that names whom to.
        anchor: &'static str,
    },
    /// See [`Fields::tag`].
    Tag {
        /// The field.
        name: &'static str,
    },
}

/// What walks a value. Games call the methods that name a kind; the library implements the rest.
pub trait Fields: Sized {
    /// Whether this walk changes the value it walks.
    const WRITES: bool;

    /// Meets one field at its state precision.
    fn meet<K: Kind>(&mut self, name: &'static str, value: &mut K::Value, kind: &K);

    /// Meets the same field again: how those see it to whom it is only shown.
    fn show<K: Kind, S: Kind<Value = K::Value>>(&mut self, value: &mut K::Value, kind: &S);

    /// Meets a short list, with the walk of one item.
    ///
    /// ```
    /// use sametick::{Fields, List, Networked};
    ///
    /// #[derive(Clone, Default)]
    /// struct Pack { rounds: List<u8, 4> }
    ///
    /// impl Networked for Pack {
    ///     fn fields<F: Fields>(&mut self, f: &mut F) {
    ///         // Its words are named `rounds.length`, `rounds.0.left`, `rounds.1.left` and so on.
    ///         f.list("rounds", &mut self.rounds, |f, left| {
    ///             f.int("left", left, 0..=30);
    ///         });
    ///     }
    /// }
    /// ```
    fn list<T: Copy + Default, const N: usize>(
        &mut self,
        name: &'static str,
        list: &mut List<T, N>,
        item: impl FnMut(&mut Self, &mut T),
    );

    /// Walks fields whose names begin with `name`.
    fn group(&mut self, name: &'static str, walk: impl FnOnce(&mut Self));

    /// Tells how fields belong together; only codecs that predict ask. Shorter with the methods below.
    #[inline(always)]
    fn relate(&mut self, _relation: Relation) {}

    /// The field `rate` says how fast the field `of` changes, word for word: a velocity and its place.
    ///
    /// ```
    /// use sametick::codec::compact::Hint;
    /// use sametick::{Fields, Layout, Networked, Precision};
    ///
    /// #[derive(Clone, Default)]
    /// struct Runner { x: f32, speed: f32 }
    ///
    /// impl Networked for Runner {
    ///     fn fields<F: Fields>(&mut self, f: &mut F) {
    ///         f.ranged("x", &mut self.x, -50.0..=50.0, 0.01);
    ///         f.ranged("speed", &mut self.speed, -10.0..=10.0, 0.1);
    ///         f.rate_of("speed", "x");
    ///     }
    /// }
    ///
    /// let layout = Layout::of::<Runner>(Precision::State);
    /// assert_eq!(layout.hints(), [Hint::RateOf { rate: 1, of: 0 }]);
    /// ```
    #[inline(always)]
    fn rate_of(&mut self, rate: &'static str, of: &'static str) {
        self.relate(Relation::RateOf { rate, of });
    }

    /// The three words of the field `place` are where this is; whoever is within so many of its steps
    /// is likely to move alike.
    #[inline(always)]
    fn near(&mut self, place: &'static str, steps: u32) {
        self.relate(Relation::Near { place, steps });
    }

    /// Others move with this one, as if attached to it: it is coded before them.
    #[inline(always)]
    fn leads(&mut self) {
        self.relate(Relation::Leads);
    }

    /// This one goes where the entity goes that the field `anchor` names: a flag with its carrier, a weapon with its
    /// hand. It is coded behind it, and what is told of its place, which [`near`](Fields::near) names, is only where it
    /// did not follow.
    ///
    /// ```
    /// use sametick::codec::compact::Hint;
    /// use sametick::{EntityId, Fields, Layout, Networked, Precision};
    ///
    /// #[derive(Clone, Default)]
    /// struct Flag { place: [f32; 3], carrier: Option<EntityId> }
    ///
    /// impl Networked for Flag {
    ///     fn fields<F: Fields>(&mut self, f: &mut F) {
    ///         f.exacts("place", &mut self.place).shown_each(-50.0..=50.0, 0.01);
    ///         f.entity("carrier", &mut self.carrier);
    ///         f.near("place", 200);
    ///         f.attached_to("carrier");
    ///     }
    /// }
    ///
    /// let layout = Layout::of::<Flag>(Precision::Shown);
    /// assert_eq!(layout.hints()[1], Hint::AttachedTo { word: 3 });
    /// ```
    #[inline(always)]
    fn attached_to(&mut self, anchor: &'static str) {
        self.relate(Relation::AttachedTo { anchor });
    }

    /// What the other fields do depends on what the field `name` is, such as a weapon or a state.
    #[inline(always)]
    fn tag(&mut self, name: &'static str) {
        self.relate(Relation::Tag { name });
    }

    /// A value within a value: its fields' names begin with `name`.
    #[inline(always)]
    fn value<T: Networked>(&mut self, name: &'static str, value: &mut T) {
        self.group(name, |f| value.fields(f));
    }

    /// A field of any kind; the methods below are shorter.
    #[inline(always)]
    fn field<'a, K: Kind>(
        &'a mut self,
        name: &'static str,
        value: &'a mut K::Value,
        kind: K,
    ) -> Field<'a, Self, K> {
        self.meet(name, value, &kind);
        Field { fields: self, value, kind: std::marker::PhantomData }
    }

    /// The low `bits` of an integer, the others are not kept.
    #[inline(always)]
    fn bits<'a, I: Integer>(
        &'a mut self,
        name: &'static str,
        value: &'a mut I,
        bits: u32,
    ) -> Field<'a, Self, Bits<I>> {
        self.field(name, value, Bits::new(bits))
    }

    /// An integer within `range`; beyond it, the nearest end.
    #[inline(always)]
    fn int<'a, I: Integer>(
        &'a mut self,
        name: &'static str,
        value: &'a mut I,
        range: RangeInclusive<I>,
    ) -> Field<'a, Self, Int<I>> {
        self.field(name, value, Int::new(range))
    }

    /// True or false.
    #[inline(always)]
    fn bool<'a>(&'a mut self, name: &'static str, value: &'a mut bool) -> Field<'a, Self, Flag> {
        self.field(name, value, Flag)
    }

    /// One of a closed set, such as the variants of an enum.
    #[inline(always)]
    fn choice<'a, T: Copy + PartialEq + Debug>(
        &'a mut self,
        name: &'static str,
        value: &'a mut T,
        choices: &'static [T],
    ) -> Field<'a, Self, Choice<T>> {
        self.field(name, value, Choice::new(choices))
    }

    /// A float, every bit of it: for all that the rules integrate.
    #[inline(always)]
    fn exact<'a>(&'a mut self, name: &'static str, value: &'a mut f32) -> Field<'a, Self, Exact> {
        self.field(name, value, Exact)
    }

    /// Up to four floats that belong together, every bit of them: a vector, a rotation.
    #[inline(always)]
    fn exacts<'a, const N: usize>(
        &'a mut self,
        name: &'static str,
        value: &'a mut [f32; N],
    ) -> Field<'a, Self, Exacts<N>> {
        self.field(name, value, Exacts)
    }

    /// A float of `exponent_bits` (2 to 8) and `mantissa_bits` (1 to 23), and a sign.
    #[inline(always)]
    fn float<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut f32,
        exponent_bits: u32,
        mantissa_bits: u32,
    ) -> Field<'a, Self, SmallFloat> {
        self.field(name, value, SmallFloat::new(exponent_bits, mantissa_bits))
    }

    /// A multiple of `step` within `range`; beyond it, the nearest end.
    #[inline(always)]
    fn ranged<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut f32,
        range: RangeInclusive<f32>,
        step: f32,
    ) -> Field<'a, Self, Ranged> {
        self.field(name, value, Ranged::new(range, step))
    }

    /// An angle in radians, of `bits` (2 to 20); it comes back from -π up to π.
    #[inline(always)]
    fn angle<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut f32,
        bits: u32,
    ) -> Field<'a, Self, Angle> {
        self.field(name, value, Angle::new(bits))
    }

    /// A direction with `bits` (2 to 16) an axis; what comes back is only nearly of length one.
    #[inline(always)]
    fn direction<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut [f32; 3],
        bits: u32,
    ) -> Field<'a, Self, Direction> {
        self.field(name, value, Direction::new(bits))
    }

    /// A unit direction in two coordinates of `bits` (2 to 16): finer than an axis each.
    #[inline(always)]
    fn octahedral<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut [f32; 3],
        bits: u32,
    ) -> Field<'a, Self, Octahedral> {
        self.field(name, value, Octahedral::new(bits))
    }

    /// A rotation (x, y, z, w) as its three smaller components of `bits` (3 to 15) each.
    #[inline(always)]
    fn quaternion<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut [f32; 4],
        bits: u32,
    ) -> Field<'a, Self, Quaternion> {
        self.field(name, value, Quaternion::new(bits))
    }

    /// Another entity, or nobody.
    #[inline(always)]
    fn entity<'a>(
        &'a mut self,
        name: &'static str,
        value: &'a mut Option<EntityId>,
    ) -> Field<'a, Self, Reference> {
        self.field(name, value, Reference)
    }

    /// A short text.
    #[inline(always)]
    fn text<'a, const N: usize>(
        &'a mut self,
        name: &'static str,
        value: &'a mut Text<N>,
    ) -> Field<'a, Self, Characters<N>> {
        self.field(name, value, Characters)
    }
}

/// A field just met. It may be told how it is shown to others; if not, they get its state.
#[derive(Debug)]
pub struct Field<'a, F: Fields, K: Kind> {
    fields: &'a mut F,
    value: &'a mut K::Value,
    kind: std::marker::PhantomData<K>,
}

impl<F: Fields, K: Kind> Field<'_, F, K> {
    /// Others see this field as `kind` tells, which may not take more words than the field has.
    ///
    /// ```
    /// use sametick::{Fields, Networked, kinds::Angle};
    ///
    /// #[derive(Clone, Default)]
    /// struct Head { yaw: f32 }
    ///
    /// impl Networked for Head {
    ///     fn fields<F: Fields>(&mut self, f: &mut F) {
    ///         f.exact("yaw", &mut self.yaw).shown_as(Angle::new(10));
    ///     }
    /// }
    /// ```
    #[inline(always)]
    pub fn shown_as<S: Kind<Value = K::Value>>(self, kind: S) {
        const { assert!(S::WORDS <= K::WORDS, "a shown kind has more words than its field") };
        self.fields.show::<K, S>(self.value, &kind);
    }
}

impl<F: Fields, const N: usize> Field<'_, F, Exacts<N>> {
    /// Others see of each number the nearest multiple of `step` within `range`.
    #[inline(always)]
    pub fn shown_each(self, range: RangeInclusive<f32>, step: f32) {
        self.shown_as(Rangeds::new(range, step));
    }
}

impl<F: Fields, K: Kind<Value = f32>> Field<'_, F, K> {
    /// Others see the nearest multiple of `step` within `range`.
    #[inline(always)]
    pub fn shown(self, range: RangeInclusive<f32>, step: f32) {
        self.shown_as(Ranged::new(range, step));
    }
}
