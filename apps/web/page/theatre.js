// The theatre's page: asks wasm for a run, keeps it, and draws any moment of it. All numbers come from the run; nothing
// here knows a game. `window.sametick` is for tests: status() tells what is on screen.
import init, { Theatre } from "./sametick_web.js";
import { drawPane, drawPlot, drawWire, packetAt, windowOf } from "./theatre-draw.js";

// What went wrong, for tests.
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));

const byId = (id) => document.getElementById(id);
const SPEEDS = [1, 1 / 4, 1 / 16];
const SPEED_NAMES = ["1×", "¼×", "¹⁄₁₆×"];
const OUTLINES = ["server", "none"];
const PRESETS = {
  LAN: [2, 0, 0], fibre: [15, 1, 0], "Wi-Fi": [35, 12, 1], mobile: [80, 25, 2], ocean: [180, 6, 0], awful: [250, 60, 8],
};
const QUERY_KEYS = ["scene", "model", "a.ping", "a.jitter", "a.loss", "b.ping", "b.jitter", "b.loss", "ticks", "snapshots", "sight", "silent"];

const page = {
  run: null, previous: null, wanted: {}, t: 0, playing: false, speed: 0, stopsAt: null, outline: 0, quantity: "error", took: 0,
  ages: [null, null, null],
};

function queryOf(wanted) {
  return Object.entries(wanted).map(([key, value]) => `${key}=${value}`).join("&");
}

// Takes a run out of wasm's memory, as objects.
function perform(wanted) {
  const begun = performance.now();
  const theatre = new Theatre(queryOf(wanted));
  const run = JSON.parse(theatre.words());
  const numbers = theatre.frames();
  run.frames = [];
  let at = 0;
  while (at < numbers.length) {
    const frame = { at: numbers[at++], tick: numbers[at++], panes: [] };
    for (let index = 0; index < 3; index++) {
      const count = numbers[at++];
      const pane = { tick: numbers[at++], margin: numbers[at++], correction: numbers[at++], age: numbers[at++], error: numbers[at++], own: numbers[at++], sees: numbers[at++] > 0, shapes: [] };
      for (let shape = 0; shape < count; shape++, at += 10) {
        const [id, kind, owner, x, y, z, facing, alive, radius, height] = numbers.subarray(at, at + 10);
        pane.shapes.push({ id, kind, owner, x, y, z, facing, alive: alive > 0, radius, height });
      }
      frame.panes.push(pane);
    }
    run.frames.push(frame);
  }
  const packets = theatre.packets();
  run.packets = [];
  for (let at = 0; at < packets.length; at += 7) {
    const [player, up, sent, arrived, bytes, cargo, tick] = packets.subarray(at, at + 7);
    run.packets.push({ player, up: up > 0, sent, arrived: arrived < 0 ? null : arrived, bytes, cargo, tick });
  }
  // When each screen shows the shot itself: its own time has come to the shot's tick.
  for (const shot of run.shots) {
    shot.at = run.frames[shot.frame].at;
    const tick = run.frames[shot.frame].tick;
    const first = run.frames.find((frame) => frame.panes[shot.by + 1].tick >= tick);
    shot.shownAt = first ? first.at : shot.at;
  }
  run.flags = flagsOf(run);
  run.hash = (frame) => theatre.hash(frame);
  run.end = run.frames.at(-1).at;
  run.bytes = [0, 1].map((player) => bytesOf(run, player));
  page.theatre?.free();
  page.theatre = theatre;
  page.took = performance.now() - begun;
  return run;
}

// Bytes of the last second on a player's line at each frame, both ways.
function bytesOf(run, player) {
  const packets = run.packets.filter((packet) => packet.player === player);
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

// A change is a fresh run; the moment on screen stays.
function change(changes) {
  const before = { ...page.wanted };
  page.wanted = { ...page.wanted, ...changes };
  const last = page.run;
  page.run = perform(page.wanted);
  if (last && last.scene === page.run.scene) {
    const differs = Object.keys(page.wanted).filter((key) => page.wanted[key] !== before[key]);
    const said = (key) => before[key] ?? { model: last.model, "a.ping": `${last.lines[0].ping} ms`, "b.ping": `${last.lines[1].ping} ms` }[key] ?? "as staged";
    page.previous = { run: last, name: differs.map((key) => `${key} ${said(key)}`).join(", ") };
  }
  page.stopsAt = null;
  page.t = Math.min(page.t, page.run.end);
  page.ages = [null, null, null];
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
  page.previous = null;
  page.wanted = wanted;
  page.run = perform(wanted);
  page.ages = [null, null, null];
  const moment = page.run.moment ? page.run.frames[page.run.moment.frame].at : null;
  page.stopsAt = t === undefined ? moment : null;
  page.t = t ?? Math.max(0, (moment ?? 3) - 3.2);
  page.speed = 0;
  page.playing = t === undefined && !matchMedia("(prefers-reduced-motion: reduce)").matches;
  controls();
  draw();
}

function controls() {
  const run = page.run;
  byId("sentences").textContent = run.sentences.join(" ");
  const scenes = byId("scenes");
  if (!scenes.children.length) {
    run.scenes.forEach(([key, title], index) => {
      const button = document.createElement("button");
      button.innerHTML = `<kbd>${index + 1}</kbd>${title}`;
      button.dataset.scene = key;
      button.onclick = () => open({ scene: key });
      scenes.append(button);
      byId("scene-menu").add(new Option(title, key));
    });
    run.models.forEach((name) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.dataset.model = name;
      button.onclick = () => (innerWidth <= 700 ? nextModel() : change({ model: name }));
      byId("models").append(button);
    });
  }
  for (const button of scenes.children) button.setAttribute("aria-pressed", button.dataset.scene === run.scene);
  for (const button of byId("models").children) button.setAttribute("aria-pressed", button.dataset.model === run.model);
  byId("scene-menu").value = run.scene;
  byId("sight").checked = run.sight;
  run.lines.forEach((line, index) => {
    const letter = "ab"[index];
    const pane = document.querySelector(`[data-who="${letter}"]`);
    pane.querySelector("input").value = line.ping;
    pane.querySelector("output").textContent = `${line.ping} ms`;
    pane.querySelector(".more").textContent = innerWidth <= 700 ? `ping ${line.ping} ms` : `jitter ${line.jitter}, lost ${line.loss} %`;
  });
  document.querySelector("[data-more='server']").textContent = `${run.ticks} ticks, ${Math.round((run.ticks / run.snapshots) * 10) / 10} snapshots/s`;
}

function draw() {
  const run = page.run;
  const number = frameAt(page.t);
  const frame = run.frames[number];
  for (const section of document.querySelectorAll(".pane")) {
    const index = Number(section.dataset.pane);
    const pane = frame.panes[index];
    let title = `Server: tick ${frame.tick}`;
    if (index > 0) {
      const [own, other] = index === 1 ? ["A", "B"] : ["B", "A"];
      const age = Number.isNaN(pane.age) ? page.ages[index] : (page.ages[index] = Math.round(pane.age));
      const shown = Number.isNaN(pane.age) ? `shows ${other} standing` : `shows ${other} as ${other} was ${age} ms ago`;
      title = `${own === "A" ? "●" : "◆"} ${own}'s screen ${shown}`;
    }
    section.querySelector("h2").textContent = title;
    drawPane(section.querySelector("canvas"), run, number, index, page.t, OUTLINES[page.outline]);
  }
  drawWire(byId("wire"), run, page.t);
  drawPlot(byId("plot"), run, page.previous, page.t, page.quantity);
  const caption = byId("caption");
  const moment = run.moment;
  const isShown = moment && number >= moment.frame && page.t < run.frames[moment.frame].at + 1.2;
  caption.classList.toggle("shown", Boolean(isShown));
  if (moment) caption.innerHTML = moment.caption.replace(/\*\*(.+?)\*\*/g, "<b>$1</b>");
  byId("fair").classList.toggle("asks", Boolean(isShown) && !run.sight && ["cover", "tree"].includes(run.scene));
  byId("time").textContent = innerWidth <= 700 ? `${page.t.toFixed(2)} s` : `${page.t.toFixed(2)} of ${run.end.toFixed(0)} s, tick ${frame.tick}`;
  byId("play").textContent = page.playing ? "Pause" : "Play";
  byId("speed").textContent = SPEED_NAMES[page.speed];
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
  const passed = last === null ? 0 : Math.min(0.1, (now - last) / 1000);
  last = now;
  if (page.playing) {
    const next = page.t + passed * pace();
    if (page.stopsAt !== null && next >= page.stopsAt) {
      Object.assign(page, { t: page.stopsAt, playing: false, stopsAt: null, speed: 1 });
    } else if (next >= page.run.end) {
      Object.assign(page, { t: page.run.end, playing: false });
    } else {
      page.t = next;
    }
    draw();
  }
  requestAnimationFrame(tick);
}

function seek(t) {
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
  const moment = page.run.moment ? [{ at: page.run.frames[page.run.moment.frame].at }] : [];
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

function link() {
  return `${location.origin}${location.pathname}?${page.run.link}&t=${page.t.toFixed(2)}`;
}

async function share() {
  history.replaceState(null, "", link());
  let word = "Link copied";
  try { await navigator.clipboard.writeText(link()); } catch { word = "Link in the address bar"; }
  byId("share").textContent = word;
  setTimeout(() => { byId("share").textContent = "Copy link"; }, 1600);
}

// The rest of a line, or of the server.
function more(who, anchor) {
  const sheet = byId("sheet");
  if (!sheet.hidden && sheet.dataset.who === who) { sheet.hidden = true; return; }
  sheet.dataset.who = who;
  const line = page.run.lines["ab".indexOf(who)];
  const sliders = who === "server"
    ? [["ticks", "ticks a second", page.run.ticks, 20, 128, ""], ["snapshots", "ticks a snapshot", page.run.snapshots, 1, 12, ""]]
    : [[`${who}.ping`, "ping", line.ping, 0, 400, "ms"], [`${who}.jitter`, "jitter, each way", line.jitter, 0, 100, "ms"], [`${who}.loss`, "lost, each way", line.loss, 0, 30, "%"]];
  sheet.innerHTML = sliders.map(([key, name, value, least, most, unit]) =>
    `<label><span>${name}</span><input type="range" data-set="${key}" data-unit="${unit}" min="${least}" max="${most}" value="${value}"><output>${value} ${unit}</output></label>`).join("")
    + (who === "server" ? "" : `<div class="presets">${Object.keys(PRESETS).map((name) => `<button data-preset="${name}">${name}</button>`).join("")}</div>`);
  sheet.hidden = false;
  const box = anchor.getBoundingClientRect();
  sheet.style.left = `${Math.max(8, Math.min(innerWidth - 308, box.right - 300))}px`;
  sheet.style.top = `${box.bottom + 4}px`;
}

function listen() {
  addEventListener("keydown", (event) => {
    const isField = event.target.matches?.("input[type=range], select");
    if (event.ctrlKey || event.metaKey || event.altKey || (isField && /^Arrow|^ $|Home|End|Page/.test(event.key))) return;
    const scene = page.run.scenes[Number(event.key) - 1];
    const actions = {
      " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), n: () => flag(1), p: () => flag(-1),
      ",": () => { page.speed = Math.min(2, page.speed + 1); draw(); }, ".": () => { page.speed = Math.max(0, page.speed - 1); draw(); },
      m: nextModel, l: share, "?": () => byId("keys").showModal(), g: () => { page.outline = (page.outline + 1) % OUTLINES.length; draw(); },
      Escape: () => { byId("sheet").hidden = true; },
    };
    const action = scene && event.key >= "1" ? () => open({ scene: scene[0] }) : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action) { event.preventDefault(); action(); }
  });
  document.addEventListener("input", (event) => {
    const key = event.target.dataset?.set;
    if (!key) return;
    if (event.target.nextElementSibling?.matches("output")) event.target.nextElementSibling.textContent = `${event.target.value} ${event.target.dataset.unit}`;
    changeSoon({ [key]: event.target.value });
  });
  document.addEventListener("click", (event) => {
    const preset = event.target.dataset?.preset;
    if (preset) {
      const who = byId("sheet").dataset.who;
      const [ping, jitter, loss] = PRESETS[preset];
      change({ [`${who}.ping`]: ping, [`${who}.jitter`]: jitter, [`${who}.loss`]: loss });
      byId("sheet").hidden = true;
    } else if (event.target.dataset?.more) {
      more(event.target.dataset.more, event.target);
    } else if (event.target.dataset?.tab && event.target.closest("#tabs")) {
      byId("graphs").dataset.tab = event.target.dataset.tab;
      draw();
    } else if (!event.target.closest("#sheet")) {
      byId("sheet").hidden = true;
    }
  });
  byId("sight").onchange = (event) => change({ sight: event.target.checked ? 1 : 0 });
  byId("scene-menu").onchange = (event) => open({ scene: event.target.value });
  byId("quantity").onchange = (event) => { page.quantity = event.target.value; draw(); };
  byId("play").onclick = toggle;
  byId("speed").onclick = () => { page.speed = (page.speed + 1) % SPEEDS.length; draw(); };
  byId("back").onclick = () => step(-1);
  byId("forth").onclick = () => step(1);
  byId("share").onclick = share;
  byId("help").onclick = () => byId("keys").showModal();
  const wire = byId("wire");
  let held = null;
  wire.onpointerdown = (event) => {
    wire.setPointerCapture(event.pointerId);
    page.playing = false;
    const { isStrip, time } = windowOf(wire, page.run, page.t, event.offsetX, event.offsetY);
    held = { isStrip, x: event.offsetX, t: page.t };
    if (isStrip) seek(time);
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
      const what = ["upkeep", `commands to tick ${packet.tick}`, `snapshot, tick ${packet.tick}`][packet.cargo];
      const way = packet.arrived === null ? "lost" : `${Math.round((packet.arrived - packet.sent) * 1000)} ms`;
      tip.textContent = `${what}, ${packet.bytes} bytes, ${way}`;
      tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 260)}px`;
      tip.style.top = `${event.clientY - 30}px`;
    }
  };
  wire.onpointerup = wire.onpointercancel = () => { held = null; };
  wire.onpointerleave = () => { byId("tip").hidden = true; };
  addEventListener("resize", () => { controls(); draw(); });
}

await init();
const query = new URLSearchParams(location.search);
const wanted = Object.fromEntries(QUERY_KEYS.filter((key) => query.has(key)).map((key) => [key, query.get(key)]));
if (query.get("embed") === "1") document.body.classList.add("embed");
const t = Number.parseFloat(query.get("t"));
open({ scene: "cover", ...wanted }, Number.isNaN(t) ? undefined : t);
listen();
window.sametick = {
  status: () => ({
    scene: page.run.scene, model: page.run.model, t: page.t, frame: frameAt(page.t), playing: page.playing, trace: page.run.trace,
    hash: page.run.hash(frameAt(page.t)), took: page.took, caption: byId("caption").classList.contains("shown") ? byId("caption").textContent : "",
    link: page.run.link, errors, sideways: document.documentElement.scrollWidth > innerWidth,
  }),
  seek: (t) => { page.playing = false; seek(t); }, open, change,
};
requestAnimationFrame(tick);
