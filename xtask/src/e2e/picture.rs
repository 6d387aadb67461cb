//! Screenshots as numbers: reads PNG as browsers write it, and measures contrast. Knows no test.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::ZlibDecoder;

/// The most dots that a picture may have.
const DOTS_MAX: usize = 1 << 24;

/// Red, green and blue.
pub(crate) type Dot = [u8; 3];

/// A picture, row by row from the top.
#[derive(PartialEq)]
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    dots: Vec<Dot>,
}

impl Picture {
    /// Reads eight bits a colour, not interlaced.
    pub(crate) fn read(png: &[u8]) -> Result<Self> {
        let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n").context("this is no PNG")?;
        let (mut size, mut channels, mut packed) = ([0; 2], 0, Vec::new());
        while let Some((head, after)) = rest.split_first_chunk::<8>() {
            let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let body = after.get(..length).context("the PNG is cut off")?;
            match &head[4..] {
                b"IHDR" => {
                    let number = |at: usize| body.get(at..at + 4).and_then(|b| b.try_into().ok());
                    size = [0, 4].map(|at| number(at).map_or(0, u32::from_be_bytes) as usize);
                    channels = match body.get(8..13) {
                        Some([8, 2, 0, 0, 0]) => 3,
                        Some([8, 6, 0, 0, 0]) => 4,
                        _ => bail!("the PNG is of another kind than browsers write"),
                    };
                }
                b"IDAT" => packed.extend_from_slice(body),
                _ => {}
            }
            rest = after.get(length + 4..).unwrap_or_default();
        }
        let [width, height] = size;
        ensure!(
            channels > 0 && (1..=DOTS_MAX).contains(&(width * height)),
            "the PNG is empty or huge"
        );
        let mut plain = Vec::new();
        let limit = (height * (width * channels + 1)) as u64;
        ZlibDecoder::new(&packed[..]).take(limit).read_to_end(&mut plain)?;
        ensure!(plain.len() as u64 == limit, "the PNG is cut off");
        let mut dots = Vec::with_capacity(width * height);
        let mut above = vec![0; width * channels];
        for line in plain.chunks(width * channels + 1) {
            let (filter, line) = (line[0], &line[1..]);
            let mut row = vec![0u8; line.len()];
            for at in 0..line.len() {
                let left = if at < channels { 0 } else { row[at - channels] };
                let corner = if at < channels { 0 } else { above[at - channels] };
                let guess = match filter {
                    0 => 0,
                    1 => left,
                    2 => above[at],
                    3 => ((u16::from(left) + u16::from(above[at])) / 2) as u8,
                    4 => nearest(left, above[at], corner),
                    _ => bail!("the PNG has an unknown filter"),
                };
                row[at] = line[at].wrapping_add(guess);
            }
            dots.extend(row.chunks(channels).map(|dot| [dot[0], dot[1], dot[2]]));
            above = row;
        }
        Ok(Self { width, height, dots })
    }

    /// The dot there.
    pub(crate) fn dot(&self, x: usize, y: usize) -> Dot {
        self.dots[y * self.width + x]
    }

    /// How many dots from a column on have about this colour.
    pub(crate) fn count(&self, from_column: usize, is_so: impl Fn(Dot) -> bool) -> usize {
        let here = (0..self.height).flat_map(|y| (from_column..self.width).map(move |x| (x, y)));
        here.filter(|(x, y)| is_so(self.dot(*x, *y))).count()
    }

    /// How many dots differ from those of another picture.
    pub(crate) fn differences(&self, other: &Self) -> usize {
        self.dots.iter().zip(&other.dots).filter(|(one, other)| one != other).count()
    }
}

fn nearest(left: u8, above: u8, corner: u8) -> u8 {
    let guess = i16::from(left) + i16::from(above) - i16::from(corner);
    let off = |dot: u8| (guess - i16::from(dot)).abs();
    match (off(left), off(above), off(corner)) {
        (a, b, c) if a <= b && a <= c => left,
        (_, b, c) if b <= c => above,
        _ => corner,
    }
}

/// Whether a dot is blue or vermilion as people are, lit or in shade, and nothing else on the page's right side is.
pub(crate) fn is_person([red, green, blue]: Dot) -> bool {
    let [red, green, blue] = [red, green, blue].map(i16::from);
    let is_vermilion = red - green > 60 && red - blue > 80;
    let is_blue = blue - red > 60 && blue - green > 25;
    is_vermilion || is_blue
}

/// The contrast of two colours as WCAG has it: from 1 to 21.
pub(crate) fn contrast(one: Dot, other: Dot) -> f64 {
    let (a, b) = (luminance(one), luminance(other));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(dot: Dot) -> f64 {
    let [red, green, blue] = dot.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write as _;

    #[test]
    fn a_picture_is_read_through_every_filter() {
        let rows: [&[u8]; 5] = [
            &[0, 10, 20, 30, 40, 50, 60],
            &[1, 10, 20, 30, 30, 30, 30],
            &[2, 0, 0, 0, 0, 0, 0],
            &[3, 5, 10, 15, 15, 15, 15],
            &[4, 0, 0, 0, 0, 0, 0],
        ];
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(&rows.concat()).unwrap();
        let packed = packed.finish().unwrap();
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |name: &[u8], body: &[u8]| {
            png.extend((body.len() as u32).to_be_bytes());
            png.extend([name, body, &[0; 4]].concat());
        };
        chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 5, 8, 2, 0, 0, 0]);
        chunk(b"IDAT", &packed);
        let picture = Picture::read(&png).unwrap();
        for y in 0..3 {
            assert_eq!((picture.dot(0, y), picture.dot(1, y)), ([10, 20, 30], [40, 50, 60]), "{y}");
        }
        assert_eq!((picture.dot(0, 3), picture.dot(1, 3)), ([10, 20, 30], [40, 50, 60]));
        assert!(Picture::read(&png[..60]).is_err());
        assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
    }
}
