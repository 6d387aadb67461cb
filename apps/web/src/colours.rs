//! The colours of the page and the arithmetic of contrast. Paper, ink, and two colours for people.

/// Red, green and blue from 0 to 1, as a screen has them.
pub(crate) type Colour = [f32; 3];

pub(crate) const PAPER: Colour = hex(0xF4F1EA);
pub(crate) const INK: Colour = hex(0x1C2430);
pub(crate) const SLATE: Colour = hex(0x566272);
/// You, and your team.
pub(crate) const OWN: Colour = hex(0x0B63B0);
/// The enemy.
pub(crate) const ENEMY: Colour = hex(0xC24100);
pub(crate) const FLOOR: Colour = hex(0xE9E4D8);
pub(crate) const WALL: Colour = hex(0xD9DEE2);
pub(crate) const SHADE: Colour = hex(0xBFC8D0);
pub(crate) const SKY: Colour = hex(0xC9D6DF);
pub(crate) const WARNING: Colour = hex(0xFFD85E);

/// From its usual six digits.
pub(crate) const fn hex(rgb: u32) -> Colour {
    [
        ((rgb >> 16) & 255) as f32 / 255.0,
        ((rgb >> 8) & 255) as f32 / 255.0,
        (rgb & 255) as f32 / 255.0,
    ]
}

/// `part` of the way from one to the other.
pub(crate) fn mix(from: Colour, to: Colour, part: f32) -> Colour {
    [0, 1, 2].map(|axis| from[axis] + (to[axis] - from[axis]) * part)
}

/// The one colour by which each map is known.
pub(crate) fn accent(map_title: &str) -> Colour {
    match map_title {
        "Corners" => hex(0xEBC765),
        "Field" => hex(0xC3CBA3),
        _ => hex(0xB4CFC9),
    }
}

/// What a surface of this name is painted with.
pub(crate) fn surface(texture: &str, accent: Colour) -> Colour {
    match texture {
        "floor" | "landing" | "step" | "ramp" | "ledge" | "lift" => FLOOR,
        "pillar" | "balcony" | "lintel" | "grass" | "hedge" | "door" => accent,
        "crate" | "bark" | "rock" | "roof" => SHADE,
        _ => WALL,
    }
}

/// The contrast of two colours as WCAG has it: from 1 to 21.
#[cfg(test)]
pub(crate) fn contrast(one: Colour, other: Colour) -> f32 {
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
fn luminance(colour: Colour) -> f32 {
    let linear =
        colour.map(
            |part| {
                if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
            },
        );
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_on_white_has_the_greatest_contrast() {
        assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-3);
        assert!((contrast(PAPER, PAPER) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn people_and_text_can_be_read_on_paper() {
        for colour in [INK, SLATE, OWN, ENEMY] {
            assert!(contrast(colour, PAPER) > 4.5, "{colour:?}");
        }
        assert!(contrast(INK, WARNING) > 4.5);
    }

    #[test]
    fn an_outline_stands_out_before_every_surface_even_half_fogged() {
        let textures = ["floor", "wall", "crate", "pillar"];
        for map in ["Corners", "Halls", "Field"] {
            for texture in textures {
                let surface = surface(texture, accent(map));
                assert!(contrast(mix(INK, PAPER, 0.2), surface) > 3.0, "{texture} in {map}");
            }
        }
    }
}
