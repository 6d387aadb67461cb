// Draws one moment of a run on canvases: panes, packets, plot. Keeps nothing between calls.
const PAPER = "#F4F1EA", INK = "#1C2430", SLATE = "#566272", RULE = "#D5D0C4", WARN = "#FFD85E";
const FLOOR = "#E9E4D8", WALL = "#DFE4E7", SHADE = "#BFC8D0", SHADE_SIDE = "#CBD3D9";
const COLOURS = ["#0B63B0", "#C24100"];
const LETTERS = ["● A", "◆ B"];
// One camera for all: from the south, a little from the west, well above.
const TURN = 0.14, LIFT = 0.95;
const [COS, SIN, UP, FLAT] = [Math.cos(TURN), Math.sin(TURN), Math.cos(LIFT), Math.sin(LIFT)];
// Walls are cut off at this height, so that who stands behind them is seen.
const CUT_METRES = 1.3;
const SHOT_SECONDS = 0.22, REWOUND_SECONDS = 0.5, WINDOW_SECONDS = 2, STRIP = 30;
const SCALES = { error: [0, 250, "cm"], margin: [-50, 100, "ms"], bytes: [0, 12000, "B/s"] };

function prepare(canvas) {
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
  const scale = Math.min(width / metres, height / (metres * 0.72));
  return {
    scale,
    at: (x, y, z = 0) => {
      const [east, north] = [x - cx, y - cy];
      return [width / 2 + (east * COS + north * SIN) * scale, height * 0.5 + ((east * SIN - north * COS) * FLAT - z * UP) * scale];
    },
  };
}

function path(context, points) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
}

function floor(context, view, run) {
  const [cx, cy, metres] = run.focus;
  context.strokeStyle = "#DAD4C6";
  context.lineWidth = 1;
  const reach = Math.ceil(metres);
  context.beginPath();
  for (let line = -reach; line <= reach; line += 2) {
    const [x, y] = [Math.round(cx / 2) * 2 + line, Math.round(cy / 2) * 2 + line];
    context.moveTo(...view.at(x, cy - reach)); context.lineTo(...view.at(x, cy + reach));
    context.moveTo(...view.at(cx - reach, y)); context.lineTo(...view.at(cx + reach, y));
  }
  context.stroke();
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
  const half = shape.radius * view.scale;
  const high = Math.max(half * 2.1, shape.height * UP * view.scale + half);
  context.beginPath();
  context.roundRect(x - half, y - high + half * 0.6, half * 2, high, half);
  return [x, y, half, high];
}

function person(context, view, shape, colour) {
  const [x, y] = view.at(shape.x, shape.y, shape.z);
  const half = shape.radius * view.scale;
  context.fillStyle = "#1C243022";
  context.beginPath();
  context.ellipse(x + half * 0.3, y, half * 1.25, half * 0.85, 0, 0, Math.PI * 2);
  context.fill();
  if (!shape.alive) {
    context.strokeStyle = colour;
    context.lineWidth = 3;
    context.beginPath();
    context.moveTo(x - half, y - half); context.lineTo(x + half, y + half);
    context.moveTo(x + half, y - half); context.lineTo(x - half, y + half);
    context.stroke();
    return;
  }
  const [, , , high] = capsule(context, view, shape);
  context.fillStyle = colour;
  context.fill();
  context.strokeStyle = INK;
  context.lineWidth = 2;
  context.stroke();
  const chest = shape.z + shape.height * 0.72;
  const [gx, gy] = view.at(shape.x + Math.cos(shape.facing) * 0.95, shape.y + Math.sin(shape.facing) * 0.95, chest);
  const [sx, sy] = view.at(shape.x, shape.y, chest);
  context.lineWidth = Math.max(2.5, half * 0.34);
  context.lineCap = "round";
  context.beginPath(); context.moveTo(sx, sy); context.lineTo(gx, gy); context.stroke();
  context.lineCap = "butt";
  context.fillStyle = colour;
  context.font = "600 13px system-ui, sans-serif";
  label(context, LETTERS[shape.owner] ?? String.fromCharCode(65 + shape.owner), x, y - high + half * 0.6 - 6, colour);
}

function label(context, text, x, y, colour) {
  context.textAlign = "center";
  context.lineWidth = 3.5;
  context.strokeStyle = PAPER;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
  context.textAlign = "left";
}

export function drawPane(canvas, run, number, index, t, outline) {
  const { context, width, height } = prepare(canvas);
  if (!width || !height) return;
  context.fillStyle = FLOOR;
  context.fillRect(0, 0, width, height);
  const view = camera(run, width, height);
  floor(context, view, run);
  const frame = run.frames[number];
  const shapes = frame.panes[index].shapes;
  const people = (list) => list.filter((shape) => shape.kind === 0);
  // A trail of where it was shown in the last half second, so that speed and jumps are seen.
  for (const shape of people(shapes)) {
    context.strokeStyle = COLOURS[shape.owner] ?? SLATE;
    context.globalAlpha = 0.35;
    context.lineWidth = 2;
    context.beginPath();
    for (let back = Math.max(0, number - 30), first = true; back <= number; back++) {
      const past = people(run.frames[back].panes[index].shapes).find((other) => other.owner === shape.owner);
      if (!past?.alive) { first = true; continue; }
      const [x, y] = view.at(past.x, past.y, past.z);
      if (first) context.moveTo(x, y); else context.lineTo(x, y);
      first = false;
    }
    context.stroke();
    context.globalAlpha = 1;
  }
  const things = [
    ...run.blocks.map((corners) => ({ north: (corners[1] + corners[4]) / 2, draw: () => block(context, view, corners) })),
    ...shapes.map((shape) => ({ north: shape.y, draw: () => thing(context, view, shape) })),
  ];
  things.sort((one, other) => other.north - one.north).forEach(({ draw }) => draw());
  if (index > 0 && outline === "server") truths(context, view, people(frame.panes[0].shapes), people(shapes));
  shots(context, view, run, index, t);
  if (run.silent && index === 1 && t >= run.silent[0] / 1000 && t <= run.silent[1] / 1000) {
    context.fillStyle = WARN;
    context.fillRect(8, 8, 150, 22);
    context.fillStyle = INK;
    context.font = "600 12px system-ui, sans-serif";
    context.fillText("▲ nothing reaches A", 16, 23);
  }
}

function thing(context, view, shape) {
  if (shape.kind === 0) return person(context, view, shape, COLOURS[shape.owner] ?? SLATE);
  const [x, y] = view.at(shape.x, shape.y, shape.z);
  const [gx, gy] = view.at(shape.x, shape.y, 0);
  context.fillStyle = "#1C243033";
  context.beginPath(); context.ellipse(gx, gy, 5, 3, 0, 0, Math.PI * 2); context.fill();
  context.beginPath();
  context.arc(x, y, shape.kind === 2 ? 14 : 5, 0, Math.PI * 2);
  context.fillStyle = shape.kind === 2 ? "#FFD85ECC" : COLOURS[shape.owner] ?? SLATE;
  context.fill();
  context.strokeStyle = INK;
  context.lineWidth = 1.5;
  context.stroke();
}

// Where the server has everyone now, and how far that is from what this screen believes.
function truths(context, view, truth, believed) {
  for (const real of truth) {
    const shown = believed.find((shape) => shape.owner === real.owner);
    if (!shown || !real.alive) continue;
    const metres = Math.hypot(real.x - shown.x, real.y - shown.y, real.z - shown.z);
    if (metres < 0.05) continue;
    const [x, y, half] = capsule(context, view, real);
    context.strokeStyle = INK;
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    const [sx, sy] = view.at(shown.x, shown.y, shown.z);
    context.beginPath(); context.moveTo(sx, sy); context.lineTo(x, y); context.stroke();
    context.font = "600 12px system-ui, sans-serif";
    if (metres > 0.1) label(context, `${Math.round(metres * 100)} cm`, (x + sx) / 2, Math.max(y, sy) + half + 12, INK);
  }
}

function shots(context, view, run, index, t) {
  for (const shot of run.shots) {
    const at = index === shot.by + 1 ? shot.shownAt : shot.at;
    const passed = t - at;
    const isFresh = passed >= 0 && passed < SHOT_SECONDS;
    if (isFresh && shot.line && (index === 0 || index === shot.by + 1)) {
      context.strokeStyle = COLOURS[shot.by];
      context.globalAlpha = 1 - passed / SHOT_SECONDS;
      context.lineWidth = 2;
      context.beginPath(); context.moveTo(...view.at(...shot.line[0])); context.lineTo(...view.at(...shot.line[1])); context.stroke();
      const [x, y] = view.at(...shot.line[0]);
      context.fillStyle = WARN;
      context.beginPath(); context.arc(x, y, 7, 0, Math.PI * 2); context.fill();
      context.globalAlpha = 1;
    }
    if (index === 0 && shot.past && passed >= 0 && passed < REWOUND_SECONDS) {
      const [x, y, z] = shot.past;
      const [px, py, half] = capsule(context, view, { x, y, z, radius: 0.4, height: 1.75 });
      context.strokeStyle = COLOURS[1 - shot.by] ?? INK;
      context.lineWidth = 2;
      context.setLineDash([1.5, 4]);
      context.stroke();
      context.setLineDash([]);
      context.font = "600 12px system-ui, sans-serif";
      label(context, `looked ${Math.round(shot.back)} ms back: ${shot.hit ? "hit" : shot.seen ? "refused" : "missed"}`, px, py + half + 14, INK);
    }
  }
}

const laneOf = (height) => [16, (height - STRIP) / 2, height - STRIP - 14];
const LEFT = 56;

// What a place on the wire's canvas means.
export function windowOf(canvas, run, t, x, y, isStrip = y > canvas.clientHeight - STRIP) {
  const wide = canvas.clientWidth - LEFT;
  const time = isStrip ? ((x - LEFT) / wide) * run.end : t + ((x - LEFT) / wide - 0.5) * WINDOW_SECONDS;
  return { isStrip, time, perPixel: WINDOW_SECONDS / wide };
}

function ends(packet, lanes, toX) {
  const [own, server] = [lanes[packet.player * 2], lanes[1]];
  const [from, to] = packet.up ? [own, server] : [server, own];
  if (packet.arrived !== null) return [toX(packet.sent), from, toX(packet.arrived), to];
  // A lost one ends half-way.
  return [toX(packet.sent), from, toX(packet.sent + 0.03), (from + to) / 2];
}

export function packetAt(canvas, run, t, x, y) {
  const wide = canvas.clientWidth - LEFT;
  const toX = (time) => LEFT + ((time - t) / WINDOW_SECONDS + 0.5) * wide;
  const lanes = laneOf(canvas.clientHeight);
  let best = null;
  for (const packet of run.packets) {
    if (packet.sent < t - 1.5 || packet.sent > t + 1) continue;
    const [ax, ay, bx, by] = ends(packet, lanes, toX);
    const share = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1)));
    const off = Math.hypot(ax + (bx - ax) * share - x, ay + (by - ay) * share - y);
    if (off < 5 && (!best || off < best.off)) best = { off, packet };
  }
  return best?.packet;
}

export function drawWire(canvas, run, t) {
  const { context, width, height } = prepare(canvas);
  if (!width || !height) return;
  const wide = width - LEFT;
  const toX = (time) => LEFT + ((time - t) / WINDOW_SECONDS + 0.5) * wide;
  const lanes = laneOf(height);
  context.save();
  context.beginPath(); context.rect(LEFT, 0, wide, height - STRIP); context.clip();
  context.strokeStyle = RULE;
  context.fillStyle = SLATE;
  context.lineWidth = 1;
  context.font = "12px system-ui, sans-serif";
  for (let mark = Math.ceil((t - 1) * 4) / 4; mark <= t + 1; mark += 0.25) {
    context.beginPath(); context.moveTo(toX(mark), lanes[0]); context.lineTo(toX(mark), lanes[2]); context.stroke();
  }
  if (run.silent) {
    context.fillStyle = "#FFD85E88";
    context.fillRect(toX(run.silent[0] / 1000), lanes[0], toX(run.silent[1] / 1000) - toX(run.silent[0] / 1000), lanes[1] - lanes[0]);
  }
  for (const packet of run.packets) {
    if (packet.sent < t - 1.6 || packet.sent > t + 1.1) continue;
    const [ax, ay, bx, by] = ends(packet, lanes, toX);
    context.strokeStyle = packet.up ? COLOURS[packet.player] : SLATE;
    context.lineWidth = packet.cargo === 2 ? 2 : 0.7;
    context.beginPath(); context.moveTo(ax, ay); context.lineTo(bx, by); context.stroke();
    if (packet.arrived === null) {
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(bx - 3, by - 3); context.lineTo(bx + 3, by + 3); context.moveTo(bx + 3, by - 3); context.lineTo(bx - 3, by + 3);
      context.stroke();
    }
  }
  context.strokeStyle = INK;
  context.lineWidth = 1.5;
  lanes.forEach((y) => { context.beginPath(); context.moveTo(LEFT, y); context.lineTo(width, y); context.stroke(); });
  if (run.blocks.length) sights(context, run, lanes, toX);
  for (const shot of run.shots) {
    const x = toX(shot.at);
    context.fillStyle = COLOURS[shot.by];
    context.beginPath(); context.arc(x, lanes[1], 5, 0, Math.PI * 2);
    if (shot.hit) context.fill();
    else { context.fillStyle = PAPER; context.fill(); context.strokeStyle = COLOURS[shot.by]; context.lineWidth = 2; context.stroke(); }
  }
  context.restore();
  ["● A", "Server", "◆ B"].forEach((name, index) => {
    context.fillStyle = [COLOURS[0], SLATE, COLOURS[1]][index];
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(name, 6, lanes[index] + 4);
  });
  context.fillStyle = INK;
  context.fillRect(toX(t) - 1, 4, 2, height - STRIP - 6);
  strip(context, run, t, width, height);
}

// Bars beside the lanes: while a player's own screen shows the other with nothing between.
function sights(context, run, lanes, toX) {
  [0, 1].forEach((player) => {
    const y = player ? lanes[2] + 4 : lanes[0] - 12;
    context.fillStyle = COLOURS[player];
    let begun = null;
    run.frames.forEach((frame, number) => {
      const sees = frame.panes[player + 1].sees && number < run.frames.length - 1;
      if (sees && begun === null) begun = frame.at;
      if (!sees && begun !== null) {
        context.globalAlpha = 0.85;
        context.fillRect(toX(begun), y, toX(frame.at) - toX(begun), 8);
        context.globalAlpha = 1;
        begun = null;
      }
    });
  });
}

function strip(context, run, t, width, height) {
  const wide = width - LEFT;
  const toX = (time) => LEFT + (time / run.end) * wide;
  const y = height - 12;
  context.fillStyle = RULE;
  context.fillRect(LEFT, y - 2, wide, 4);
  context.fillStyle = "#56627233";
  context.fillRect(toX(Math.max(0, t - 1)), y - 6, toX(Math.min(run.end, t + 1)) - toX(Math.max(0, t - 1)), 12);
  for (const flag of run.flags) {
    const x = toX(flag.at);
    context.fillStyle = context.strokeStyle = COLOURS[flag.who];
    context.lineWidth = 1.5;
    if (flag.kind === "stall") { context.fillStyle = WARN; context.fillRect(x, y - 5, toX(flag.until) - x, 10); continue; }
    if (flag.kind === "corrected") { context.fillRect(x - 0.75, y + 3, 1.5, 6); continue; }
    context.beginPath(); context.moveTo(x, y - 4); context.lineTo(x - 4, y - 11); context.lineTo(x + 4, y - 11); context.closePath();
    if (flag.kind === "hit") context.fill(); else context.stroke();
  }
  if (run.moment) {
    const x = toX(run.frames[run.moment.frame].at);
    context.fillStyle = INK;
    context.beginPath(); context.arc(x, y, 4.5, 0, Math.PI * 2); context.fill();
  }
  context.fillStyle = INK;
  context.fillRect(toX(t) - 1.5, y - 9, 3, 18);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = SLATE;
  context.fillText(`${t.toFixed(2)} s`, 6, y + 4);
}

export function drawPlot(canvas, run, previous, t, quantity) {
  const { context, width, height } = prepare(canvas);
  if (!width || !height) return;
  const wide = width - LEFT;
  const [least, most, unit] = SCALES[quantity];
  const toX = (time) => LEFT + ((time - t) / WINDOW_SECONDS + 0.5) * wide;
  const toY = (value) => height - 6 - ((Math.max(least, Math.min(most, value)) - least) / (most - least)) * (height - 14);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = SLATE;
  context.strokeStyle = RULE;
  context.lineWidth = 1;
  for (const share of [0, 0.5, 1]) {
    const value = least + (most - least) * share;
    context.beginPath(); context.moveTo(LEFT, toY(value)); context.lineTo(width, toY(value)); context.stroke();
    context.fillText(share === 1 ? `${value} ${unit}`.replace("12000 B/s", "12 kB/s") : `${value / (quantity === "bytes" ? 1000 : 1)}`, 4, toY(value) + (share === 1 ? 9 : share ? 4 : 0));
  }
  const valueOf = (of, frame, player) => {
    const pane = of.frames[frame].panes[player + 1];
    return { error: pane.error * 100, margin: pane.margin, bytes: of.bytes[player][frame] }[quantity];
  };
  const curve = (of, player, colour, dash, thick) => {
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.setLineDash(dash);
    context.beginPath();
    let first = true;
    of.frames.forEach((frame, number) => {
      if (frame.at < t - 1.02 || frame.at > t + 1.02) return;
      const value = valueOf(of, number, player);
      if (Number.isNaN(value)) return;
      if (first) context.moveTo(toX(frame.at), toY(value)); else context.lineTo(toX(frame.at), toY(value));
      first = false;
    });
    context.stroke();
    context.setLineDash([]);
  };
  context.save();
  context.beginPath(); context.rect(LEFT, 0, wide, height); context.clip();
  if (previous) {
    [0, 1].forEach((player) => curve(previous.run, player, "#9AA1A9", player ? [5, 4] : [], 1.5));
    context.fillStyle = "#6E757D";
    context.fillText(`grey: before, ${previous.name}`, LEFT + 6, 14);
  }
  curve(run, 0, COLOURS[0], [], 2);
  curve(run, 1, COLOURS[1], [6, 4], 2);
  context.restore();
  context.fillStyle = INK;
  context.fillRect(toX(t) - 1, 0, 2, height);
}
