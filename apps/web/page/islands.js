// The islands' page: a contest in wasm, here or on the server that the page is from, hands that ask for things, and a picture of what is seen. All that is lawful is
// decided by the rules; what they refuse is said in their words. `window.sametick` is for tests: status() tells.
import init, { Guest, Skirmish } from "./sametick_islands.js";
import { LETTERS, SQUASH, TEAMS, drawFrame, drawMap, paintMap } from "./islands-draw.js";

const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));

const byId = (id) => document.getElementById(id);
const view = byId("view"), map = byId("map");
const UNIT_NUMBERS = 10, BUILDING_NUMBERS = 14, SHOT_NUMBERS = 6;
const WORKER = 0, BRIDGE = 3, TOWER = 2, WORKSHOP = 1, ALTAR = 0;
const BUILD_JOB = 5, GATHER_JOB = 4;
const SCALES = [11, 46], EDGE_PIXELS = 6, SCROLL_CELLS = 22;
const DIRECTIONS = [[1, 0], [0, 1], [-1, 0], [0, -1]];
const SENT_SECONDS = 3;
// On the way to a server: what a step comes to, how often one is taken, and how long to wait after a failure.
const [UNDER_WAY, IN, NOBODY] = [0, 1, 2];
const TICKET = "islands-ticket", STEP_MILLIS = 20, AGAIN_MILLIS = 1000;
// Who closes ranks glides there, from no farther than this; whoever is corrected from afar is there at once.
const GLIDE_CELLS = [0.3, 4], GLIDE = 0.16;
const SPAN_MAX = 4, GROUP_KEYS = "123456789";
const MAKE = [["q", 0], ["e", 1], ["r", 2], ["f", 3], ["c", 4]];
const BUILD = [["b", BRIDGE], ["t", TOWER], ["g", WORKSHOP]];

const page = {
  contest: null, map: null, painted: null, tables: null, units: [], buildings: [], shots: [], words: {}, selected: new Set(), groups: {},
  camera: { x: 0, y: 0, scale: 24 }, mouse: { x: 0, y: 0, inside: false }, drag: null, mode: null, marks: [], ghost: null, held: new Set(),
  paused: false, unofficial: false, shown: new Map(), veil: new Float32Array(1024), sight: [], seen: -1, last: 0, time: 0, frames: 0, idleAt: 0, recalled: null,
  edges: true, ping: 0, sent: new Map(), served: false, losing: false,
};

function begin(options) {
  const seed = options.seed ?? Math.floor(Math.random() * 1e6);
  show(new Skirmish(seed, options.players, options.war, page.ping));
}

const later = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));

// Goes to the server that the page is from, if it plays Islands; says whether it does. Once there it is tried until one is in.
async function join(ticket) {
  for (;;) {
    const guest = new Guest(asked.get("link") ?? "any", ticket);
    let state = guest.step();
    while (state === UNDER_WAY) {
      tell(guest.words());
      await later(STEP_MILLIS);
      state = guest.step();
    }
    if (state === NOBODY && !page.served) {
      tell("");
      return false;
    }
    if (state === IN) {
      const contest = guest.contest();
      contest.delay(page.ping);
      page.served = true;
      document.body.dataset.served = "";
      guest.free();
      show(contest);
      tell("");
      return true;
    }
    page.served ||= state !== NOBODY;
    tell(state === NOBODY ? "The server does not answer." : guest.words());
    guest.free();
    // What led to a seat may be worth nothing any more.
    ticket = "";
    await later(AGAIN_MILLIS);
  }
}

// What there is to wait for, in the place of the contest.
function tell(words) {
  byId("waiting").textContent = words;
  byId("waiting").hidden = !words;
}

async function rejoin() {
  if (page.losing) return;
  page.losing = true;
  await join(page.words.over ? "" : page.contest.ticket());
  page.losing = false;
}

function show(contest) {
  page.contest?.free();
  page.contest = contest;
  document.body.dataset.begun = "";
  const numbers = [...page.contest.springs()];
  const pairs = (list) => Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index], list[2 * index + 1]]);
  page.map = { side: page.contest.side(), land: page.contest.land(), springs: pairs(numbers), homes: pairs([...page.contest.homes()]) };
  page.painted = paintMap(page.map);
  Object.assign(page, { selected: new Set(), groups: {}, shown: new Map(), marks: [], paused: false, mode: null, ended: false, seen: -1 });
  page.veil.fill(1);
  if (byId("end").open) byId("end").close();
  look();
  home();
}

// Takes what is seen out of wasm: where units are with each frame, all else with each tick.
function look() {
  const units = page.contest.units();
  page.units = [];
  const shown = new Map();
  for (let at = 0; at < units.length; at += UNIT_NUMBERS) {
    const [link, seat, kind, x, y, health, squad, moving, job, loss] = units.subarray(at, at + UNIT_NUMBERS);
    const before = page.shown.get(link);
    let place = [x, y];
    if (before && before.kind === kind && before.seat === seat) {
      const far = Math.hypot(x - before.x, y - before.y);
      if (far > GLIDE_CELLS[0] && far < GLIDE_CELLS[1]) place = [before.x + (x - before.x) * GLIDE, before.y + (y - before.y) * GLIDE];
    }
    const unit = { link, seat, kind, x: place[0], y: place[1], health, squad, moving: moving > 0 || place[0] !== x, job, loss };
    shown.set(link, unit);
    page.units.push(unit);
  }
  page.shown = shown;
  const tick = Math.floor(page.contest.clock());
  if (tick !== page.seen) {
    page.seen = tick;
    lookAround();
  }
  page.veil.forEach((dark, index) => (page.veil[index] += ((page.sight[index] ? 0 : 1) - dark) * 0.2));
}

function lookAround() {
  const buildings = page.contest.buildings(), shots = page.contest.shots();
  page.buildings = [];
  for (let at = 0; at < buildings.length; at += BUILDING_NUMBERS) {
    const [link, seat, kind, x, y, health, built, direction, span, left, product, progress, cellX, cellY] = buildings.subarray(at, at + BUILDING_NUMBERS);
    page.buildings.push({ link, seat, kind, x, y, health, built, direction, span, left, product, progress, cellX, cellY });
  }
  page.shots = [];
  for (let at = 0; at < shots.length; at += SHOT_NUMBERS) {
    const [fromX, fromY, toX, toY, seat, gun] = shots.subarray(at, at + SHOT_NUMBERS);
    page.shots.push({ fromX, fromY, toX, toY, seat, gun });
  }
  page.words = JSON.parse(page.contest.words());
  const there = new Set([...page.units, ...page.buildings].filter((one) => one.seat === page.words.seat).map((one) => one.link));
  for (const link of page.selected) if (!there.has(link)) page.selected.delete(link);
  page.sight = page.contest.sight();
}

const own = (one) => one.seat === page.words.seat;
const selectedUnits = () => page.units.filter((unit) => page.selected.has(unit.link) && own(unit));
const selectedBuildings = () => page.buildings.filter((one) => page.selected.has(one.link) && own(one));
const links = (units) => Uint16Array.from(units.map((unit) => unit.link));

function toWorld(x, y) {
  const dots = devicePixelRatio;
  return [(x * dots - view.width / 2) / page.camera.scale + page.camera.x, (y * dots - view.height / 2) / page.camera.scale / SQUASH + page.camera.y];
}

function toScreen(x, y) {
  const dots = devicePixelRatio;
  return [((x - page.camera.x) * page.camera.scale + view.width / 2) / dots, ((y - page.camera.y) * page.camera.scale * SQUASH + view.height / 2) / dots];
}

function home() {
  const altar = page.map.homes[page.words.seat] ?? page.map.homes[0];
  Object.assign(page.camera, { x: altar[0] + 0.5, y: altar[1] + 2 });
}

let toastTimer = 0;
function say(words) {
  if (!words) return;
  byId("toast").textContent = words;
  byId("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => byId("toast").classList.remove("shown"), 2200);
}

// Whatever is nearest to a place of the screen, if it is near enough.
function under(x, y, wanted) {
  const [worldX, worldY] = toWorld(x, y);
  let best = null, least = Infinity;
  for (const one of [...page.units, ...page.buildings].filter(wanted)) {
    const lift = one.kind === 4 && !("cellX" in one) ? 1.1 : "cellX" in one ? 0.5 : 0.3;
    const far = Math.hypot(one.x - worldX, (one.y - lift - worldY) * 0.8);
    const reach = "cellX" in one ? (one.kind === BRIDGE ? 0.9 : 1.2) : 0.6;
    if (far < reach && far < least) [best, least] = [one, far];
  }
  return best;
}

function select(list, adds) {
  if (!adds) page.selected.clear();
  for (const one of list) page.selected.add(one.link);
}

function clickSelect(x, y, adds, isDouble) {
  const one = under(x, y, own);
  if (!one) return adds || page.selected.clear();
  const isUnit = !("cellX" in one);
  const alike = (other) => own(other) && other.kind === one.kind && !("cellX" in other) === isUnit && inView(other);
  select(isDouble ? (isUnit ? page.units : page.buildings).filter(alike) : [one], adds);
}

function inView(one) {
  const [x, y] = toScreen(one.x, one.y);
  return x >= 0 && y >= 0 && x <= innerWidth && y <= innerHeight;
}

function boxSelect([x0, y0, x1, y1], adds) {
  const inside = (one) => {
    const [x, y] = toScreen(one.x, one.y - 0.3);
    return own(one) && x >= Math.min(x0, x1) && x <= Math.max(x0, x1) && y >= Math.min(y0, y1) && y <= Math.max(y0, y1);
  };
  const units = page.units.filter(inside);
  // Soldiers before workers: a box around an army is meant for the army.
  const soldiers = units.filter((unit) => unit.kind !== WORKER);
  select(soldiers.length ? soldiers : units, adds);
}

// What a right click means.
function orderAt(x, y, fights) {
  const units = selectedUnits();
  if (!units.length) return;
  const [worldX, worldY] = toWorld(x, y);
  const enemy = under(x, y, (one) => !own(one));
  const [cellX, cellY] = [Math.floor(worldX), Math.floor(worldY)];
  const workers = units.filter((unit) => unit.kind === WORKER), soldiers = units.filter((unit) => unit.kind !== WORKER);
  const spring = page.map.springs.find(([sx, sy]) => Math.hypot(sx + 0.5 - worldX, sy + 0.2 - worldY) < 1.2);
  let answer = "";
  if (enemy && soldiers.length) answer = page.contest.attack(links(soldiers), enemy.link);
  else if (spring && workers.length) {
    answer = page.contest.gather(links(workers), spring[0], spring[1]);
    if (soldiers.length) page.contest.go(links(soldiers), cellX, cellY, fights);
  } else answer = page.contest.go(links(units), cellX, cellY, fights);
  say(answer);
  if (!answer) page.marks.push({ x: worldX, y: worldY, time: page.time, fights: fights || Boolean(enemy) });
}

// Units are made by whichever building of the kind has least to do.
function make(kind, count) {
  const maker = kind === WORKER ? ALTAR : WORKSHOP;
  const idle = page.buildings.filter((one) => own(one) && one.kind === maker && one.built >= 1 && (one.left === 0 || one.product === kind));
  const chosen = idle.filter((one) => page.selected.has(one.link));
  const best = (chosen.length ? chosen : idle).sort((one, other) => one.left - other.left)[0];
  if (!best) return say(page.buildings.some((one) => own(one) && one.kind === maker) ? "All workshops make something else." : "No workshop stands.");
  say(page.contest.produce(best.link, kind, count));
}

function builderNear(x, y) {
  const workers = page.units.filter((unit) => own(unit) && unit.kind === WORKER);
  const chosen = workers.filter((unit) => page.selected.has(unit.link));
  // Who was sent a moment ago is not seen to build yet.
  const isFree = (unit) => unit.job !== BUILD_JOB && !(page.time - page.sent.get(unit.link) < SENT_SECONDS);
  const free = workers.filter(isFree), spare = chosen.filter(isFree);
  const pool = spare.length ? spare : chosen.length ? chosen : free.length ? free : workers;
  return pool.sort((one, other) => Math.hypot(one.x - x, one.y - y) - Math.hypot(other.x - x, other.y - y))[0];
}

function isOpen(x, y) {
  if (x < 0 || y < 0 || x >= page.map.side || y >= page.map.side) return false;
  if (page.map.land[y * page.map.side + x]) return true;
  return page.buildings.some((one) => one.kind === BRIDGE && one.built >= 1 && cellsOf(one).some(([cx, cy]) => cx === x && cy === y));
}

function cellsOf(bridge) {
  const [dx, dy] = DIRECTIONS[bridge.direction];
  return Array.from({ length: bridge.span }, (_, step) => [bridge.cellX + dx * step, bridge.cellY + dy * step]);
}

// What would be built where the mouse is.
function ghostAt(kind, x, y) {
  const [worldX, worldY] = toWorld(x, y);
  const [cellX, cellY] = [Math.floor(worldX), Math.floor(worldY)];
  if (kind !== BRIDGE) {
    const near = page.buildings.some((one) => one.kind !== BRIDGE && Math.max(Math.abs(one.cellX - cellX), Math.abs(one.cellY - cellY)) <= 1);
    const spring = page.map.springs.some(([sx, sy]) => Math.max(Math.abs(sx - cellX), Math.abs(sy - cellY)) <= 1);
    const land = cellX >= 0 && cellY >= 0 && cellX < page.map.side && page.map.land[cellY * page.map.side + cellX];
    return { cells: [[cellX, cellY]], lawful: Boolean(land) && !near && !spring, place: [cellX, cellY, 0, 0], range: page.tables.buildings[kind].range };
  }
  // Back from the mouse to the nearest shore, in each direction.
  let best = null;
  DIRECTIONS.forEach(([dx, dy], direction) => {
    for (let span = 1; span <= SPAN_MAX; span++) {
      const [shoreX, shoreY] = [cellX - dx * span, cellY - dy * span];
      if (isOpen(shoreX + dx, shoreY + dy)) return;
      if (!isOpen(shoreX, shoreY)) continue;
      if (!best || span < best.span) best = { direction, span, first: [shoreX + dx, shoreY + dy] };
      return;
    }
  });
  if (!best || isOpen(cellX, cellY)) return { cells: [[cellX, cellY]], lawful: false, place: null };
  // A bridge that can be longer is: up to the far shore.
  const [dx, dy] = DIRECTIONS[best.direction];
  const cells = Array.from({ length: best.span }, (_, step) => [best.first[0] + dx * step, best.first[1] + dy * step]);
  return { cells, lawful: true, place: [...best.first, best.direction, best.span] };
}

function buildAt(kind, x, y, keeps) {
  const ghost = ghostAt(kind, x, y);
  if (!ghost.place) return say("A bridge begins at a shore: point at water near one.");
  const worker = builderNear(ghost.place[0], ghost.place[1]);
  if (!worker) return say("There is no worker.");
  const answer = page.contest.build(worker.link, kind, ...ghost.place);
  say(answer);
  if (!answer) page.sent.set(worker.link, page.time);
  if (!answer && !keeps) setMode(null);
}

function setMode(mode) {
  page.mode = mode;
  document.body.dataset.mode = mode?.name ?? "";
}

function recall(key, makes) {
  if (makes) {
    page.groups[key] = [...page.selected];
    return say(`Group ${key}: ${page.selected.size}`);
  }
  const members = [...page.units, ...page.buildings].filter((one) => own(one) && page.groups[key]?.includes(one.link));
  if (!members.length) return;
  select(members, false);
  if (page.recalled?.key === key && page.time - page.recalled.time < 0.5) {
    page.camera.x = members.reduce((sum, one) => sum + one.x, 0) / members.length;
    page.camera.y = members.reduce((sum, one) => sum + one.y, 0) / members.length;
  }
  page.recalled = { key, time: page.time };
}

function nextIdle() {
  const idle = page.units.filter((unit) => own(unit) && unit.kind === WORKER && unit.job !== GATHER_JOB && !unit.moving);
  if (!idle.length) return say("No worker is idle.");
  const unit = idle[page.idleAt++ % idle.length];
  select([unit], false);
  Object.assign(page.camera, { x: unit.x, y: unit.y });
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([page.contest.save()]));
  link.download = `contest-${minutes(page.words.seconds).replace(":", "-")}.islands`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say("Saved. Load the file here, or with sametick play --game islands --load.");
}

function load(file) {
  const contest = Skirmish.load(file, page.ping);
  if (!contest) {
    say("That is no saved contest that can go on: it is damaged, over, or of another version.");
    return false;
  }
  show(contest);
  say("The contest goes on where it was saved.");
  return true;
}

function showMenu() {
  page.paused = !page.served;
  byId("sheet").showModal();
}

function pause(is) {
  if (is && page.served) return say("Others play too: it goes on.");
  page.paused = is;
  byId("pause").textContent = is ? "Go on" : "Pause";
}

const key = (event) => event.key.length === 1 ? event.key.toLowerCase() : event.key;

addEventListener("keydown", (event) => {
  if (!page.contest || document.querySelector("dialog[open]")) return;
  const name = key(event), digit = event.code.startsWith("Digit") ? event.code.slice(5) : name;
  if (GROUP_KEYS.includes(digit) && digit.length === 1) {
    event.preventDefault();
    return recall(digit, event.ctrlKey || event.metaKey);
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  page.held.add(name);
  const made = MAKE.find(([letter]) => letter === name), built = BUILD.find(([letter]) => letter === name);
  if (made && !event.repeat) make(made[1], event.shiftKey ? 5 : 1);
  else if (built) setMode(page.mode?.kind === built[1] ? null : { name: "build", kind: built[1] });
  else if (name === "v") setMode({ name: "fight" });
  else if (name === "x") say(page.contest.stop(links(selectedUnits())));
  else if (name === "h") home();
  else if (name === ".") nextIdle();
  else if (name === "u") unofficial(!page.unofficial);
  else if (name === "p") pause(!page.paused);
  else if (name === "?") showMenu();
  else if (name === "Escape") page.mode ? setMode(null) : page.selected.clear();
  else if (name === "Backspace" || name === "Delete") selectedBuildings().forEach((one) => say(page.contest.cancel(one.link)));
  else return;
  event.preventDefault();
});
addEventListener("keyup", (event) => page.held.delete(key(event)));
addEventListener("blur", () => page.held.clear());

function unofficial(is) {
  page.unofficial = is;
  byId("unofficial").checked = is;
  say(is ? "Unofficial movement is shown dashed." : "Only official movement is shown.");
}

view.addEventListener("mousedown", (event) => {
  if (event.button !== 0) return;
  if (page.mode?.name === "build") return buildAt(page.mode.kind, event.clientX, event.clientY, event.shiftKey);
  if (page.mode?.name === "fight") {
    orderAt(event.clientX, event.clientY, true);
    return setMode(null);
  }
  page.drag = { x: event.clientX, y: event.clientY, to: [event.clientX, event.clientY] };
});
addEventListener("mousemove", (event) => {
  Object.assign(page.mouse, { x: event.clientX, y: event.clientY, inside: true });
  if (page.drag) page.drag.to = [event.clientX, event.clientY];
});
document.addEventListener("mouseleave", () => (page.mouse.inside = false));
addEventListener("mouseup", (event) => {
  if (!page.drag || event.button !== 0) return;
  const { x, y, to } = page.drag;
  page.drag = null;
  if (Math.hypot(to[0] - x, to[1] - y) > 5) boxSelect([x, y, ...to], event.shiftKey);
  else clickSelect(x, y, event.shiftKey, event.detail === 2);
});
view.addEventListener("contextmenu", (event) => {
  event.preventDefault();
  if (page.mode) return setMode(null);
  orderAt(event.clientX, event.clientY, false);
});
view.addEventListener("wheel", (event) => {
  event.preventDefault();
  const before = toWorld(event.clientX, event.clientY);
  const scale = page.camera.scale * Math.exp(-event.deltaY * 0.0012);
  page.camera.scale = Math.max(SCALES[0], Math.min(SCALES[1], scale / devicePixelRatio)) * devicePixelRatio;
  const after = toWorld(event.clientX, event.clientY);
  page.camera.x += before[0] - after[0];
  page.camera.y += before[1] - after[1];
}, { passive: false });

function mapPlace(event) {
  const box = map.getBoundingClientRect();
  return [(event.clientX - box.left - 5) / (box.width - 10) * page.map.side, (event.clientY - box.top - 5) / (box.height - 10) * page.map.side];
}
map.addEventListener("mousedown", (event) => {
  const [x, y] = mapPlace(event);
  if (event.button === 0) Object.assign(page.camera, { x, y });
});
map.addEventListener("mousemove", (event) => {
  if (event.buttons === 1) Object.assign(page.camera, { x: mapPlace(event)[0], y: mapPlace(event)[1] });
});
map.addEventListener("contextmenu", (event) => {
  event.preventDefault();
  const [x, y] = mapPlace(event);
  if (page.selected.size) say(page.contest.go(links(selectedUnits()), Math.floor(x), Math.floor(y), true));
});

function scroll(seconds) {
  let [dx, dy] = [0, 0];
  const held = (...names) => names.some((name) => page.held.has(name));
  if (held("a", "ArrowLeft")) dx--;
  if (held("d", "ArrowRight")) dx++;
  if (held("w", "ArrowUp")) dy--;
  if (held("s", "ArrowDown")) dy++;
  if (page.edges && page.mouse.inside && document.hasFocus() && !page.drag) {
    if (page.mouse.x < EDGE_PIXELS) dx--;
    if (page.mouse.x > innerWidth - EDGE_PIXELS) dx++;
    if (page.mouse.y < EDGE_PIXELS) dy--;
    if (page.mouse.y > innerHeight - EDGE_PIXELS) dy++;
  }
  const far = SCROLL_CELLS * seconds * (24 * devicePixelRatio / page.camera.scale);
  page.camera.x = Math.max(0, Math.min(page.map.side, page.camera.x + Math.sign(dx) * far));
  page.camera.y = Math.max(0, Math.min(page.map.side, page.camera.y + Math.sign(dy) * far));
}

// Texts are written only when they change.
const written = new Map();
function write(id, text) {
  if (written.get(id) === text) return;
  written.set(id, text);
  byId(id).innerHTML = text;
}

const minutes = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;

function panels() {
  const words = page.words;
  write("crystals", String(words.crystals));
  write("income", `+${Math.round(words.rate * 20 * 60 / page.tables.grains)} a minute`);
  write("units", String(words.units));
  write("limit", `of ${words.units_max}`);
  byId("idle").hidden = words.idle === 0;
  write("idle", `${words.idle} idle`);
  write("clock", minutes(Math.max(0, words.length - words.seconds)));
  if (page.served) write("line", `<b>${Math.max(0, Math.round(page.contest.ping()))} ms</b><small>${page.contest.road()}</small>`);
  const seats = TEAMS.map((colour, seat) => ({ colour, seat })).filter(({ seat }) => words.came >> seat & 1);
  write("players", seats.map(({ colour, seat }) =>
    `<span title="${LETTERS[seat]}${words.out >> seat & 1 ? ", out" : ""}" class="${words.out >> seat & 1 ? "out" : ""} ${seat === words.seat ? "own" : ""}" style="background:${colour}"></span>`).join(""));
  write("selection", selectionText());
  const queued = (kind) => page.buildings.filter((one) => own(one) && one.left > 0 && one.product === kind);
  const button = (name, cost, letter, data, inner = "", on = false) =>
    `<button ${data} class="${on ? "on" : ""} ${cost > words.crystals ? "poor" : ""}">${inner}${name}${cost ? `<small>◆ ${cost}</small>` : ""}<kbd>${letter.toUpperCase()}</kbd></button>`;
  const made = MAKE.map(([letter, kind]) => {
    const makers = queued(kind), count = makers.reduce((sum, one) => sum + one.left, 0);
    const part = Math.round(100 * Math.max(0, ...makers.map((one) => one.progress)) / 5) * 5;
    const inner = count ? `<b>${count}</b><span class="bar"><i style="width:${part}%"></i></span>` : "";
    return button(page.tables.units[kind].name, page.tables.units[kind].cost, letter, `data-make="${kind}"`, inner);
  });
  const built = BUILD.map(([letter, kind]) => {
    const cost = page.tables.buildings[kind].cost * (kind === BRIDGE ? SPAN_MAX : 1);
    return button(page.tables.buildings[kind].name, cost, letter, `data-build="${kind}"`, "", page.mode?.kind === kind);
  });
  const orders = [button("Fight", 0, "v", 'data-order="fight"', "", page.mode?.name === "fight"), button("Stop", 0, "x", 'data-order="stop"')];
  write("actions", `<h3>Make, with Shift five</h3>${made.join("")}<h3>Build and order</h3>${built.join("")}${orders.join("")}`);
}

function selectionText() {
  const units = selectedUnits(), buildings = selectedBuildings();
  if (!units.length && !buildings.length) {
    return page.mode?.name === "build" ? "<h2>Choose a place</h2><p>Click builds there, right click gives up.</p>"
      : "<h2>Nothing selected</h2><p>Click or drag. Right click sends; ? tells the keys.</p>";
  }
  if (!units.length) {
    const one = buildings[0], name = page.tables.buildings[one.kind].name;
    const state = one.built < 1 ? (one.built > 0 ? "being built" : "waits for its builder")
      : one.left ? `makes ${one.left} ${page.tables.units[one.product].name}${one.left > 1 ? "s" : ""}` : "stands";
    return `<h2>${name}${buildings.length > 1 ? ` and ${buildings.length - 1} more` : ""}</h2><p>${Math.round(one.health * 100)} %, ${state}; Delete gives up what it makes</p>
      <div class="bar"><i style="width:${Math.round(one.left ? one.progress * 100 : one.health * 100)}%"></i></div>`;
  }
  const kinds = page.tables.units.map((table, kind) => ({ table, kind, count: units.filter((unit) => unit.kind === kind).length })).filter((one) => one.count);
  const health = Math.round(100 * units.reduce((sum, unit) => sum + unit.health, 0) / units.length);
  return `<h2>${units.length} ${units.length === 1 ? kinds[0].table.name : "units"}</h2><p>${health} % fit</p>
    <div class="kinds">${kinds.map((one) => `<button data-kind="${one.kind}">${one.count} ${one.table.name}</button>`).join("")}</div>`;
}

// Pressed before it is written anew.
byId("actions").addEventListener("mousedown", (event) => {
  const data = event.target.closest("button")?.dataset;
  if (!data) return;
  if (data.make) make(Number(data.make), event.shiftKey ? 5 : 1);
  if (data.build) setMode(page.mode?.kind === Number(data.build) ? null : { name: "build", kind: Number(data.build) });
  if (data.order === "fight") setMode({ name: "fight" });
  if (data.order === "stop") say(page.contest.stop(links(selectedUnits())));
});
byId("selection").addEventListener("mousedown", (event) => {
  const kind = event.target.closest("button")?.dataset.kind;
  if (kind) select(selectedUnits().filter((unit) => unit.kind === Number(kind)), false);
});
byId("idle").addEventListener("click", nextIdle);
byId("pause").addEventListener("click", () => pause(!page.paused));
byId("menu").addEventListener("click", showMenu);
byId("save").addEventListener("click", save);
byId("load").addEventListener("click", () => byId("file").click());
byId("file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (!file) return;
  byId("sheet").close();
  load(new Uint8Array(await file.arrayBuffer()));
  event.target.value = "";
});
byId("unofficial").addEventListener("change", (event) => unofficial(event.target.checked));
byId("sheet").addEventListener("close", () => {
  pause(false);
  page.ping = Number(byId("ping").value);
  if (page.served) page.contest.delay(page.ping);
  else if (byId("sheet").returnValue === "new") begin({ players: Number(byId("count").value), war: byId("opening").value === "war" });
  byId("sheet").returnValue = "";
});
byId("end").addEventListener("close", () => page.served || begin({ players: page.map.homes.length, war: byId("opening").value === "war" }));

function ended() {
  const { winner, scores, seat } = page.words;
  byId("verdict").textContent = winner === seat ? "You have won" : winner < 0 ? "Nobody has won" : `${LETTERS[winner]} has won`;
  const rows = page.map.homes.map((_, seat) => ({ seat, score: scores[seat] ?? 0 })).sort((one, other) => other.score - one.score);
  byId("scores").innerHTML = rows.map((row) => `<li><i style="background:${TEAMS[row.seat]}"></i>${LETTERS[row.seat]}${row.seat === seat ? " (you)" : ""}<b>${row.score}</b></li>`).join("");
  byId("end").showModal();
}

function frame(now) {
  const seconds = Math.min(0.25, (now - page.last) / 1000);
  page.last = now;
  page.time += seconds;
  page.frames++;
  fit();
  if (page.served || (!page.paused && !document.hidden)) page.contest.advance(seconds * 1000);
  if (page.contest.ended()) rejoin();
  say(page.contest.denied());
  look();
  scroll(seconds);
  draw();
  if (page.words.over && !page.ended) {
    page.ended = true;
    ended();
  }
  requestAnimationFrame(frame);
}

function draw() {
  page.ghost = page.mode?.name === "build" ? ghostAt(page.mode.kind, page.mouse.x, page.mouse.y) : null;
  page.marks = page.marks.filter((mark) => page.time - mark.time < 0.6);
  const squads = [...new Set(selectedUnits().map((unit) => unit.squad))];
  const dots = devicePixelRatio;
  const scene = {
    ...page, ways: squads.map((squad) => page.contest.way(squad)), unofficial: page.unofficial ? waysOf(page.contest.unofficial()) : [],
    box: page.drag && Math.hypot(page.drag.to[0] - page.drag.x, page.drag.to[1] - page.drag.y) > 5
      ? [page.drag.x, page.drag.y, ...page.drag.to].map((at) => at * dots) : null,
  };
  drawFrame(view.getContext("2d"), page.camera, scene);
  drawMap(map.getContext("2d"), scene, page.camera, view);
  panels();
}

// Several ways, each after its count of numbers.
function waysOf(numbers) {
  const ways = [];
  for (let at = 0; at < numbers.length; at += 1 + numbers[at]) ways.push(numbers.subarray(at + 1, at + 1 + numbers[at]));
  return ways;
}

function fit() {
  const [width, height] = [Math.round(innerWidth * devicePixelRatio), Math.round(innerHeight * devicePixelRatio)];
  if (view.width === width && view.height === height) return;
  Object.assign(view, { width, height });
}

function status() {
  return {
    ...page.words, tick: page.contest.clock(), frames: page.frames, selected: page.selected.size, errors, mode: page.mode?.name ?? "", paused: page.paused, ping: page.ping, road: page.contest.road(), measured: page.contest.ping(), ended: page.contest.ended(), hoped: page.contest.unofficial().length,
    camera: { ...page.camera }, seen: { units: page.units.length, buildings: page.buildings.length }, toast: byId("toast").textContent,
    own: page.units.filter(own), built: page.buildings.filter(own), springs: page.map.springs, homes: page.map.homes, side: page.map.side,
  };
}

await init();
page.tables = JSON.parse(Skirmish.tables());
const asked = new URL(location).searchParams;
const number = (name, usual) => Number(asked.get(name) ?? usual) || usual;
fit();
page.camera.scale = 24 * devicePixelRatio;
page.ping = Math.max(0, Math.min(1000, number("ping", 0)));
byId("ping").value = String(page.ping);
// Whoever loads the page again has the same seat.
const kept = sessionStorage.getItem(TICKET) ?? "";
sessionStorage.removeItem(TICKET);
const isServed = !asked.has("inside") && await join(kept);
if (!isServed) begin({ seed: asked.has("seed") ? number("seed", 1) : undefined, players: number("players", 4), war: asked.get("war") === "1" });
// A browser lets frames rest in the background; the server hears of the page all the same.
setInterval(() => page.served && document.hidden && page.contest.advance(0), 100);
addEventListener("pagehide", () => {
  if (page.served && !page.words.over) sessionStorage.setItem(TICKET, page.contest.ticket());
  page.contest?.leave();
});
window.sametick = {
  status, toScreen, isOpen, skip: (ticks) => page.contest.skip(ticks), watch: (is) => page.contest.watch(is), pause, home, save: () => page.contest.save(), load,
  look: (x, y, scale) => Object.assign(page.camera, { x, y, scale: scale * devicePixelRatio }), edges: (are) => (page.edges = are),
};
requestAnimationFrame((now) => {
  page.last = now;
  frame(now);
});
