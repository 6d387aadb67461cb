// Draws a player's pane from behind that player's own eyes. Keeps nothing between calls.
import { FLOOR, INK, PAPER, SHADE, SHADE_SIDE, WALL, WARN, COLOURS, colourOf, label, nameOf, path, people, references } from "./theatre-draw.js";

const NEAR_METRES = 0.15, EYE_SHARE = 0.92, HALF_FIELD = (80 / 360) * Math.PI, GRID_METRES = 2, GRID_REACH = 26;
const SHOT_SECONDS = 0.25;

// From metres to the screen: places in front of the eye, and how many dots a metre has there.
function lens(own, width, height) {
  const [cos, sin, up, flat] = [Math.cos(own.facing), Math.sin(own.facing), Math.sin(own.pitch), Math.cos(own.pitch)];
  const eye = [own.x, own.y, own.z + own.height * EYE_SHARE];
  const dots = Math.max(width, height) / 2 / Math.tan(HALF_FIELD);
  return {
    eye, dots, width, height,
    // To the right, upwards, forwards.
    turned: ([x, y, z]) => {
      const [dx, dy, dz] = [x - eye[0], y - eye[1], z - eye[2]];
      const ahead = dx * cos + dy * sin;
      return [dx * sin - dy * cos, dz * flat - ahead * up, ahead * flat + dz * up];
    },
    screen: ([right, above, ahead]) => [width / 2 + (right / ahead) * dots, height / 2 - (above / ahead) * dots],
    horizon: height / 2 + Math.tan(own.pitch) * dots,
  };
}

// What of a polygon is in front of the eye.
function clipped(points) {
  const kept = [];
  points.forEach((point, index) => {
    const next = points[(index + 1) % points.length];
    if (point[2] >= NEAR_METRES) kept.push(point);
    if ((point[2] >= NEAR_METRES) !== (next[2] >= NEAR_METRES)) {
      const share = (NEAR_METRES - point[2]) / (next[2] - point[2]);
      kept.push(point.map((value, axis) => value + (next[axis] - value) * share));
    }
  });
  return kept;
}

function face(context, view, corners, fill) {
  const points = clipped(corners.map(view.turned));
  if (points.length < 3) return;
  path(context, points.map(view.screen));
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = INK;
  context.lineWidth = 1.2;
  context.globalAlpha = 0.55;
  context.stroke();
  context.globalAlpha = 1;
}

function line(context, view, from, to) {
  const points = clipped([from, to].map(view.turned));
  if (points.length < 2) return;
  context.beginPath();
  context.moveTo(...view.screen(points[0])); context.lineTo(...view.screen(points[1]));
  context.stroke();
}

function ground(context, view, own) {
  const { width, height, horizon } = view;
  const sky = context.createLinearGradient(0, Math.min(0, horizon - height), 0, Math.max(1, horizon));
  sky.addColorStop(0, "#C9D6DF");
  sky.addColorStop(1, PAPER);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = FLOOR;
  context.fillRect(0, Math.max(0, horizon), width, height);
  context.strokeStyle = "#DAD4C6";
  context.lineWidth = 1;
  const [cx, cy] = [own.x, own.y].map((value) => Math.round(value / GRID_METRES) * GRID_METRES);
  for (let off = -GRID_REACH; off <= GRID_REACH; off += GRID_METRES) {
    line(context, view, [cx + off, cy - GRID_REACH, 0], [cx + off, cy + GRID_REACH, 0]);
    line(context, view, [cx - GRID_REACH, cy + off, 0], [cx + GRID_REACH, cy + off, 0]);
  }
}

function block(context, view, [a, b, c, x, y, z]) {
  const [ex, ey, ez] = view.eye;
  if (ey < b) face(context, view, [[a, b, c], [x, b, c], [x, b, z], [a, b, z]], SHADE);
  if (ey > y) face(context, view, [[a, y, c], [x, y, c], [x, y, z], [a, y, z]], SHADE);
  if (ex < a) face(context, view, [[a, b, c], [a, y, c], [a, y, z], [a, b, z]], SHADE_SIDE);
  if (ex > x) face(context, view, [[x, b, c], [x, y, c], [x, y, z], [x, b, z]], SHADE_SIDE);
  if (ez > z) face(context, view, [[a, b, z], [x, b, z], [x, y, z], [a, y, z]], WALL);
}

// Whether a block is nearer than somebody: a side of it lies between them, with the eye beyond.
function isBehind(view, [a, b, , x, y], shape) {
  const [ex, ey] = view.eye;
  const sides = [[shape.x <= a, ex <= a], [shape.x >= x, ex >= x], [shape.y <= b, ey <= b], [shape.y >= y, ey >= y]];
  const apart = sides.filter(([isOut]) => isOut);
  return apart.length > 0 && !apart.some(([, isSame]) => isSame);
}

function figure(view, shape) {
  const feet = view.turned([shape.x, shape.y, shape.z]);
  const head = view.turned([shape.x, shape.y, shape.z + shape.height]);
  if (feet[2] < NEAR_METRES || head[2] < NEAR_METRES) return null;
  const [x, bottom] = view.screen(feet);
  const top = view.screen(head)[1];
  return { x, bottom, top, half: Math.max(2, (shape.radius / feet[2]) * view.dots), ahead: feet[2] };
}

function outlineOf(context, { x, bottom, top, half }) {
  context.beginPath();
  context.roundRect(x - half, top, half * 2, Math.max(half * 2, bottom - top), half);
}

function body(context, view, shape) {
  const placed = figure(view, shape);
  if (!placed) return;
  const { x, bottom, top, half } = placed;
  const colour = colourOf(shape.owner);
  if (shape.kind !== 0) {
    context.beginPath();
    context.arc(x, (top + bottom) / 2, Math.max(2, half * (shape.kind === 2 ? 4 : 1)), 0, Math.PI * 2);
    context.fillStyle = shape.kind === 2 ? "#FFD85ECC" : colour;
  } else if (!shape.alive) {
    context.beginPath();
    context.ellipse(x, bottom - half * 0.3, half * 2.2, half * 0.7, 0, 0, Math.PI * 2);
    context.fillStyle = `${colour}99`;
  } else {
    outlineOf(context, placed);
    context.fillStyle = colour;
  }
  context.fill();
  context.strokeStyle = INK;
  context.lineWidth = 2;
  context.stroke();
  if (shape.kind !== 0) return;
  context.font = "600 13px system-ui, sans-serif";
  label(context, nameOf(shape.owner), x, Math.max(14, (shape.alive ? top : bottom - half * 2) - 5), colour);
}

export function drawEyes(context, run, number, index, t, outline, width, height) {
  const frame = run.frames[number];
  const shapes = frame.panes[index].shapes;
  const own = people(shapes).find((shape) => shape.owner === index - 1);
  if (!own) return;
  const view = lens(own, width, height);
  ground(context, view, own);
  const others = shapes.filter((shape) => shape.id !== own.id)
    .map((shape) => ({ shape, far: view.turned([shape.x, shape.y, shape.z])[2] })).sort((one, other) => other.far - one.far);
  const distance = ([a, b, , x, y]) => Math.hypot((a + x) / 2 - own.x, (b + y) / 2 - own.y);
  const blocks = [...run.blocks].sort((one, other) => distance(other) - distance(one));
  const hidden = ({ shape }) => blocks.some((corners) => isBehind(view, corners, shape));
  others.filter(hidden).forEach(({ shape }) => body(context, view, shape));
  blocks.forEach((corners) => block(context, view, corners));
  others.filter((other) => !hidden(other)).forEach(({ shape }) => body(context, view, shape));
  for (const real of references(frame, index, outline)) {
    const shown = people(shapes).find((shape) => shape.id === real.id);
    const metres = shown && shown.id !== own.id && real.alive ? Math.hypot(real.x - shown.x, real.y - shown.y, real.z - shown.z) : 0;
    const placed = metres > 0.05 && figure(view, real);
    if (!placed) continue;
    outlineOf(context, placed);
    context.strokeStyle = INK;
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    line(context, view, [shown.x, shown.y, shown.z], [real.x, real.y, real.z]);
    context.font = "600 12px system-ui, sans-serif";
    if (metres > 0.1) label(context, `${Math.round(metres * 100)} cm`, placed.x, Math.min(height - 4, placed.bottom + 14), INK);
  }
  const fired = run.shots.find((shot) => shot.by === index - 1 && t >= shot.shownAt && t < shot.shownAt + SHOT_SECONDS);
  if (fired) {
    context.fillStyle = WARN;
    context.globalAlpha = 1 - (t - fired.shownAt) / SHOT_SECONDS;
    context.beginPath(); context.arc(width * 0.62, height * 0.86, 26, 0, Math.PI * 2); context.fill();
    context.globalAlpha = 1;
  }
  if (!own.alive) {
    context.fillStyle = "#1C243099";
    context.fillRect(0, 0, width, height);
    context.font = "600 20px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillStyle = PAPER;
    context.fillText(`${nameOf(own.owner)} is dead`, width / 2, height / 2);
    context.textAlign = "left";
    return;
  }
  context.strokeStyle = INK;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    context.moveTo(width / 2 + dx * 4, height / 2 + dy * 4);
    context.lineTo(width / 2 + dx * 11, height / 2 + dy * 11);
  }
  context.stroke();
  context.fillStyle = COLOURS[index - 1];
  context.strokeStyle = INK;
  context.lineWidth = 2;
  path(context, [[width * 0.66, height], [width * 0.61, height * 0.86], [width * 0.635, height * 0.85], [width * 0.74, height]]);
  context.fill();
  context.stroke();
}
