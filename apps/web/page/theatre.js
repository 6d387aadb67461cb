// The theatre's page: asks wasm for a run, keeps it, and draws any moment of it. All numbers come from the run; nothing
// here knows a game. `window.sametick` is for tests: status() tells what is on screen.
import init, { Theatre } from "./sametick_theatre.js";
import { LETTERS, drawPane } from "./theatre-draw.js";
import { drawPlot, drawWire, packetAt, sightsOf, windowOf, wordsOf } from "./theatre-wire.js";

// What went wrong, for tests.
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));

const byId = (id) => document.getElementById(id);
const isNarrow = () => innerWidth <= 700;
const SPEEDS = [1, 1 / 4, 1 / 16];
const SPEED_NAMES = ["1×", "¼×", "¹⁄₁₆×"];
const OUTLINES = ["server", "own", "none"];
const OUTLINE_NAMES = { server: "where the server has them", own: "where each has itself", none: "no outlines" };
const SHORT_NAMES = { server: "server's now", own: "own screen's", none: "no outlines" };
// Milliseconds there and back, milliseconds at most each way, per cent each way.
const PRESETS = {
  LAN: [2, 0, 0], fibre: [15, 1, 0], "Wi-Fi": [35, 12, 1], mobile: [80, 25, 2], ocean: [180, 6, 0], awful: [250, 60, 8],
};
const QUERY_KEYS = [
  "game", "scene", "model", "a.ping", "a.jitter", "a.loss", "b.ping", "b.jitter", "b.loss", "ticks", "snapshots", "sight", "silent", "hand",
];
// What to look for under each model.
const INSIGHTS = {
  quake: "Your own feet lag", quakeworld: "Others run on, for 100 ms at most", quake3: "Perfect aim misses",
  half_life: "Perfect aim hits, and the victim was safe", doom3: "Others are in the present, and jump when they turn",
  fpsci: "Both screens say hit, and one is taken back", doom1993: "One late packet stops everyone",
  packet_server: "The relay walks the late player on", age_of_empires: "Turns widen, and orders wait",
  rollback: "Others are guessed, and ticks are stepped again", netstorm: "Dashed turns solid, and nobody waits",
};
// How numbers stand in what wasm hands over.
const SHAPE_NUMBERS = 12, PACKET_NUMBERS = 8;
// A page that was not shown for longer goes on as if it had been this long.
const STALL_SECONDS = 0.4, STALL_SECONDS_TAKEN = 0.05;
const STEER_KEYS = { w: [0, 1], s: [0, -1], a: [-1, 0], d: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

const page = {
  run: null, theatre: null, previous: null, wanted: {}, t: 0, playing: false, speed: 0, stopsAt: null, outline: 0, eyes: false, quantity: "error",
  took: 0, played: 0, stopped: null, held: new Set(),
};

function queryOf(wanted) {
  return Object.entries(wanted).map(([key, value]) => `${key}=${value}`).join("&");
}

// Frames out of wasm's memory, as objects.
function framesOf(numbers) {
  const frames = [];
  let at = 0;
  while (at < numbers.length) {
    const frame = { at: numbers[at++], tick: numbers[at++], panes: [] };
    for (let index = 0; index < 3; index++) {
      const count = numbers[at++];
      const pane = { tick: numbers[at++], margin: numbers[at++], correction: numbers[at++], age: numbers[at++], error: numbers[at++], own: numbers[at++], sees: numbers[at++] > 0, delay: numbers[at++], again: numbers[at++], shapes: [] };
      for (let shape = 0; shape < count; shape++, at += SHAPE_NUMBERS) {
        pane.shapes.push({
          id: numbers[at], kind: numbers[at + 1], owner: numbers[at + 2], x: numbers[at + 3], y: numbers[at + 4], z: numbers[at + 5],
          facing: numbers[at + 6], pitch: numbers[at + 7], alive: numbers[at + 8] > 0, radius: numbers[at + 9], height: numbers[at + 10],
          unofficial: numbers[at + 11] > 0,
        });
      }
      frame.panes.push(pane);
    }
    frames.push(frame);
  }
  return frames;
}

function packetsOf(numbers) {
  const packets = [];
  const counts = {};
  for (let at = 0; at < numbers.length; at += PACKET_NUMBERS) {
    const [player, up, cargo] = [numbers[at], numbers[at + 1] > 0, numbers[at + 5]];
    const number = counts[player * 10 + cargo] = (counts[player * 10 + cargo] ?? 0) + 1;
    packets.push({ player, up, sent: numbers[at + 2], arrived: numbers[at + 3] < 0 ? null : numbers[at + 3], bytes: numbers[at + 4], cargo, tick: numbers[at + 6], to: numbers[at + 7], number });
  }
  return packets;
}

// When each screen shows a shot itself: its own time has come to the shot's tick.
function placeShots(run) {
  for (const shot of run.shots) {
    const { at, tick } = run.frames[shot.frame];
    const first = run.frames.find((frame) => frame.panes[shot.by + 1].tick >= tick);
    Object.assign(shot, { at, shownAt: first ? Math.min(first.at, at) : at });
  }
}

function perform(wanted) {
  const begun = performance.now();
  const theatre = new Theatre(queryOf(wanted));
  const run = JSON.parse(theatre.words());
  run.frames = framesOf(theatre.frames(0));
  run.packets = packetsOf(theatre.packets(0));
  placeShots(run);
  run.flags = flagsOf(run);
  run.end = run.frames.at(-1).at;
  run.bytes = [0, 1].map((player) => bytesOf(run, player));
  run.sights = [0, 1].map((player) => sightsOf(run, player));
  page.theatre?.free();
  page.theatre = theatre;
  page.took = performance.now() - begun;
  return run;
}

// Bytes of the last second on a player's line at each frame, both ways.
function bytesOf(run, player) {
  const packets = run.packets.filter((packet) => packet.player === player || packet.to === player);
  let [from, to, sum] = [0, 0, 0];
  return run.frames.map(({ at }) => {
    while (to < packets.length && packets[to].sent <= at) sum += packets[to++].bytes;
    while (from < to && packets[from].sent < at - 1) sum -= packets[from++].bytes;
    return sum / Math.min(1, Math.max(at, 0.2));
  });
}

function flagsOf(run) {
  const flags = run.shots.map((shot) => ({ at: shot.at, kind: shot.hit ? "hit" : "shot", who: shot.by }));
  run.frames.forEach((frame) => [1, 2].forEach((index) => {
    if (frame.panes[index].correction > 0.05) flags.push({ at: frame.at, kind: "corrected", who: index - 1 });
  }));
  if (run.silent) flags.push({ at: run.silent[0] / 1000, kind: "stall", until: run.silent[1] / 1000, who: 0 });
  for (const [from, until, who] of run.waits) flags.push({ at: from, kind: "stall", until, who });
  return flags.sort((one, other) => one.at - other.at);
}

function frameAt(t) {
  const frames = page.run.frames;
  let [low, high] = [0, frames.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (frames[middle].at <= t + 1e-6) low = middle; else high = middle - 1;
  }
  return low;
}

const momentAt = () => (page.run.moment ? page.run.frames[page.run.moment.frame].at : null);

// What a run had where another has something else, in words.
function nameOfBefore(before, now) {
  const words = [];
  if (before.model !== now.model) words.push(before.model);
  before.lines.forEach((line, index) => {
    for (const [key, unit] of [["ping", "ms"], ["jitter", "ms"], ["loss", "%"]]) {
      if (line[key] !== now.lines[index][key]) words.push(`${"AB"[index]}'s ${key} ${line[key]} ${unit}`);
    }
  });
  if (before.ticks !== now.ticks) words.push(`${before.ticks} ticks a second`);
  if (before.snapshots !== now.snapshots) words.push(`a snapshot every ${before.snapshots} ticks`);
  if (before.sight !== now.sight) words.push(before.sight ? "a clear line asked for" : "no clear line asked for");
  if (before.hand !== now.hand) words.push(before.hand ? "other keys" : "A by itself");
  return words.join(", ") || "the same";
}

// A change is a fresh run; the moment on screen stays.
function change(changes) {
  release(false);
  page.wanted = { ...page.wanted, ...changes };
  const last = page.run;
  page.run = perform(page.wanted);
  if (last.scene === page.run.scene && last.link !== page.run.link) page.previous = { run: last, name: nameOfBefore(last, page.run) };
  page.stopsAt = null;
  page.t = Math.min(page.t, page.run.end);
  controls();
  draw();
}

let pending = null;
function changeSoon(changes) {
  const isQueued = pending !== null;
  pending = { ...pending, ...changes };
  if (!isQueued) requestAnimationFrame(() => { const all = pending; pending = null; change(all); });
}

function open(wanted, t) {
  release(false);
  Object.assign(page, { previous: null, wanted, speed: 0 });
  page.run = perform(wanted);
  const moment = momentAt();
  // Who wants no motion sees the moment at once.
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  page.stopsAt = t === undefined ? moment : null;
  page.t = Math.min(page.run.end, t ?? (isStill ? moment ?? 0 : Math.max(0, (moment ?? 3) - 2.4)));
  page.playing = t === undefined && !isStill;
  page.played = 0;
  controls();
  draw();
}

// The bridge is a scene of another game, and the ninth of one list with the first game's.
const BRIDGE = ["bridge", "Bridge"];
function listed(run) {
  if (run.game !== run.games[0] && run.game !== "islands") return run.scenes;
  page.first ??= run.game === run.games[0] ? run.scenes : JSON.parse(new Theatre("").words()).scenes;
  return [...page.first, BRIDGE];
}

function openScene(scene) {
  const isFirst = page.first?.some(([key]) => key === scene);
  const game = scene === BRIDGE[0] ? "islands" : page.run.game;
  open(isFirst ? { scene } : { game, scene });
}

function fill(run) {
  const scenes = byId("scenes");
  if (scenes.dataset.game === run.game) return;
  scenes.dataset.game = run.game;
  scenes.replaceChildren();
  byId("scene-menu").replaceChildren();
  byId("models").replaceChildren();
  listed(run).forEach(([key, title], index) => {
    const button = document.createElement("button");
    const number = document.createElement("kbd");
    number.textContent = index + 1;
    button.append(number, title);
    button.dataset.scene = key;
    button.onclick = () => openScene(key);
    scenes.append(button);
    byId("scene-menu").add(new Option(title, key));
  });
  for (const name of run.models) {
    const button = document.createElement("button");
    Object.assign(button, { textContent: name, title: INSIGHTS[name] ?? "" });
    button.dataset.model = name;
    byId("models").append(button);
  }
  const games = run.games.map((game) => {
    const link = document.createElement("a");
    Object.assign(link, { textContent: game, href: `?game=${game}` });
    return game === run.game ? game : link;
  });
  byId("games").replaceChildren("Games: ", ...games.flatMap((game, index) => (index ? [", ", game] : [game])));
}

function controls() {
  const run = page.run;
  fill(run);
  byId("sentences").textContent = run.sentences.join(" ");
  const press = (button, isPressed) => button.setAttribute("aria-pressed", Boolean(isPressed));
  for (const button of byId("scenes").children) press(button, button.dataset.scene === run.scene);
  for (const button of byId("models").children) press(button, button.dataset.model === run.model);
  press(byId("eyes"), page.eyes);
  press(byId("take"), run.live);
  byId("take").textContent = run.live ? "Let A go" : "Be A";
  byId("model").textContent = run.model;
  byId("scene-menu").value = run.scene;
  byId("sight").checked = run.sight;
  run.lines.forEach((line, index) => {
    const pane = document.querySelector(`[data-who="${"ab"[index]}"]`);
    pane.querySelector("input").value = line.ping;
    pane.querySelector("output").textContent = `${line.ping} ms`;
    pane.querySelector(".more").textContent = isNarrow() ? `ping ${line.ping} ms` : `jitter ${line.jitter}, lost ${line.loss} %`;
  });
  const rate = Math.round((run.ticks / run.snapshots) * 10) / 10;
  document.querySelector("[data-more='server']").textContent = run.lockstep || run.model === "netstorm" ? `${run.ticks} ticks/s` : isNarrow() ? `${run.ticks}/${rate} Hz` : `${run.ticks} ticks, ${rate} snapshots/s`;
  const outline = OUTLINES[page.outline];
  const shared = isNarrow() ? "all share" : "where all have them";
  const words = run.lockstep && outline === "server" ? shared : (isNarrow() ? SHORT_NAMES : OUTLINE_NAMES)[outline];
  byId("outline").innerHTML = `<span><i class="solid"></i>believed</span><span>${outline === "none" ? "" : '<i class="dashed"></i>'}${words}</span>`;
}

function draw() {
  const run = page.run;
  const number = frameAt(page.t);
  const frame = run.frames[number];
  for (const section of document.querySelectorAll(".pane")) {
    const index = Number(section.dataset.pane);
    const pane = frame.panes[index];
    let title = run.lockstep ? `No server: last tick all share, ${frame.tick}` : `Server: tick ${frame.tick}`;
    if (index > 0 && run.lockstep) {
      title = `${LETTERS[index - 1]}'s screen: tick ${pane.tick}, commands wait ${Math.round(pane.delay)} ms`;
    } else if (index > 0) {
      const [own, other] = index === 1 ? ["● A", "B"] : ["◆ B", "A"];
      const shown = Number.isNaN(pane.age) ? `shows ${other} standing` : `shows ${other} as ${other} was ${Math.round(pane.age)} ms ago`;
      title = `${own}'s screen ${shown}`;
    }
    section.querySelector("h2").textContent = title;
    drawPane(section.querySelector("canvas"), run, number, index, page.t, { outline: OUTLINES[page.outline], eyes: page.eyes });
  }
  drawWire(byId("wire"), run, page.t);
  drawPlot(byId("plot"), run, page.previous, page.t, page.quantity);
  drawCaption(number);
  byId("time").textContent = isNarrow() ? `${page.t.toFixed(2)} s` : `${page.t.toFixed(2)} of ${run.end.toFixed(0)} s, tick ${frame.tick}`;
  byId("play").textContent = page.playing ? "Pause" : "Play";
  byId("speed").textContent = SPEED_NAMES[page.speed];
}

// What was measured, from the moment on; and the question that it raises.
function drawCaption(number) {
  const { moment, frames, fairness, sight } = page.run;
  const caption = byId("caption");
  const isShown = Boolean(moment) && number >= moment.frame && page.t < frames[moment.frame].at + 1.2;
  if (isShown) {
    const parts = moment.caption.split("**").map((text, index) => {
      const part = document.createElement(index % 2 ? "b" : "span");
      part.textContent = text;
      return part;
    });
    caption.firstChild.replaceChildren(...parts);
  }
  byId("fairly").hidden = !fairness;
  byId("fairly").textContent = sight ? "As it was" : "Make it fair?";
  caption.classList.toggle("shown", isShown);
}

// Slower towards the moment, and still at it.
function pace() {
  if (page.stopsAt === null) return SPEEDS[page.speed];
  const left = page.stopsAt - page.t;
  if (left < 0.09) return Math.min(SPEEDS[page.speed], 1 / 16);
  return left < 0.4 ? Math.min(SPEEDS[page.speed], 1 / 4) : SPEEDS[page.speed];
}

let last = null;
function tick(now) {
  const passed = last === null ? 0 : Math.min(page.run.live ? STALL_SECONDS_TAKEN : STALL_SECONDS, (now - last) / 1000);
  last = now;
  if (page.playing) {
    page.played += passed;
    const next = page.t + passed * pace();
    if (page.run.live) {
      goOn(next);
    } else if (page.stopsAt !== null && next >= page.stopsAt) {
      Object.assign(page, { t: page.stopsAt, playing: false, stopsAt: null, speed: 1, stopped: performance.now() });
    } else if (next >= page.run.end) {
      Object.assign(page, { t: page.run.end, playing: false });
    } else {
      page.t = next;
    }
    draw();
  }
  requestAnimationFrame(tick);
}

// The reader takes A's keys: the scene goes on from here as they are pressed.
function take() {
  if (page.run.live) return release(true);
  const number = frameAt(page.t);
  page.t = page.run.frames[number].at;
  page.theatre.take(page.t);
  const before = page.run;
  page.run = { ...before, live: true, sights: [[], []], before, frames: before.frames.slice(0, number + 1), moment: null, shots: [], flags: [], packets: [], bytes: [[], []] };
  page.held.clear();
  Object.assign(page, { playing: true, speed: 0, stopsAt: null });
  goOn(page.t);
  controls();
  draw();
}

// Where to, on the map; from behind A's eyes ahead is where A looks.
function steering() {
  const sum = [0, 0];
  for (const key of page.held) (STEER_KEYS[key] ?? [0, 0]).forEach((value, axis) => { sum[axis] += value; });
  let [east, north] = sum.map(Math.sign);
  const own = page.eyes && page.run.frames.at(-1).panes[1].shapes.find((shape) => shape.kind === 0 && shape.owner === 0);
  if (own && (east || north)) {
    const angle = Math.atan2(north, east) - Math.PI / 2 + own.facing;
    const eighth = Math.round(angle / (Math.PI / 4)) * (Math.PI / 4);
    [east, north] = [Math.cos(eighth), Math.sin(eighth)].map((value) => Math.sign(Math.round(value)));
  }
  return [east, north, page.held.has(" ")];
}

function goOn(t) {
  const run = page.run;
  page.t = Math.min(t, run.end);
  page.theatre.go_on(page.t, ...steering());
  run.frames.push(...framesOf(page.theatre.frames(run.frames.length)));
  run.packets = packetsOf(page.theatre.packets(0));
  run.shots = JSON.parse(page.theatre.shots());
  placeShots(run);
  run.flags = flagsOf(run);
  run.bytes = [0, 1].map((player) => bytesOf(run, player));
  run.sights = [0, 1].map((player) => sightsOf(run, player));
  if (t >= run.end) release(true);
}

// A is its own again; what was pressed stays part of the run, which is played anew from its seed.
function release(isKept) {
  if (!page.run?.live) return;
  const hand = page.theatre.hand();
  page.run = page.run.before;
  page.playing = false;
  if (isKept) change({ hand });
}

function seek(t) {
  release(true);
  Object.assign(page, { t: Math.max(0, Math.min(page.run.end, t)), stopsAt: null });
  draw();
}

function step(by) {
  page.playing = false;
  const number = Math.max(0, Math.min(page.run.frames.length - 1, frameAt(page.t) + by));
  seek(page.run.frames[number].at);
}

function flag(direction) {
  page.playing = false;
  const moment = page.run.moment ? [{ at: momentAt() }] : [];
  const times = [...page.run.flags, ...moment].map((flag) => flag.at).sort((one, other) => one - other);
  const next = direction > 0 ? times.find((at) => at > page.t + 1e-4) : times.findLast((at) => at < page.t - 1e-4);
  if (next !== undefined) seek(next);
}

function toggle() {
  if (!page.playing && page.t >= page.run.end) page.t = 0;
  page.playing = !page.playing;
  draw();
}

function nextModel() {
  const models = page.run.models;
  change({ model: models[(models.indexOf(page.run.model) + 1) % models.length] });
}

// To the same shot, judged otherwise.
function makeFair() {
  change({ sight: page.run.sight ? 0 : 1 });
  if (momentAt() !== null) seek(momentAt());
}

function cycleOutline() { page.outline = (page.outline + 1) % OUTLINES.length; controls(); draw(); }
function toggleEyes() { page.eyes = !page.eyes; controls(); draw(); }
function setSpeed(speed) { page.speed = Math.max(0, Math.min(SPEEDS.length - 1, speed)); draw(); }

function link() {
  return `${location.origin}${location.pathname}?${page.run.link}&t=${page.t.toFixed(2)}`;
}

async function share() {
  release(true);
  history.replaceState(null, "", link());
  let word = "Link copied";
  try { await navigator.clipboard.writeText(link()); } catch { word = "Link in the address bar"; }
  byId("share").textContent = word;
  setTimeout(() => { byId("share").textContent = "Copy link"; }, 1600);
}

// The rest of a line, of the server, or the choices that a narrow page has no room for.
function more(who, anchor) {
  const sheet = byId("sheet");
  if (!sheet.hidden && sheet.dataset.who === who) { sheet.hidden = true; return; }
  sheet.dataset.who = who;
  const run = page.run;
  const line = run.lines["ab".indexOf(who)];
  const sliders = {
    server: [["ticks", "ticks a second", run.ticks, 20, 128, ""], ["snapshots", "ticks a snapshot", run.snapshots, 1, 12, ""]],
    model: [],
  }[who] ?? [[`${who}.ping`, "ping", line.ping, 0, 400, "ms"], [`${who}.jitter`, "jitter, each way", line.jitter, 0, 100, "ms"], [`${who}.loss`, "lost, each way", line.loss, 0, 30, "%"]];
  const buttons = (list) => `<div class="presets">${list.join("")}</div>`;
  const extra = {
    server: () => "",
    model: () => buttons(run.models.map((name) => `<button data-model="${name}" aria-pressed="${name === run.model}">${name}</button>`))
      + `<label class="check"><input type="checkbox" data-check="sight" ${run.sight ? "checked" : ""}><span>Clear line now</span></label>`
      + `<label class="check"><input type="checkbox" data-check="eyes" ${page.eyes ? "checked" : ""}><span>Behind their own eyes</span></label>`,
  }[who] ?? (() => buttons(Object.keys(PRESETS).map((name) => `<button data-preset="${name}">${name}</button>`)));
  sheet.innerHTML = sliders.map(([key, name, value, least, most, unit]) =>
    `<label><span>${name}</span><input type="range" data-set="${key}" data-unit="${unit}" min="${least}" max="${most}" value="${value}"><output>${value} ${unit}</output></label>`).join("") + extra();
  sheet.hidden = false;
  const box = anchor.getBoundingClientRect();
  const isBelow = box.bottom + sheet.offsetHeight + 8 < innerHeight;
  sheet.style.left = `${Math.max(8, Math.min(innerWidth - 328, box.right - 320))}px`;
  sheet.style.top = `${isBelow ? box.bottom + 4 : box.top - sheet.offsetHeight - 4}px`;
}

function steer(event, isDown) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!page.run.live || !(key in STEER_KEYS || key === " ")) return false;
  event.preventDefault();
  if (isDown) page.held.add(key); else page.held.delete(key);
  return true;
}

function listenToKeys() {
  addEventListener("keyup", (event) => steer(event, false));
  addEventListener("blur", () => page.held.clear());
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open || steer(event, true)) return;
    if (event.target.matches?.("input, select") && /^Arrow|^ $|Home|End|Page/.test(event.key)) return;
    if (event.target.matches?.("button") && /^ $|Enter/.test(event.key)) return;
    const scene = listed(page.run)[Number(event.key) - 1];
    const actions = {
      " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), n: () => flag(1), p: () => flag(-1),
      ",": () => setSpeed(page.speed + 1), ".": () => setSpeed(page.speed - 1),
      m: nextModel, l: share, "?": () => byId("keys").showModal(), g: cycleOutline, e: toggleEyes, t: take,
      Escape: () => { byId("sheet").hidden = true; release(true); },
    };
    const action = scene && event.key >= "1" ? () => openScene(scene[0]) : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action) { event.preventDefault(); action(); }
  });
}

function listen() {
  listenToKeys();
  document.addEventListener("input", (event) => {
    const key = event.target.dataset?.set;
    if (!key) return;
    if (event.target.nextElementSibling?.matches("output")) event.target.nextElementSibling.textContent = `${event.target.value} ${event.target.dataset.unit}`;
    changeSoon({ [key]: event.target.value });
  });
  document.addEventListener("click", (event) => {
    const { preset, more: who, tab, model } = event.target.dataset ?? {};
    if (preset) {
      const [ping, jitter, loss] = PRESETS[preset];
      const letter = byId("sheet").dataset.who;
      change({ [`${letter}.ping`]: ping, [`${letter}.jitter`]: jitter, [`${letter}.loss`]: loss });
      byId("sheet").hidden = true;
    } else if (model) {
      change({ model });
      byId("sheet").hidden = true;
    } else if (who) {
      more(who, event.target);
    } else if (tab && event.target.closest("#tabs")) {
      byId("graphs").dataset.tab = tab;
      draw();
    } else if (!event.target.closest("#sheet")) {
      byId("sheet").hidden = true;
    }
  });
  document.addEventListener("change", (event) => {
    const check = event.target.dataset?.check;
    if (check === "sight") change({ sight: event.target.checked ? 1 : 0 });
    if (check === "eyes") toggleEyes();
  });
  byId("sight").onchange = (event) => change({ sight: event.target.checked ? 1 : 0 });
  byId("scene-menu").onchange = (event) => openScene(event.target.value);
  byId("quantity").onchange = (event) => { page.quantity = event.target.value; draw(); };
  const clicks = {
    play: toggle, speed: () => setSpeed((page.speed + 1) % SPEEDS.length), back: () => step(-1), forth: () => step(1), share, take,
    help: () => byId("keys").showModal(), fairly: makeFair, outline: cycleOutline, eyes: toggleEyes,
  };
  // Space is for playing, not for the button that was pressed last.
  for (const [id, action] of Object.entries(clicks)) byId(id).onclick = (event) => { action(); if (event.detail) byId(id).blur(); };
  listenToWire();
  addEventListener("resize", () => { controls(); draw(); });
}

function listenToWire() {
  const wire = byId("wire");
  let held = null;
  wire.onpointerdown = (event) => {
    wire.setPointerCapture(event.pointerId);
    page.playing = false;
    const { isStrip, time } = windowOf(wire, page.run, page.t, event.offsetX, event.offsetY);
    held = { isStrip, x: event.offsetX, t: page.t };
    if (isStrip) seek(time); else draw();
  };
  wire.onpointermove = (event) => {
    const tip = byId("tip");
    if (held) {
      const { time, perPixel } = windowOf(wire, page.run, page.t, event.offsetX, event.offsetY, held.isStrip);
      seek(held.isStrip ? time : held.t - (event.offsetX - held.x) * perPixel);
      tip.hidden = true;
      return;
    }
    const packet = packetAt(wire, page.run, page.t, event.offsetX, event.offsetY);
    tip.hidden = !packet;
    if (packet) {
      tip.textContent = wordsOf(packet);
      tip.style.left = `${Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${event.clientY - 30}px`;
    }
  };
  wire.onpointerup = wire.onpointercancel = () => { held = null; };
  wire.onpointerleave = () => { byId("tip").hidden = true; };
}

await init();
const query = new URLSearchParams(location.search);
const wanted = Object.fromEntries(QUERY_KEYS.filter((key) => query.has(key)).map((key) => [key, query.get(key)]));
if (query.get("embed") === "1") document.body.classList.add("embed");
const t = Number.parseFloat(query.get("t"));
open(wanted, Number.isNaN(t) ? undefined : t);
listen();
window.sametick = {
  status: () => ({
    game: page.run.game, scene: page.run.scene, model: page.run.model, t: page.t, frame: frameAt(page.t), playing: page.playing, live: Boolean(page.run.live),
    speed: SPEED_NAMES[page.speed], outline: OUTLINES[page.outline], eyes: page.eyes, played: page.played, stopped: page.stopped, previous: page.previous?.name ?? null,
    trace: page.run.trace, hash: page.theatre.hash(frameAt(page.t)), took: page.took, link: page.run.link, errors,
    caption: byId("caption").classList.contains("shown") ? byId("caption").firstChild.textContent : "",
  }),
  hash: (frame) => page.theatre.hash(frame),
  // By player, up and down: what is drawn, what the line counted, what the channel counted; packets and bytes each.
  counted: () => [0, 1].map((player) => [true, false].map((up, way) => {
    // Straight from one to the other is up for the one and down for the other.
    const drawn = page.run.packets.filter((packet) => (packet.player === player && packet.up === up) || (!up && packet.to === player));
    const bytes = drawn.reduce((sum, packet) => sum + packet.bytes, 0);
    return [[drawn.length, bytes], page.run.sums[player][way].slice(0, 2), page.run.ends[player][way]];
  })),
  ticks: (pane) => page.run.frames.map((frame) => frame.panes[pane].tick),
  // The hash of a pane at every frame.
  hashes: (pane) => page.run.frames.map((_, frame) => page.theatre.hash(frame).split(" ")[pane]),
  seek: (t) => { page.playing = false; seek(t); }, moment: () => { page.playing = false; seek(momentAt() ?? 0); }, open, change,
};
requestAnimationFrame(tick);
