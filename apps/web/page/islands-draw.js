// Draws the islands: sea, land and cliffs painted once, then bridges, buildings, units, shots and fog each frame.
// Knows what is handed to it, and nothing of the rules.

export const TEAMS = ["#0B63B0", "#C24100", "#0F7B6C", "#7A3E9D", "#A87400", "#B03060", "#5B6B1F", "#3B4654"];
export const LETTERS = "ABCDEFGH";
const LIGHTS = TEAMS.map((colour) => mixed(colour, "#FFFFFF", 0.45));
const DARKS = TEAMS.map((colour) => mixed(colour, "#101820", 0.4));
const INK = "#1C2430", PAPER = "#F4F1EA";
// What is seen obliquely is lower than it is wide.
export const SQUASH = 0.82;
// Of the painted map: pixels a cell, cells beyond its edge, and how high cliffs are.
const GRAIN = 14, MARGIN = 14, CLIFF = 0.62;
const BLOCK_CELLS = 4, BLOCKS = 32;
// How dark it is where nobody sees, of 255.
const VEIL = 112;
const WORKER = 0, RAIDER = 1, ARCHER = 2, BALLISTA = 3, KITE = 4;
const ALTAR = 0, WORKSHOP = 1, TOWER = 2, BRIDGE = 3;
const DIRECTIONS = [[1, 0], [0, 1], [-1, 0], [0, -1]];

export function mixed(from, to, part) {
  const [a, b] = [from, to].map((colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
  return `rgb(${a.map((value, index) => Math.round(value + (b[index] - value) * part)).join(",")})`;
}

// The land as a mask with round shores, by blurring cells and cutting at the middle.
function maskOf(map) {
  const size = (map.side + 2 * MARGIN) * GRAIN;
  const small = new OffscreenCanvas(map.side + 2 * MARGIN, map.side + 2 * MARGIN);
  const dots = small.getContext("2d");
  for (let y = 0; y < map.side; y++) {
    for (let x = 0; x < map.side; x++) if (map.land[y * map.side + x]) dots.fillRect(x + MARGIN, y + MARGIN, 1, 1);
  }
  const mask = new OffscreenCanvas(size, size);
  const context = mask.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingEnabled = false;
  context.filter = `blur(${GRAIN * 0.55}px)`;
  context.drawImage(small, 0, 0, size, size);
  const image = context.getImageData(0, 0, size, size);
  for (let at = 3; at < image.data.length; at += 4) {
    image.data[at] = Math.max(0, Math.min(255, (image.data[at] - 92) * 9));
  }
  context.filter = "none";
  context.putImageData(image, 0, 0);
  return mask;
}

function tinted(mask, colour) {
  const canvas = new OffscreenCanvas(mask.width, mask.height);
  const context = canvas.getContext("2d");
  context.drawImage(mask, 0, 0);
  context.globalCompositeOperation = "source-in";
  context.fillStyle = colour;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas;
}

// Sea, shadows, shallows, cliffs, ground: painted once, in the map's own plane already squashed.
export function paintMap(map) {
  const mask = maskOf(map);
  const width = mask.width, height = Math.round(mask.height * SQUASH);
  const canvas = new OffscreenCanvas(width, height + GRAIN);
  const context = canvas.getContext("2d");
  const sea = context.createRadialGradient(width / 2, height / 2, width * 0.1, width / 2, height / 2, height * 0.5);
  sea.addColorStop(0, "#B4CEDA");
  sea.addColorStop(1, "#8FAEBF");
  context.fillStyle = sea;
  context.fillRect(0, 0, width, height + GRAIN);
  waves(context, width, height);
  const draw = (image, down, filter, alpha = 1) => {
    context.filter = filter;
    context.globalAlpha = alpha;
    context.drawImage(image, 0, down, width, height);
    context.filter = "none";
    context.globalAlpha = 1;
  };
  const cliff = CLIFF * GRAIN;
  draw(tinted(mask, "#DCEBEC"), cliff, `blur(${GRAIN * 0.9}px)`, 0.9);
  draw(tinted(mask, "#29404F"), cliff + GRAIN * 0.9, `blur(${GRAIN * 0.8}px)`, 0.45);
  const [deep, stone] = [tinted(mask, "#8E8672"), tinted(mask, "#B7AE97")];
  for (let down = Math.round(cliff); down > 0; down--) draw(down > cliff * 0.55 ? deep : stone, down, "none");
  draw(tinted(mask, "#8A9368"), 0, "none");
  context.save();
  const ground = new OffscreenCanvas(mask.width, mask.height);
  paintGround(ground.getContext("2d"), mask, map);
  context.drawImage(ground, 0, 0, width, height);
  context.restore();
  return canvas;
}

function waves(context, width, height) {
  context.strokeStyle = "#FFFFFF";
  context.lineWidth = 1;
  let seed = 7;
  const chance = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let count = 0; count < width * height / 5200; count++) {
    const [x, y, length] = [chance() * width, chance() * height, 6 + chance() * 12];
    context.globalAlpha = 0.1 + chance() * 0.16;
    context.beginPath();
    context.moveTo(x, y);
    context.quadraticCurveTo(x + length / 2, y - 3, x + length, y);
    context.stroke();
  }
  context.globalAlpha = 1;
}

// Grass with a sandy rim and some tufts, clipped to the mask.
function paintGround(context, mask, map) {
  const size = mask.width;
  context.drawImage(tinted(mask, "#E3D9BD"), 0, 0);
  const inner = new OffscreenCanvas(size, size);
  const soft = inner.getContext("2d");
  soft.filter = `blur(${GRAIN * 0.45}px)`;
  soft.drawImage(tinted(mask, "#C6CBA0"), 0, 0);
  soft.filter = "none";
  soft.globalCompositeOperation = "destination-in";
  soft.drawImage(mask, 0, 0);
  context.globalAlpha = 0.95;
  context.drawImage(inner, 0, 0);
  context.globalAlpha = 1;
  context.globalCompositeOperation = "source-atop";
  let seed = 11;
  const chance = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let count = 0; count < map.side * map.side * 1.4; count++) {
    context.fillStyle = chance() < 0.5 ? "#B3BB8A" : "#D3D6AE";
    context.globalAlpha = 0.35 + chance() * 0.3;
    const [x, y, r] = [chance() * size, chance() * size, GRAIN * (0.08 + chance() * 0.2)];
    context.beginPath();
    context.ellipse(x, y, r * 1.6, r, 0, 0, 7);
    context.fill();
  }
  context.globalCompositeOperation = "source-over";
  context.globalAlpha = 1;
}

// One frame. `camera` has x and y in cells, and scale in pixels a cell.
export function drawFrame(context, camera, scene) {
  const { width, height } = context.canvas;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = "#8FAEBF";
  context.fillRect(0, 0, width, height);
  const s = camera.scale;
  const at = (x, y) => [(x - camera.x) * s + width / 2, (y - camera.y) * s * SQUASH + height / 2];
  const [left, top] = at(-MARGIN, -MARGIN);
  const span = (scene.map.side + 2 * MARGIN) * s;
  context.drawImage(scene.painted, left, top, span, span * SQUASH * (scene.painted.height / (scene.painted.width * SQUASH)));
  const sees = (x, y) => x > left - s && y > -4 * s && x < width + 2 * s && y < height + 4 * s;
  for (const [x, y] of scene.map.springs) drawSpring(context, at(x + 0.5, y + 0.5), s, scene.time);
  for (const bridge of scene.buildings) if (bridge.kind === BRIDGE) drawBridge(context, bridge, at, s);
  drawWays(context, scene, at, s);
  for (const unit of scene.units) if (scene.selected.has(unit.link)) drawRing(context, at(unit.x, unit.y), s, unit.kind);
  // From the far to the near, so that the near ones cover.
  const things = [
    ...scene.buildings.filter((one) => one.kind !== BRIDGE).map((one) => [one.y + 0.3, drawBuilding, one]),
    ...scene.units.filter((one) => one.kind !== KITE).map((one) => [one.y, drawUnit, one]),
  ].sort((one, other) => one[0] - other[0]);
  for (const [, draw, one] of things) {
    const place = at(one.x, one.y);
    if (sees(...place)) draw(context, one, place, s, scene);
  }
  drawShots(context, scene, at, s);
  for (const unit of scene.units) if (unit.kind === KITE) drawUnit(context, unit, at(unit.x, unit.y), s, scene);
  drawFog(context, scene, at, s);
  if (scene.ghost) drawGhost(context, scene.ghost, at, s);
  if (scene.box) drawBox(context, scene.box);
  for (const mark of scene.marks) drawMark(context, mark, at, s, scene.time);
}

function drawSpring(context, [x, y], s, time) {
  shadow(context, x, y + s * 0.1, s * 0.55);
  for (const [dx, dy, high, wide] of [[-0.24, 0.02, 0.62, 0.17], [0.22, 0.06, 0.5, 0.15], [0, 0.12, 0.86, 0.2]]) {
    const [cx, cy] = [x + dx * s, y + dy * s];
    shape(context, [[cx, cy - high * s], [cx + wide * s, cy - high * s * 0.45], [cx, cy + s * 0.06], [cx - wide * s, cy - high * s * 0.45]], "#4FBFB3", "#1F6F69", s);
    shape(context, [[cx, cy - high * s], [cx - wide * s, cy - high * s * 0.45], [cx, cy + s * 0.06]], "#9CE9E0");
  }
  context.globalAlpha = 0.35 + 0.25 * Math.sin(time * 2 + x);
  context.fillStyle = "#FFFFFF";
  context.beginPath();
  context.arc(x - s * 0.06, y - s * 0.5, Math.max(1, s * 0.05), 0, 7);
  context.fill();
  context.globalAlpha = 1;
}

function drawBridge(context, bridge, at, s) {
  const [dx, dy] = DIRECTIONS[bridge.direction];
  const first = [bridge.cellX + 0.5 - dx * 0.75, bridge.cellY + 0.5 - dy * 0.75];
  const last = [bridge.cellX + 0.5 + dx * (bridge.span - 0.25), bridge.cellY + 0.5 + dy * (bridge.span - 0.25)];
  const built = bridge.built, half = 0.34;
  const end = [first[0] + (last[0] - first[0]) * Math.max(built, 0.02), first[1] + (last[1] - first[1]) * Math.max(built, 0.02)];
  const corners = (from, to) => {
    const [nx, ny] = [Math.abs(dy) * half, Math.abs(dx) * half];
    return [at(from[0] - nx, from[1] - ny), at(to[0] - nx, to[1] - ny), at(to[0] + nx, to[1] + ny), at(from[0] + nx, from[1] + ny)];
  };
  if (built < 1) {
    context.setLineDash([s * 0.18, s * 0.14]);
    outline(context, corners(first, last), TEAMS[bridge.seat], Math.max(1, s * 0.05));
    context.setLineDash([]);
  }
  if (built <= 0) return;
  const deck = corners(first, end);
  context.globalAlpha = 0.35;
  shape(context, deck.map(([x, y]) => [x, y + s * 0.5]), "#29404F");
  context.globalAlpha = 1;
  shape(context, deck.map(([x, y]) => [x, y + s * 0.14]), "#7A6242");
  shape(context, deck, "#C9A873", "#6B5436", s);
  context.strokeStyle = "#9C7E52";
  context.lineWidth = Math.max(0.75, s * 0.03);
  const planks = Math.round((bridge.span + 0.5) * built * 3);
  for (let plank = 1; plank < planks; plank++) {
    const part = plank / planks;
    const [x, y] = [first[0] + (end[0] - first[0]) * part, first[1] + (end[1] - first[1]) * part];
    const [nx, ny] = [Math.abs(dy) * half, Math.abs(dx) * half];
    line(context, at(x - nx, y - ny), at(x + nx, y + ny));
  }
  context.strokeStyle = TEAMS[bridge.seat];
  context.lineWidth = Math.max(1, s * 0.06);
  line(context, deck[0], deck[1]);
  line(context, deck[3], deck[2]);
  if (bridge.health < 1) drawBar(context, at(bridge.x, bridge.y - 0.6), s, bridge.health, TEAMS[bridge.seat]);
}

function drawBuilding(context, one, [x, y], s, scene) {
  const selected = scene.selected.has(one.link);
  if (selected) drawRing(context, [x, y + s * 0.2], s * 1.9, ALTAR);
  const [team, light, dark] = [TEAMS[one.seat], LIGHTS[one.seat], DARKS[one.seat]];
  context.globalAlpha = one.built >= 1 ? 1 : 0.45 + 0.4 * one.built;
  shadow(context, x + s * 0.15, y + s * 0.25, s * (one.kind === ALTAR ? 1.25 : 0.95));
  if (one.kind === TOWER) {
    block(context, x, y + s * 0.25, s * 0.42, s * 1.25 * Math.max(one.built, 0.15), "#EFEADF", "#C9C2B2", s);
    block(context, x, y + s * 0.25 - s * 1.2 * Math.max(one.built, 0.15), s * 0.56, s * 0.28, light, team, s);
  } else if (one.kind === WORKSHOP) {
    block(context, x, y + s * 0.35, s * 0.86, s * 0.6 * Math.max(one.built, 0.15), "#F2EDE2", "#CBC4B4", s);
    const top = y + s * 0.35 - s * 0.6 * Math.max(one.built, 0.15);
    shape(context, [[x - s * 0.95, top + s * 0.1], [x, top - s * 0.62], [x, top + s * 0.5]], light, INK, s);
    shape(context, [[x + s * 0.95, top + s * 0.1], [x, top - s * 0.62], [x, top + s * 0.5]], team, INK, s);
    block(context, x + s * 0.5, top - s * 0.05, s * 0.13, s * 0.55, "#EFEADF", "#BDB5A4", s);
  } else {
    s *= 1.25;
    block(context, x, y + s * 0.55, s * 1.15, s * 0.26, "#EFEADF", "#C4BCAB", s);
    block(context, x, y + s * 0.3, s * 0.8, s * 0.3, "#F6F2E9", "#CFC8B8", s);
    block(context, x, y + s * 0.02, s * 0.46, s * 0.75, light, team, s);
    const glow = s * (0.34 + 0.04 * Math.sin(scene.time * 2.2));
    shape(context, [[x, y - s * 0.75 - glow * 1.4], [x + glow * 0.75, y - s * 0.78], [x, y - s * 0.78 + glow], [x - glow * 0.75, y - s * 0.78]], team, dark, s);
    context.fillStyle = PAPER;
    context.font = `700 ${Math.max(9, s * 0.46)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.fillText(LETTERS[one.seat], x, y + s * 0.02);
  }
  context.globalAlpha = 1;
  const high = one.kind === WORKSHOP ? 1.35 : 1.75;
  if (one.built < 1) drawBar(context, [x, y - s * high], s * 1.6, one.built, "#566272");
  else if (one.health < 0.995 || selected) drawBar(context, [x, y - s * high], s * 1.6, one.health, team);
}

// A box seen from above: its top, and the side that faces us.
function block(context, x, y, half, high, top, front, s) {
  const deep = half * SQUASH;
  shape(context, [[x - half, y - high], [x + half, y - high], [x + half, y + deep * 0.5], [x - half, y + deep * 0.5]], front, INK, s);
  shape(context, [[x - half, y - high - deep * 0.5], [x + half, y - high - deep * 0.5], [x + half, y - high + deep * 0.5], [x - half, y - high + deep * 0.5]], top, INK, s);
}

function drawUnit(context, unit, [x, y], s, scene) {
  const [team, light] = [TEAMS[unit.seat], LIGHTS[unit.seat]];
  const size = s * 0.3;
  const bob = unit.moving ? Math.abs(Math.sin(scene.time * 9 + unit.link)) * s * 0.08 : 0;
  const high = unit.kind === KITE ? s * 1.1 + Math.sin(scene.time * 2.4 + unit.link) * s * 0.08 : bob;
  context.globalAlpha = unit.kind === KITE ? 0.5 : 1;
  shadow(context, x + s * 0.05, y + s * 0.06, size * (unit.kind === BALLISTA ? 1.5 : 1.1));
  context.globalAlpha = 1;
  const top = y - high;
  if (unit.kind === WORKER) {
    disc(context, x, top - size * 0.45, size * 0.72, light, s);
    disc(context, x, top - size * 1.25, size * 0.46, "#F2DFC2", s);
    context.strokeStyle = INK;
    context.lineWidth = Math.max(1, s * 0.05);
    line(context, [x + size * 0.6, top - size * 1.3], [x + size * 1.1, top + size * 0.1]);
  } else if (unit.kind === RAIDER) {
    shape(context, [[x, top + size * 0.35], [x + size * 0.9, top - size * 0.4], [x + size * 0.55, top - size * 1.2], [x - size * 0.55, top - size * 1.2], [x - size * 0.9, top - size * 0.4]], team, INK, s);
    disc(context, x, top - size * 1.35, size * 0.48, "#F2DFC2", s);
    shape(context, [[x - size * 0.52, top - size * 1.4], [x + size * 0.52, top - size * 1.4], [x, top - size * 2.1]], team, INK, s);
  } else if (unit.kind === ARCHER) {
    shape(context, [[x, top - size * 1.5], [x + size * 0.78, top + size * 0.2], [x - size * 0.78, top + size * 0.2]], team, INK, s);
    disc(context, x, top - size * 1.45, size * 0.46, "#F2DFC2", s);
    context.strokeStyle = INK;
    context.lineWidth = Math.max(1, s * 0.05);
    context.beginPath();
    context.arc(x + size * 0.55, top - size * 0.65, size * 0.85, -1.25, 1.25);
    context.stroke();
  } else if (unit.kind === BALLISTA) {
    disc(context, x - size * 0.8, top + size * 0.1, size * 0.42, "#8B6E45", s);
    disc(context, x + size * 0.8, top + size * 0.1, size * 0.42, "#8B6E45", s);
    shape(context, [[x - size, top - size * 0.75], [x + size, top - size * 0.75], [x + size, top], [x - size, top]], team, INK, s);
    context.strokeStyle = INK;
    context.lineWidth = Math.max(1, s * 0.07);
    line(context, [x, top - size * 0.3], [x + size * 0.5, top - size * 1.8]);
    line(context, [x - size * 0.9, top - size * 1.25], [x + size * 1.2, top - size * 0.95]);
  } else {
    const flap = Math.sin(scene.time * 7 + unit.link) * size * 0.35;
    shape(context, [[x, top - size * 0.9], [x + size * 1.7, top - flap], [x, top + size * 0.15], [x - size * 1.7, top - flap]], team, INK, s);
    shape(context, [[x, top - size * 0.9], [x, top + size * 0.15], [x - size * 1.7, top - flap]], light);
    disc(context, x, top - size * 0.45, size * 0.3, "#F2DFC2", s);
  }
  const selected = scene.selected.has(unit.link);
  if (unit.health < 0.97 || selected && s > 18) drawBar(context, [x, top - size * 2.6], s * 0.62, unit.health, team);
}

function drawRing(context, [x, y], s, kind) {
  context.strokeStyle = "#FFFFFF";
  context.lineWidth = Math.max(1.5, s * 0.06);
  context.fillStyle = "#FFFFFF55";
  context.beginPath();
  context.ellipse(x, y, s * (kind === BALLISTA ? 0.52 : 0.42), s * 0.32, 0, 0, 7);
  context.fill();
  context.stroke();
}

function drawBar(context, [x, y], wide, part, colour) {
  const high = Math.max(3, wide * 0.12);
  context.fillStyle = "#1C2430CC";
  context.fillRect(x - wide / 2 - 1, y - 1, wide + 2, high + 2);
  context.fillStyle = "#F4F1EA";
  context.fillRect(x - wide / 2, y, wide, high);
  context.fillStyle = colour;
  context.fillRect(x - wide / 2, y, wide * Math.max(0, Math.min(1, part)), high);
}

function drawWays(context, scene, at, s) {
  const draw = (way, dash, colour) => {
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.lineWidth = Math.max(1.5, s * 0.07);
    context.beginPath();
    for (let index = 0; index < way.length; index += 2) {
      const [x, y] = at(way[index], way[index + 1]);
      if (index) context.lineTo(x, y);
      else context.moveTo(x, y);
    }
    context.stroke();
    context.setLineDash([]);
  };
  for (const way of scene.ways) {
    draw(way, [], "#FFFFFFAA");
    if (way.length < 2) continue;
    const [x, y] = at(way[way.length - 2], way[way.length - 1]);
    context.strokeStyle = "#FFFFFF";
    context.beginPath();
    context.ellipse(x, y, s * 0.3, s * 0.24, 0, 0, 7);
    context.stroke();
  }
  // What nobody has confirmed yet.
  for (const way of scene.unofficial) draw(way, [s * 0.25, s * 0.2], "#1C2430");
}

function drawShots(context, scene, at, s) {
  context.lineCap = "round";
  for (const shot of scene.shots) {
    const phase = (scene.time * 1.1 + shot.gun * 0.371) % 1;
    if (phase > 0.45) continue;
    const part = phase / 0.45;
    const [from, to] = [at(shot.fromX, shot.fromY - 0.3), at(shot.toX, shot.toY - 0.25)];
    const arc = (part) => [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part - Math.sin(part * Math.PI) * s * 0.5];
    context.strokeStyle = INK;
    context.lineWidth = Math.max(1.5, s * 0.07);
    line(context, arc(part), arc(Math.min(1, part + 0.12)));
    context.strokeStyle = LIGHTS[shot.seat];
    context.lineWidth = Math.max(0.75, s * 0.035);
    line(context, arc(part), arc(Math.min(1, part + 0.12)));
    if (part > 0.85) {
      context.globalAlpha = (1 - part) / 0.15;
      disc(context, to[0], to[1], s * 0.16, "#FFE9A8", 0);
      context.globalAlpha = 1;
    }
  }
  context.lineCap = "butt";
}

const veil = new OffscreenCanvas(BLOCKS, BLOCKS);

// A dark veil over what nobody of ours sees, soft at its edge.
function drawFog(context, scene, at, s) {
  const small = veil.getContext("2d");
  const image = small.createImageData(BLOCKS, BLOCKS);
  for (let index = 0; index < scene.veil.length; index++) {
    // At the map's edge it is dark for all, and softly so.
    const [x, y] = [index % BLOCKS, Math.floor(index / BLOCKS)];
    const dark = x % (BLOCKS - 1) && y % (BLOCKS - 1) ? scene.veil[index] : 1;
    image.data.set([30, 44, 58, VEIL * dark], index * 4);
  }
  small.putImageData(image, 0, 0);
  const [left, top] = at(0, 0);
  const span = BLOCKS * BLOCK_CELLS * s;
  context.imageSmoothingEnabled = true;
  context.drawImage(veil, left, top, span, span * SQUASH);
  // Beyond the map nobody sees anything.
  const { width, height } = context.canvas, [right, bottom] = [left + span, top + span * SQUASH];
  context.fillStyle = `rgba(30, 44, 58, ${VEIL / 255})`;
  for (const [x0, y0, x1, y1] of [[0, 0, width, top], [0, bottom, width, height], [0, top, left, bottom], [right, top, width, bottom]]) {
    if (x1 > x0 && y1 > y0) context.fillRect(x0, y0, x1 - x0, y1 - y0);
  }
}

function drawGhost(context, ghost, at, s) {
  context.globalAlpha = 0.75;
  const colour = ghost.lawful ? "#0B63B0" : "#8A2A12";
  for (const [x, y] of ghost.cells) {
    const corners = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
    context.globalAlpha = 0.4;
    shape(context, corners, colour);
    context.globalAlpha = 0.95;
    outline(context, corners, ghost.lawful ? "#FFFFFF" : colour, 2);
  }
  if (ghost.range) {
    const [x, y] = at(ghost.cells[0][0] + 0.5, ghost.cells[0][1] + 0.5);
    context.strokeStyle = "#FFFFFFAA";
    context.setLineDash([6, 6]);
    context.beginPath();
    context.ellipse(x, y, ghost.range * s, ghost.range * s * SQUASH, 0, 0, 7);
    context.stroke();
    context.setLineDash([]);
  }
  context.globalAlpha = 1;
}

function drawBox(context, [x0, y0, x1, y1]) {
  context.fillStyle = "#FFFFFF22";
  context.strokeStyle = "#FFFFFF";
  context.lineWidth = 1.5;
  context.fillRect(x0, y0, x1 - x0, y1 - y0);
  context.strokeRect(x0, y0, x1 - x0, y1 - y0);
}

// Where an order was given, for a moment.
function drawMark(context, mark, at, s, time) {
  const age = (time - mark.time) / 0.6;
  if (age > 1) return;
  const [x, y] = at(mark.x, mark.y);
  context.globalAlpha = 1 - age;
  context.strokeStyle = mark.fights ? "#C24100" : "#FFFFFF";
  context.lineWidth = 2.5;
  context.beginPath();
  context.ellipse(x, y, s * (0.9 - 0.6 * age), s * (0.9 - 0.6 * age) * SQUASH, 0, 0, 7);
  context.stroke();
  context.globalAlpha = 1;
}

// The whole map, small.
export function drawMap(context, scene, camera, view) {
  const size = context.canvas.width;
  const part = size / scene.map.side;
  context.fillStyle = "#8FAEBF";
  context.fillRect(0, 0, size, size);
  context.imageSmoothingEnabled = true;
  const grain = scene.painted.width / (scene.map.side + 2 * MARGIN);
  context.drawImage(
    scene.painted, MARGIN * grain, MARGIN * grain * SQUASH, scene.map.side * grain, scene.map.side * grain * SQUASH, 0, 0, size, size,
  );
  const blocks = BLOCKS * BLOCK_CELLS * part;
  context.drawImage(veil, 0, 0, blocks, blocks);
  for (const one of scene.buildings) {
    context.fillStyle = one.kind === BRIDGE ? "#8B6E45" : TEAMS[one.seat];
    const [dx, dy] = one.kind === BRIDGE ? DIRECTIONS[one.direction] : [0, 0];
    const [wide, high] = [1 + Math.abs(dx) * (one.span - 1), 1 + Math.abs(dy) * (one.span - 1)];
    const more = one.kind === BRIDGE ? 0 : one.kind === ALTAR ? 1.6 : 0.9;
    context.fillRect((one.x - wide / 2 - more / 2) * part, (one.y - high / 2 - more / 2) * part, (wide + more) * part, (high + more) * part);
  }
  for (const unit of scene.units) {
    context.fillStyle = scene.selected.has(unit.link) ? "#FFFFFF" : TEAMS[unit.seat];
    context.fillRect(unit.x * part - 2, unit.y * part - 2, 4, 4);
  }
  context.strokeStyle = "#FFFFFF";
  context.lineWidth = 2;
  const [wide, high] = [view.width / camera.scale, view.height / camera.scale / SQUASH];
  context.strokeRect((camera.x - wide / 2) * part, (camera.y - high / 2) * part, wide * part, high * part);
}

function shape(context, points, fill, stroke, s) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.fillStyle = fill;
  context.fill();
  if (!stroke) return;
  context.strokeStyle = stroke;
  context.lineWidth = Math.max(0.75, s * 0.035);
  context.lineJoin = "round";
  context.stroke();
}

function outline(context, points, colour, wide) {
  context.beginPath();
  points.forEach(([x, y], index) => (index ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.strokeStyle = colour;
  context.lineWidth = wide;
  context.stroke();
}

function disc(context, x, y, radius, fill, s) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fillStyle = fill;
  context.fill();
  if (!s) return;
  context.strokeStyle = INK;
  context.lineWidth = Math.max(0.75, s * 0.035);
  context.stroke();
}

function shadow(context, x, y, radius) {
  context.fillStyle = "#1C243040";
  context.beginPath();
  context.ellipse(x, y, radius, radius * 0.55, 0, 0, 7);
  context.fill();
}

function line(context, [x0, y0], [x1, y1]) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
