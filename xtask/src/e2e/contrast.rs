//! An enemy at 40 m has an outline of at least 3:1 before every surface, measured in screenshots of the page's own
//! drawing: walls of every colour, in the sun and out of it, and ground of every colour from above. Words on paper are
//! looked at by whoever opens pages with words.

use anyhow::{Context, Result, ensure};

use super::Stage;
use super::browser::Page;
use super::joins_and_walks::is_playing;
use super::picture::{Picture, contrast};

/// Words below this contrast with what is behind them, or smaller than this, are hard to read.
const WORDS_CONTRAST_MIN: f64 = 4.5;
const WORDS_PIXELS_MIN: f64 = 12.0;
/// Every text that is shown: its words, its contrast with the first opaque colour behind it, and its size.
const WORDS: &str = "(() => { \
    const part = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; \
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); \
    const colour = (text) => text.match(/[\\d.]+/g).map(Number); \
    const behind = (e) => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); \
        if (c.length < 4 || c[3] > 0.99) return c; } return [255, 255, 255]; }; \
    const found = []; \
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
    while (walk.nextNode()) { const words = walk.currentNode.data.trim(), e = walk.currentNode.parentElement; \
        if (!words || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || \
            e.closest('script, noscript, svg, datalist, option')) continue; \
        const style = getComputedStyle(e), [one, other] = [light(colour(style.color)), light(behind(e))]; \
        found.push([words.slice(0, 40), (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), \
            parseFloat(style.fontSize)]); } \
    return found; })()";

/// Looks at every text that a page shows.
pub(super) async fn ensure_readable(page: &Page<'_>, what: &str) -> Result<()> {
    let found = page.ask(WORDS).await?;
    let found = found.as_array().with_context(|| format!("{what} says nothing of its words"))?;
    ensure!(!found.is_empty(), "{what} shows no words");
    for text in found {
        let (words, contrast) = (&text[0], text[1].as_f64().unwrap_or(0.0));
        let size = text[2].as_f64().unwrap_or(0.0);
        ensure!(contrast >= WORDS_CONTRAST_MIN, "{what}: {words} has a contrast of {contrast:.2} to 1");
        ensure!(size >= WORDS_PIXELS_MIN, "{what}: {words} is {size} pixels high");
    }
    Ok(())
}

const JOIN_TICKS_MAX: u64 = 1_800;
const CONTRAST_MIN: f64 = 3.0;
/// Every colour that a map can be painted with: a texture, and the title of a map.
const SURFACES: [(&str, &str); 6] = [
    ("floor", "Halls"),
    ("wall", "Halls"),
    ("crate", "Halls"),
    ("pillar", "Corners"),
    ("pillar", "Halls"),
    ("pillar", "Field"),
];
/// A wall that the sun does not reach, one that it shines on, and the ground from above.
const VIEWS: [(u8, bool); 3] = [(0, false), (2, false), (0, true)];
/// The figure stands in the middle, and has about 15 dots to each side of it; this far away there is only surface.
const ASIDE: usize = 40;
/// Above and below its middle, rows that surely cross its body.
const ROWS: std::ops::Range<usize> = 352..366;

pub(super) async fn run(stage: &Stage) -> Result<()> {
    let server = stage.server(&[])?;
    let page = stage.page(&server, "").await?;
    page.until(&server, JOIN_TICKS_MAX, "playing", is_playing).await?;
    let mut worst = (f64::INFINITY, String::new());
    for (texture, title) in SURFACES {
        for (side, is_above) in VIEWS {
            let call = format!("window.sametick.exhibit('{texture}', '{title}', {side}, {is_above})");
            ensure!(page.ask(&call).await? == true, "{texture} cannot be shown");
            let drawn = page.status().await?["frames"].as_f64().unwrap_or(0.0) + 1.0;
            let is_drawn =
                |status: &serde_json::Value| status["frames"].as_f64().is_some_and(|now| now > drawn);
            page.until(&server, JOIN_TICKS_MAX, "drawn", is_drawn).await?;
            let name = format!("contrast-{texture}-{title}-{side}-{is_above}").to_lowercase();
            let found = outline(&page.picture(&name).await?);
            if found < worst.0 {
                worst = (found, name.clone());
            }
            ensure!(found >= CONTRAST_MIN, "{name}: an outline of only {found:.2} to 1");
        }
    }
    println!("e2e: contrast: at least {:.2} to 1 ({})", worst.0, worst.1);
    page.close().await
}

/// The contrast of the outline with the surface: of each row the darkest dot on either side, and of all those the
/// weakest.
fn outline(picture: &Picture) -> f64 {
    let middle = picture.width / 2;
    let of_row = |y: usize| {
        let half = |columns: std::ops::Range<usize>, behind: usize| {
            let behind = picture.dot(behind, y);
            columns.map(|x| contrast(picture.dot(x, y), behind)).fold(1.0, f64::max)
        };
        let left = half(middle - ASIDE / 2..middle, middle - ASIDE);
        let right = half(middle..middle + ASIDE / 2, middle + ASIDE);
        left.min(right)
    };
    ROWS.map(of_row).fold(f64::INFINITY, f64::min)
}
