// Draws one moment of a run in a pane: who is where, where the server has them, what was shot. Keeps nothing between calls.
import { drawEyes } from "./theatre-eyes.js";

export const PAPER = "#F4F1EA", INK = "#1C2430", SLATE = "#566272", RULE = "#D5D0C4", WARN = "#FFD85E";
export const FLOOR = "#E9E4D8", WALL = "#E3E7EA", SHADE = "#BFC8D0", SHADE_SIDE = "#CFD6DB";
export const COLOURS = ["#0B63B0", "#C24100"];
export const LETTERS = ["● A", "◆ B"];
// One camera for all: from the south, a little from the west, well above; lower where a pane is flat.
const TURN = 0.14, LIFT = 0.95, LIFT_FLAT = 0.52, FLAT_PANE = 0.45;
// Walls are cut off at this height, so that who stands behind them is seen.
const CUT_METRES = 1.3;
// What is lower is ground: it hides nobody, and all else stands on it.
const GROUND_METRES = 0.5;
// How far the floor that one cannot see is drawn.
const FAR_METRES = 80;
const SHOT_SECONDS = 0.25, REWOUND_SECONDS = 0.6, TRAIL_FRAMES = 30;

export function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}

function camera(run, width, height) {
  const [cx, cy, metres] = run.focus;
  const lift = height / width < FLAT_PANE ? LIFT_FLAT : LIFT;
  const [cos, sin, up, flat] = [Math.cos(TURN), Math.sin(TURN), Math.cos(lift), Math.sin(lift)];
  const scale = Math.min(width / metres, (height - 24) / (metres * 0.66 * flat + 1.8 * up));
  return {
    scale, up, width, height, taken: [], names: [],
    at: (x, y, z = 0) => {
      const [east, north] = [x - cx, y - cy];
      return [width / 2 + (east * cos + north * sin) * scale, height / 2 + 12 + ((east * sin - north * cos) * flat - z * up) * scale];
    },
  };
}

export function path(context, points) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

export function label(context, text, x, y, colour, align = "center") {
  context.textAlign = align;
  context.lineWidth = 3.5;
  context.strokeStyle = PAPER;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
  context.textAlign = "left";
}

// The same where nothing else is written yet: further up or down otherwise.
export function labelFree(context, view, text, x, y, colour, step) {
  const half = context.measureText(text).width / 2 + 2;
  const middle = Math.max(half, Math.min(view.width - half, x));
  let at = y;
  for (let turn = 0; turn < 4 && view.taken.some((other) => Math.abs(other.x - middle) < other.half + half && Math.abs(other.y - at) < 13); turn++) at += step;
  view.taken.push({ x: middle, y: at, half });
  label(context, text, middle, at, colour);
}

export const people = (shapes) => shapes.filter((shape) => shape.kind === 0);
export const colourOf = (owner) => COLOURS[owner] ?? SLATE;
export const nameOf = (owner) => LETTERS[owner] ?? (owner < 0 ? "" : String.fromCharCode(65 + owner));

// A pane's reference for its dashed outlines: where the server has everyone, or where each has itself.
export function references(frame, index, outline) {
  if (outline === "server") return index === 0 ? [] : people(frame.panes[0].shapes);
  if (outline !== "own") return [];
  return [0, 1].filter((player) => player + 1 !== index)
    .flatMap((player) => people(frame.panes[player + 1].shapes).filter((shape) => shape.owner === player));
}

export function drawPane(canvas, run, number, index, t, { outline, eyes }) {
  const { context, width, height } = prepare(canvas);
  if (!width || !height) return;
  if (eyes && index > 0) drawEyes(context, run, number, index, t, outline, width, height);
  else drawAbove(context, run, number, index, t, outline, width, height);
  if (run.silent && index === 1 && t >= run.silent[0] / 1000 && t <= run.silent[1] / 1000) notice(context, "▲ nothing reaches A");
  const waited = index === 0 && run.waits.find(([from, until]) => t >= from && t < until);
  // From when to when, for whom, and who if it is only one.
  if (waited) notice(context, `▲ ${waited[3] < 0 ? "all wait" : `${nameOf(waited[3])} waits`} for ${nameOf(waited[2])}`);
  if (run.live && index === 1) notice(context, "▲ you are A");
}

function notice(context, text) {
  context.font = "600 12px system-ui, sans-serif";
  context.fillStyle = WARN;
  context.fillRect(8, 8, context.measureText(text).width + 16, 22);
  context.fillStyle = INK;
  context.fillText(text, 16, 23);
}

function drawAbove(context, run, number, index, t, outline, width, height) {
  context.fillStyle = FLOOR;
  context.fillRect(0, 0, width, height);
  const view = camera(run, width, height);
  floor(context, view, run);
  const frame = run.frames[number];
  // Who threw a thing is known to the server, if not here.
  const known = (shape) => (shape.kind > 0 && shape.owner < 0 ? { ...shape, owner: frame.panes[0].shapes.find((other) => other.id === shape.id)?.owner ?? -1 } : shape);
  const shapes = frame.panes[index].shapes.map(known);
  const isGround = (corners) => corners[5] < GROUND_METRES;
  run.blocks.filter(isGround).forEach((corners) => block(context, view, corners));
  const viewer = people(shapes).find((shape) => shape.owner === 0);
  if (viewer) unseen(context, view, run, viewer, people(shapes), index === 0);
  people(shapes).forEach((shape) => trail(context, view, run, number, index, shape));
  const things = [
    ...run.blocks.filter((corners) => !isGround(corners)).map((corners) => ({ north: (corners[1] + corners[4]) / 2, draw: () => block(context, view, corners) })),
    ...shapes.map((shape) => ({ north: shape.y, draw: () => thing(context, view, shape) })),
  ];
  things.sort((one, other) => other.north - one.north).forEach(({ draw }) => draw());
  // Over all else, whatever stands before it.
  context.font = "600 13px system-ui, sans-serif";
  view.names.forEach((name) => labelFree(context, view, ...name));
  truths(context, view, references(frame, index, outline), people(shapes));
  shots(context, view, run, frame, index, t);
}

function floor(context, view, run) {
  const [cx, cy, metres] = run.focus;
  context.strokeStyle = "#DAD4C6";
  context.lineWidth = 1;
  const reach = Math.ceil(metres);
  const gap = metres > 30 ? 4 : 2;
  context.beginPath();
  for (let line = -reach; line <= reach; line += gap) {
    const [x, y] = [Math.round(cx / gap) * gap + line, Math.round(cy / gap) * gap + line];
    context.moveTo(...view.at(x, cy - reach)); context.lineTo(...view.at(x, cy + reach));
    context.moveTo(...view.at(cx - reach, y)); context.lineTo(...view.at(cx + reach, y));
  }
  context.stroke();
}

// The floor that A cannot see from where this pane has A.
function unseen(context, view, run, { x, y }, others, isNamed) {
  context.fillStyle = "#5662722E";
  for (const [a, b, , c, d, high] of run.blocks) {
    if (high < GROUND_METRES) continue;
    const middle = Math.atan2((b + d) / 2 - y, (a + c) / 2 - x);
    const corners = [[a, b], [a, d], [c, b], [c, d]].map((corner) => {
      const angle = Math.atan2(corner[1] - y, corner[0] - x) - middle;
      return { corner, off: Math.atan2(Math.sin(angle), Math.cos(angle)) };
    }).sort((one, other) => one.off - other.off);
    const [first, last] = [corners[0].corner, corners[3].corner];
    const far = ([px, py]) => {
      const length = Math.hypot(px - x, py - y) || 1;
      return [x + ((px - x) / length) * FAR_METRES, y + ((py - y) / length) * FAR_METRES];
    };
    path(context, [first, far(first), far(last), last].map((point) => view.at(...point)));
    context.fill();
    if (!isNamed) continue;
    const reach = Math.hypot((a + c) / 2 - x, (b + d) / 2 - y) + 3;
    const turn = middle + (corners[0].off + corners[3].off) / 2;
    const [wx, wy] = view.at(x + Math.cos(turn) * reach, y + Math.sin(turn) * reach);
    context.font = "12px system-ui, sans-serif";
    const [lx, ly] = [Math.max(46, Math.min(view.width - 46, wx)), Math.max(40, Math.min(view.height - 12, wy))];
    const isFree = others.every((other) => { const [ox, oy] = view.at(other.x, other.y); return Math.abs(ox - lx) > 60 || Math.abs(oy - ly) > 40; });
    if (isFree) label(context, "hidden from A", lx, ly, SLATE);
    context.fillStyle = "#5662722E";
  }
}

// Where it was shown in the last half second, so that speed and jumps are seen.
function trail(context, view, run, number, index, shape) {
  context.strokeStyle = colourOf(shape.owner);
  context.globalAlpha = 0.35;
  context.lineWidth = 2;
  context.beginPath();
  for (let back = Math.max(0, number - TRAIL_FRAMES), first = true; back <= number; back++) {
    const past = run.frames[back].panes[index].shapes.find((other) => other.id === shape.id && other.kind === 0);
    if (!past?.alive) { first = true; continue; }
    const [x, y] = view.at(past.x, past.y, past.z);
    if (first) context.moveTo(x, y); else context.lineTo(x, y);
    first = false;
  }
  context.stroke();
  context.globalAlpha = 1;
}

function block(context, view, [a, b, , x, y, high]) {
  const z = Math.min(high, CUT_METRES);
  context.lineWidth = 1.2;
  context.strokeStyle = INK;
  const faces = [
    [SHADE, [[a, b, 0], [x, b, 0], [x, b, z], [a, b, z]]],
    [SHADE_SIDE, [[a, b, 0], [a, y, 0], [a, y, z], [a, b, z]]],
    [WALL, [[a, b, z], [x, b, z], [x, y, z], [a, y, z]]],
  ];
  for (const [fill, corners] of faces) {
    path(context, corners.map((corner) => view.at(...corner)));
    context.fillStyle = fill;
    context.fill();
    context.globalAlpha = 0.55;
    context.stroke();
    context.globalAlpha = 1;
  }
}

// The outline of somebody: a capsule on its feet.
function capsule(context, view, shape) {
  const [x, y] = view.at(shape.x, shape.y, shape.z);
  const half = Math.max(4, shape.radius * view.scale);
  const high = Math.max(half * 2.1, shape.height * view.up * view.scale + half);
  context.beginPath();
  context.roundRect(x - half, y - high + half * 0.6, half * 2, high, half);
  return { x, y, half, high, top: y - high + half * 0.6 };
}

// What only this screen hopes for is pale, and its edge dashed.
function fillAndEdge(context, colour, width, isUnofficial) {
  context.fillStyle = colour;
  context.globalAlpha = isUnofficial ? 0.35 : 1;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = width;
  context.strokeStyle = isUnofficial ? colour : INK;
  context.setLineDash(isUnofficial ? [4, 3] : []);
  context.stroke();
  context.setLineDash([]);
}

function person(context, view, shape) {
  const colour = colourOf(shape.owner);
  const [x, y] = view.at(shape.x, shape.y, shape.z);
  const half = Math.max(4, shape.radius * view.scale);
  context.fillStyle = "#1C243022";
  context.beginPath();
  context.ellipse(x + half * 0.3, y, half * 1.25, half * 0.85, 0, 0, Math.PI * 2);
  context.fill();
  context.strokeStyle = INK;
  if (!shape.alive) return fallen(context, view, shape, x, y, half, colour);
  const [chest, reach] = [shape.z + shape.height * 0.66, shape.radius + 0.55];
  const gun = () => {
    const [gx, gy] = view.at(shape.x + Math.cos(shape.facing) * reach, shape.y + Math.sin(shape.facing) * reach, chest);
    const [sx, sy] = view.at(shape.x, shape.y, chest);
    context.strokeStyle = INK;
    context.lineWidth = Math.max(2.5, half * 0.34);
    context.lineCap = "round";
    context.beginPath(); context.moveTo(sx, sy); context.lineTo(gx, gy); context.stroke();
    context.lineCap = "butt";
  };
  const isAway = Math.sin(shape.facing) > 0.2;
  if (isAway) gun();
  const { top } = capsule(context, view, shape);
  fillAndEdge(context, colour, 2, shape.unofficial);
  // A visor shows which way it looks.
  if (!isAway) {
    context.fillStyle = INK;
    context.beginPath();
    context.ellipse(x + Math.cos(shape.facing) * half * 0.45, top + half * 0.85, half * 0.5, half * 0.28, 0, 0, Math.PI * 2);
    context.fill();
    gun();
  }
  view.names.push([`${nameOf(shape.owner)}${shape.unofficial ? ", unofficial" : ""}`, x, Math.max(13, top - 5), colour, -14]);
}

function fallen(context, view, shape, x, y, half, colour) {
  context.globalAlpha = 0.5;
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x - half * 1.9, y - half * 0.8, half * 3.8, half * 1.7, half * 0.8);
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 1.5;
  context.stroke();
  context.strokeStyle = INK;
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(x - half, y - half * 0.7); context.lineTo(x + half, y + half * 0.8);
  context.moveTo(x + half, y - half * 0.7); context.lineTo(x - half, y + half * 0.8);
  context.stroke();
  view.names.push([`${nameOf(shape.owner)} is dead`, x, y + half + 15, colour, 14]);
}

function thing(context, view, shape) {
  if (shape.kind === 0) return person(context, view, shape);
  const [x, y] = view.at(shape.x, shape.y, shape.z);
  const [gx, gy] = view.at(shape.x, shape.y, 0);
  context.fillStyle = "#1C243033";
  context.beginPath(); context.ellipse(gx, gy, 5, 3, 0, 0, Math.PI * 2); context.fill();
  context.beginPath();
  context.arc(x, y, shape.kind === 2 ? 14 : 5, 0, Math.PI * 2);
  fillAndEdge(context, shape.kind === 2 ? "#FFD85ECC" : colourOf(shape.owner), 1.5, shape.unofficial);
}

// Where somebody is elsewhere, and how far that is from what this pane believes.
function truths(context, view, references, believed) {
  for (const real of references) {
    const shown = believed.find((shape) => shape.id === real.id);
    if (!shown?.alive) continue;
    const metres = Math.hypot(real.x - shown.x, real.y - shown.y, real.z - shown.z);
    if (metres < 0.05) continue;
    const { x, y, half } = capsule(context, view, real);
    context.strokeStyle = INK;
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    const [sx, sy] = view.at(shown.x, shown.y, shown.z);
    context.beginPath(); context.moveTo(sx, sy); context.lineTo(x, y); context.stroke();
    context.font = "600 12px system-ui, sans-serif";
    if (metres > 0.1) labelFree(context, view, `${Math.round(metres * 100)} cm`, (x + sx) / 2, Math.min(view.height - 4, Math.max(y, sy) + half + 12), INK, 13);
  }
}

export const verdictOf = (shot) => (shot.hit ? "hit" : shot.seen ? "refused" : "missed");

function shots(context, view, run, frame, index, t) {
  const newest = run.shots.findLast((shot) => shot.at <= t);
  for (const shot of run.shots) {
    const passed = t - (index === shot.by + 1 ? shot.shownAt : shot.at);
    if (passed >= 0 && passed < SHOT_SECONDS && shot.line && (index === 0 || index === shot.by + 1)) {
      context.strokeStyle = COLOURS[shot.by];
      context.globalAlpha = 1 - (passed / SHOT_SECONDS) * 0.7;
      context.lineWidth = 2;
      const [from, to] = shot.line.map((place) => view.at(...place));
      context.beginPath(); context.moveTo(...from); context.lineTo(...to); context.stroke();
      context.fillStyle = WARN;
      context.beginPath(); context.arc(...from, 7, 0, Math.PI * 2); context.fill();
      context.globalAlpha = 1;
    }
    if (index !== 0 || !shot.past || passed < 0 || passed >= REWOUND_SECONDS) continue;
    const target = people(frame.panes[0].shapes).find((shape) => shape.owner === 1 - shot.by);
    const [x, y, z] = shot.past;
    const pose = capsule(context, view, { x, y, z, radius: target?.radius ?? 0.4, height: target?.height ?? 1.75 });
    context.strokeStyle = COLOURS[1 - shot.by] ?? INK;
    context.lineWidth = 2;
    context.setLineDash([1.5, 4]);
    context.globalAlpha = shot === newest ? 1 : 0.35;
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
    if (shot !== newest) continue;
    context.font = "600 12px system-ui, sans-serif";
    // Beside it, where the target is not.
    const words = `looked ${Math.round(shot.back)} ms back: ${verdictOf(shot)}`;
    const isRight = target && view.at(target.x, target.y)[0] < pose.x;
    const [edge, room] = [pose.x + (isRight ? pose.half + 6 : -pose.half - 6), context.measureText(words).width];
    const fits = isRight ? edge + room < view.width : edge - room > 0;
    if (fits) label(context, words, edge, pose.y - pose.high / 2 + pose.half, INK, isRight ? "left" : "right");
    else label(context, words, Math.max(room / 2 + 4, Math.min(view.width - room / 2 - 4, pose.x)), pose.y + pose.half + 14, INK);
  }
}
