//! The kinds of entities a game has, as one type; and their layouts, made once.

use crate::schema::fields::{Fields, Networked};
use crate::schema::record::{Layout, NotFinite, Precision, Row};
use crate::schema::table::{Head, Table};

/// All kinds of entities of a game: an enum with a variant for each. Made by [`entities!`](crate::entities!).
pub trait Entities: Clone {
    /// The number of its kind, from 0.
    fn kind(&self) -> u8;
    /// What its kinds are called, by number.
    fn kind_names() -> &'static [&'static str] {
        &[]
    }
    /// The default entity of a kind; none if there is no such kind.
    fn default_of(kind: u8) -> Option<Self>;
    /// A layout for each kind, in the order of their numbers.
    fn layouts(precision: Precision) -> Vec<Layout>;
    /// Walks the fields of whichever it is.
    fn fields<F: Fields>(&mut self, f: &mut F);
    /// Rounds it to its state precision.
    fn settle(&mut self) -> Result<(), NotFinite>;
    /// Places its record in a table.
    fn gather(&mut self, layouts: &[Layout], head: Head, table: &mut Table);
    /// Fills a row with its record.
    fn record(&mut self, layouts: &[Layout], row: &mut Row);
    /// Takes its fields from a record of its own kind.
    fn scatter(&mut self, layouts: &[Layout], row: &Row);
}

/// One kind among a game's entities. Made by [`entities!`](crate::entities!).
pub trait KindOf<E>: Networked + Into<E> {
    /// The entity as this kind, if it is.
    fn of(entity: &E) -> Option<&Self>;
    /// The same, to be changed.
    fn of_mut(entity: &mut E) -> Option<&mut Self>;
}

/// The layouts of a game's kinds at both precisions, made once.
#[derive(Clone, Debug)]
pub struct Layouts {
    /// As the rules need it.
    pub state: Vec<Layout>,
    /// As others see it.
    pub shown: Vec<Layout>,
}

impl Layouts {
    /// Those of a game's entities.
    pub fn of<E: Entities>() -> Self {
        Self { state: E::layouts(Precision::State), shown: E::layouts(Precision::Shown) }
    }

    /// Those of one precision.
    pub fn at(&self, precision: Precision) -> &[Layout] {
        match precision {
            Precision::State => &self.state,
            Precision::Shown => &self.shown,
        }
    }
}

/// Makes one type of all kinds of entities of a game. A new kind is its own file and its name here.
///
/// ```
/// use sametick::{Entities, Fields, Networked};
///
/// #[derive(Clone, Debug, Default)]
/// pub struct Runner { pub health: u8 }
/// #[derive(Clone, Debug, Default)]
/// pub struct Rocket { pub armed: bool }
///
/// impl Networked for Runner {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.int("health", &mut self.health, 0..=100); }
/// }
/// impl Networked for Rocket {
///     fn fields<F: Fields>(&mut self, f: &mut F) { f.bool("armed", &mut self.armed); }
/// }
///
/// sametick::entities! { pub enum Entity { Runner, Rocket } }
///
/// assert_eq!(Entity::from(Rocket { armed: true }).kind(), 1);
/// ```
#[macro_export]
macro_rules! entities {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident { $($kind:ident),+ $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        $visibility enum $name { $($kind($kind)),+ }

        impl $crate::Entities for $name {
            fn kind(&self) -> u8 {
                #[allow(non_camel_case_types, clippy::enum_variant_names)]
                enum Number { $($kind),+ }
                match self { $(Self::$kind(_) => Number::$kind as u8),+ }
            }

            fn kind_names() -> &'static [&'static str] {
                &[$(stringify!($kind)),+]
            }

            fn default_of(kind: u8) -> Option<Self> {
                let makers: &[fn() -> Self] = &[$(|| Self::$kind(<$kind>::default())),+];
                makers.get(usize::from(kind)).map(|make| make())
            }

            fn layouts(precision: $crate::Precision) -> Vec<$crate::Layout> {
                vec![$($crate::Layout::of::<$kind>(precision)),+]
            }

            fn fields<F: $crate::Fields>(&mut self, f: &mut F) {
                match self { $(Self::$kind(entity) => $crate::Networked::fields(entity, f)),+ }
            }

            fn settle(&mut self) -> Result<(), $crate::record::NotFinite> {
                match self { $(Self::$kind(entity) => $crate::settle(entity)),+ }
            }

            fn gather(
                &mut self,
                layouts: &[$crate::Layout],
                head: $crate::Head,
                table: &mut $crate::Table,
            ) {
                let layout = &layouts[usize::from($crate::Entities::kind(self))];
                match self { $(Self::$kind(entity) => table.gather(head, layout, entity)),+ }
            }

            fn record(&mut self, layouts: &[$crate::Layout], row: &mut $crate::record::Row) {
                let layout = &layouts[usize::from($crate::Entities::kind(self))];
                match self { $(Self::$kind(entity) => layout.gather(entity, row)),+ }
            }

            fn scatter(&mut self, layouts: &[$crate::Layout], row: &$crate::record::Row) {
                let layout = &layouts[usize::from($crate::Entities::kind(self))];
                match self { $(Self::$kind(entity) => layout.scatter(row, entity)),+ }
            }
        }

        $(
            impl From<$kind> for $name {
                fn from(entity: $kind) -> Self { Self::$kind(entity) }
            }

            impl $crate::KindOf<$name> for $kind {
                #[allow(unreachable_patterns)]
                fn of(entity: &$name) -> Option<&Self> {
                    match entity { $name::$kind(entity) => Some(entity), _ => None }
                }
                #[allow(unreachable_patterns)]
                fn of_mut(entity: &mut $name) -> Option<&mut Self> {
                    match entity { $name::$kind(entity) => Some(entity), _ => None }
                }
            }
        )+
    };
}
