// Draws packets and the plot of a run on one axis of time, and says what is under the pointer. Keeps nothing between calls.
import { COLOURS, INK, LETTERS, PAPER, RULE, SLATE, WARN, prepare } from "./theatre-draw.js";

const STRIP = 30, LEFT = 58, BAR = 13;
const LANE_A = BAR + 4;
const GREY = "#8A9199";
// Fixed, so that runs compare: least, most, unit, what it is.
const SCALES = {
  error: [0, 400, "cm", "how far from where the server has the other"],
  margin: [-50, 100, "ms", "how early commands are at the server"],
  bytes: [0, 12000, "B/s", "on the line, both ways"],
};

const laneOf = (height) => {
  const last = height - STRIP - BAR - 18;
  return [LANE_A, (LANE_A + last) / 2, last];
};
// Two seconds around the playhead; one where there is little room.
const windowSeconds = (width) => (width < 600 ? 1 : 2);
const axis = (width, t) => (time) => LEFT + ((time - t) / windowSeconds(width) + 0.5) * (width - LEFT);

// What a place on the wire's canvas means.
export function windowOf(canvas, run, t, x, y, isStrip = y > canvas.clientHeight - STRIP) {
  const [wide, seconds] = [canvas.clientWidth - LEFT, windowSeconds(canvas.clientWidth)];
  const time = isStrip ? ((x - LEFT) / (wide - 8)) * run.end : t + ((x - LEFT) / wide - 0.5) * seconds;
  return { isStrip, time, perPixel: seconds / wide };
}

function ends(packet, lanes, toX) {
  // Straight to the other, or to whoever is in the middle.
  const [own, server] = [lanes[packet.player * 2], packet.to < 0 ? lanes[1] : lanes[packet.to * 2]];
  const [from, to] = packet.up ? [own, server] : [server, own];
  if (packet.arrived !== null) return [toX(packet.sent), from, toX(packet.arrived), to];
  // A lost one ends half-way.
  return [toX(packet.sent), from, toX(packet.sent + 0.03), (from + to) / 2];
}

// The first of a list in order that is not before a moment.
function firstFrom(list, moment, timeOf) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timeOf(list[middle]) < moment) low = middle + 1; else high = middle;
  }
  return low;
}

// Those that can be on the wire now.
function near(run, t) {
  const [from, to] = [t - 1.7, t + 1.1].map((moment) => firstFrom(run.packets, moment, (packet) => packet.sent));
  return run.packets.slice(from, to).filter((packet) => packet.player < 2);
}

export function packetAt(canvas, run, t, x, y) {
  const [toX, lanes] = [axis(canvas.clientWidth, t), laneOf(canvas.clientHeight)];
  let best = null;
  for (const packet of near(run, t)) {
    const [ax, ay, bx, by] = ends(packet, lanes, toX);
    const share = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1)));
    // Of two that are as near, the heavier one.
    const off = Math.hypot(ax + (bx - ax) * share - x, ay + (by - ay) * share - y) - (packet.cargo === 2 ? 2 : 0);
    if (off < 5 && (!best || off < best.off)) best = { off, packet };
  }
  return best?.packet;
}

export function wordsOf(packet) {
  const what = ["upkeep", `commands ${packet.number}, to tick ${packet.tick}`, `snapshot ${packet.number}, tick ${packet.tick}`][packet.cargo];
  const way = packet.arrived === null ? "lost" : `${Math.round((packet.arrived - packet.sent) * 1000)} ms`;
  return `${what}, ${packet.bytes} bytes, ${way}`;
}

export function drawWire(canvas, run, t) {
  const { context, width, height } = prepare(canvas);
  if (!width || !height) return;
  const [toX, lanes] = [axis(width, t), laneOf(height)];
  context.save();
  context.beginPath(); context.rect(LEFT, 0, width - LEFT, height - STRIP); context.clip();
  seconds(context, t, toX, lanes);
  if (run.silent) {
    const [from, to] = run.silent.map((at) => toX(at / 1000));
    context.fillStyle = "#FFD85E88";
    context.fillRect(from, lanes[0], to - from, lanes[1] - lanes[0]);
  }
  const flying = [];
  for (const packet of near(run, t)) {
    const [ax, ay, bx, by] = ends(packet, lanes, toX);
    context.strokeStyle = packet.up ? COLOURS[packet.player] : SLATE;
    context.lineWidth = packet.cargo === 2 ? 2 : 0.7;
    context.beginPath(); context.moveTo(ax, ay); context.lineTo(bx, by); context.stroke();
    // What is sent while the reader plays may be under way yet.
    const isLost = packet.arrived === null && !(run.live && packet.sent > t - 0.5);
    if (isLost) cross(context, bx, by);
    else if (packet.arrived !== null && packet.cargo === 2) head(context, ax, ay, bx, by);
    if (packet.arrived !== null && packet.sent <= t && packet.arrived > t) {
      flying.push([packet, ay + ((by - ay) * (t - packet.sent)) / (packet.arrived - packet.sent)]);
    }
  }
  context.strokeStyle = INK;
  context.lineWidth = 1.5;
  lanes.forEach((y) => { context.beginPath(); context.moveTo(LEFT, y); context.lineTo(width, y); context.stroke(); });
  if (run.blocks.length) sights(context, run, lanes, toX);
  if (run.model === "rollback") loops(context, run, t, lanes, toX);
  for (const shot of run.shots) {
    context.fillStyle = shot.hit ? COLOURS[shot.by] : PAPER;
    context.strokeStyle = COLOURS[shot.by];
    context.lineWidth = 2;
    context.beginPath(); context.arc(toX(shot.at), lanes[1], 5, 0, Math.PI * 2); context.fill(); context.stroke();
  }
  context.fillStyle = INK;
  context.fillRect(toX(t) - 1, 0, 2, height - STRIP - 14);
  // Those under way now.
  for (const [packet, y] of flying) {
    context.fillStyle = packet.up ? COLOURS[packet.player] : SLATE;
    context.strokeStyle = PAPER;
    context.lineWidth = 1;
    context.beginPath(); context.arc(toX(t), y, packet.cargo === 2 ? 4.5 : 3, 0, Math.PI * 2); context.fill(); context.stroke();
  }
  context.restore();
  [LETTERS[0], run.lockstep ? "Others" : "Server", LETTERS[1]].forEach((name, index) => {
    context.fillStyle = [COLOURS[0], SLATE, COLOURS[1]][index];
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(name, 6, lanes[index] + 4);
  });
  strip(context, run, t, width, height);
}

function seconds(context, t, toX, lanes) {
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  for (let quarter = Math.ceil((t - 1) * 4); quarter <= (t + 1) * 4; quarter++) {
    const x = toX(quarter / 4);
    context.strokeStyle = RULE;
    context.lineWidth = 1;
    context.beginPath(); context.moveTo(x, lanes[0]); context.lineTo(x, lanes[2] + BAR + 4); context.stroke();
    context.fillStyle = SLATE;
    if (quarter % 2 === 0 && quarter >= 0) context.fillText(`${(quarter / 4).toFixed(1)} s`, x, lanes[2] + BAR + 15);
  }
  context.textAlign = "left";
}

function cross(context, x, y) {
  context.lineWidth = 1.7;
  context.beginPath();
  context.moveTo(x - 4, y - 4); context.lineTo(x + 4, y + 4); context.moveTo(x + 4, y - 4); context.lineTo(x - 4, y + 4);
  context.stroke();
}

function head(context, ax, ay, bx, by) {
  const length = Math.hypot(bx - ax, by - ay) || 1;
  const [dx, dy] = [(bx - ax) / length, (by - ay) / length];
  context.fillStyle = context.strokeStyle;
  context.beginPath();
  context.moveTo(bx, by);
  context.lineTo(bx - dx * 7 - dy * 3, by - dy * 7 + dx * 3);
  context.lineTo(bx - dx * 7 + dy * 3, by - dy * 7 - dx * 3);
  context.fill();
}

// From when till when a player's own screen shows the other with nothing between.
export function sightsOf(run, player) {
  const sights = [];
  let begun = null;
  run.frames.forEach((frame, number) => {
    const sees = frame.panes[player + 1].sees;
    if (sees && begun === null) begun = frame.at;
    if (begun !== null && (!sees || number === run.frames.length - 1)) {
      sights.push([begun, frame.at]);
      begun = null;
    }
  });
  return sights;
}

// Bars of them beside the lanes.
function sights(context, run, lanes, toX) {
  [0, 1].forEach((player) => {
    const y = player ? lanes[2] + 3 : 0;
    for (const [from, to] of run.sights[player]) {
      const [left, right] = [Math.max(LEFT, toX(from)), toX(to)];
      if (right <= left) continue;
      context.fillStyle = COLOURS[player];
      context.fillRect(left, y, right - left, BAR);
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = PAPER;
      if (right - left > 60) context.fillText(player ? "B sees A" : "A sees B", left + 6, y + 11);
    }
  });
}

// Where a guess was wrong and ticks were stepped again: a loop as wide as they are long. The widest in view is named.
function loops(context, run, t, lanes, toX) {
  const perTick = run.frames.length > 1 ? (run.frames.at(-1).at - run.frames[0].at) / (run.frames.length - 1) : 0;
  [1, 2].forEach((pane) => {
    const [y, away] = pane === 1 ? [lanes[0], -1] : [lanes[2], 1];
    let widest = null;
    for (let index = 1; index < run.frames.length; index++) {
      const frame = run.frames[index];
      if (Math.abs(frame.at - t) > 1.2) continue;
      const ticks = frame.panes[pane].again - run.frames[index - 1].panes[pane].again;
      if (ticks < 2) continue;
      const [right, left] = [toX(frame.at), toX(frame.at - ticks * perTick)];
      context.strokeStyle = COLOURS[pane - 1];
      context.lineWidth = 1.5;
      context.beginPath();
      context.ellipse((left + right) / 2, y, (right - left) / 2, 12, 0, 0, away * Math.PI, away < 0);
      context.stroke();
      if (!widest || ticks > widest.ticks) widest = { ticks, x: (left + right) / 2 };
    }
    if (widest) {
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = COLOURS[pane - 1];
      context.fillText(`${widest.ticks} ticks replayed`, widest.x - 40, y + (away < 0 ? -16 : 24));
    }
  });
}

// The whole scene, with its flags.
function strip(context, run, t, width, height) {
  const wide = width - LEFT - 8;
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
    context.fillStyle = INK;
    context.beginPath(); context.arc(toX(run.frames[run.moment.frame].at), y, 4.5, 0, Math.PI * 2); context.fill();
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
  const [least, most, unit, what] = SCALES[quantity];
  const toX = axis(width, t);
  const toY = (value) => height - 6 - ((Math.max(least, Math.min(most, value)) - least) / (most - least)) * (height - 14);
  context.font = "12px system-ui, sans-serif";
  context.strokeStyle = RULE;
  context.lineWidth = 1;
  for (const share of [0, 0.5, 1]) {
    const value = least + (most - least) * share;
    context.beginPath(); context.moveTo(LEFT, toY(value)); context.lineTo(width, toY(value)); context.stroke();
    const [number, name] = quantity === "bytes" ? [value / 1000, "kB/s"] : [value, unit];
    context.fillStyle = SLATE;
    context.fillText(share === 1 ? `${number} ${name}` : `${number}`, 6, toY(value) + (share === 1 ? 9 : share ? 4 : 0));
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
    for (let number = firstFrom(of.frames, t - 1.02, (frame) => frame.at); number < of.frames.length; number++) {
      const at = of.frames[number].at;
      if (at > t + 1.02) break;
      const value = valueOf(of, number, player);
      if (value === undefined || Number.isNaN(value)) continue;
      if (first) context.moveTo(toX(at), toY(value)); else context.lineTo(toX(at), toY(value));
      first = false;
    }
    context.stroke();
    context.setLineDash([]);
  };
  context.save();
  context.beginPath(); context.rect(LEFT, 0, width - LEFT, height); context.clip();
  if (previous) [0, 1].forEach((player) => curve(previous.run, player, GREY, player ? [5, 4] : [], 1.5));
  curve(run, 0, COLOURS[0], [], 2);
  curve(run, 1, COLOURS[1], [6, 4], 2);
  context.restore();
  const meaning = run.lockstep && quantity === "error" ? "how far from where all have the other" : what;
  const words = previous ? `grey: before, with ${previous.name}` : meaning;
  context.fillStyle = previous ? "#5F666E" : SLATE;
  context.fillText(words, LEFT + 6, 18);
  context.fillStyle = INK;
  context.fillRect(toX(t) - 1, 0, 2, height);
}
