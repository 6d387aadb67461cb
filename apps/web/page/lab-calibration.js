// Calibration: the participant sets the mouse, shows that hands and keys work, and the page and the server measure the
// display and the line meanwhile.

import { element } from "./elements.js";

// So many seconds are measured, after the first, in which the page is still loading.
const SECONDS = 5;
const LOADING_SECONDS = 2;
// Whoever cannot do something here is not kept for longer than this.
const PATIENCE_MILLIS = 60000;
const SPEED = { least: 0.5, most: 20, step: 0.5, usual: 6 };

const CHECKS = [
  ["look", "Look around with the mouse"],
  ["walk", "Walk with W, A, S and D"],
  ["fire", "Shoot with the left button"],
  ["display", "Your display is measured"],
  ["line", "Your line is measured"],
];

const halves = (degrees) => Math.round(degrees / SPEED.step) * SPEED.step;
const shown = (degrees) => `${Number(degrees.toFixed(2))}°`;

export class Calibration {
  #seconds = [];
  #count = 0;
  #did = new Set();
  #floor = null;
  #road = "";
  #hertz = null;
  #rows = new Map();
  #set;
  #done;
  #began = performance.now();
  #isSent = false;
  // Degrees for a hundred dots; what the study gives is kept exactly until somebody moves the slider.
  #degrees;
  #keys = "";

  constructor({ set, done, hand }) {
    this.#set = set;
    this.#done = done;
    this.#degrees = hand?.sensitivity ?? SPEED.usual;
    const [least, most] = [Math.min(SPEED.least, this.#degrees), Math.max(SPEED.most, this.#degrees)];
    this.speed = element("input", { type: "range", id: "speed", min: String(least), max: String(most), step: "any", value: String(this.#degrees) });
    this.output = element("output", { for: "speed" }, "");
    this.invert = element("input", { type: "checkbox", id: "invert" });
    this.invert.checked = !!hand?.invert;
    this.button = element("button", { class: "main", type: "button", disabled: true }, "This feels right");
    this.speed.addEventListener("input", () => { this.#degrees = halves(Number(this.speed.value)); this.#apply(); });
    this.speed.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (steps) { event.preventDefault(); this.#turn(steps); }
    });
    this.invert.addEventListener("change", () => this.#apply());
    this.button.addEventListener("click", () => this.#finish());
    const checks = CHECKS.map(([name, text]) => {
      const row = element("li", text);
      this.#rows.set(name, row);
      return row;
    });
    this.elements = [
      element("h1", "Set up your mouse"),
      element("p", "Click into the picture: the mouse then aims. ", element("kbd", { class: "inline" }, "Esc"), " brings it back to this page."),
      element("div", { class: "slide" }, element("label", { for: "speed" }, "Mouse speed ", element("span", { class: "small" }, "(− and +)")), this.output, this.speed),
      element("label", { class: "tick" }, this.invert, "Pull to look up"),
      element("ul", { class: "checks" }, ...checks),
      this.button,
    ];
    this.output.textContent = shown(this.#degrees);
  }

  #turn(steps) {
    const { min, max } = this.speed;
    this.#degrees = Math.min(Math.max(halves(this.#degrees + steps * SPEED.step), Number(min)), Number(max));
    this.#apply();
  }

  #apply() {
    this.speed.value = String(this.#degrees);
    this.output.textContent = shown(this.#degrees);
    this.#set("sensitivity", this.#degrees);
    this.#set("invert", this.invert.checked ? "on" : "off");
  }

  key(code, isLocked) {
    const step = { Minus: -1, NumpadSubtract: -1, Equal: 1, NumpadAdd: 1, BracketRight: 1 }[code];
    if (step) {
      this.#turn(step);
    } else if (isLocked && !this.button.disabled) {
      this.#finish();
    }
  }

  // The keys that the page goes by, which a study may have chosen.
  keys({ walk, fire, changed }) {
    this.#keys = changed;
    const names = walk.map(({ title }) => title);
    this.#rows.get("walk").firstChild.data = `Walk with ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
    this.#rows.get("fire").firstChild.data = `Shoot with ${fire.key.startsWith("Mouse") ? `the ${fire.title.toLowerCase()}` : fire.title}`;
  }

  did(what) { this.#did.add(what); this.#show(); }

  // The server's word on the line; none until it has one.
  floor(ms) {
    if (typeof ms === "number") { this.#floor = ms; this.#show(); }
  }

  second({ telemetry, refresh_hz, road }) {
    this.#count += 1;
    if (this.#count === 1) this.#apply();
    if (this.#count <= LOADING_SECONDS || !telemetry.frames) return;
    this.#seconds.push(telemetry);
    if (this.#seconds.length > SECONDS) this.#seconds.shift();
    this.#hertz = refresh_hz ?? this.#hertz;
    this.#road = road || this.#road;
    this.#show();
  }

  #frames() {
    const sorted = this.#seconds.map(({ frame_ms_95 }) => frame_ms_95).sort((a, b) => a - b);
    return sorted[sorted.length >> 1] ?? 0;
  }

  #show() {
    const isMeasured = this.#seconds.length >= SECONDS;
    const ping = this.#floor ?? this.#seconds.at(-1)?.ping_ms ?? null;
    const hz = this.#hertz ? `${Math.round(this.#hertz)} pictures a second` : "";
    this.#tell("display", isMeasured, isMeasured ? `${hz}, 95 % within ${this.#frames().toFixed(0)} ms` : "a few seconds…");
    const line = ping === null ? "a few seconds…" : `${ping.toFixed(0)} ms there and back${this.#road ? `, ${this.#road}` : ""}`;
    this.#tell("line", isMeasured && ping !== null, line);
    for (const what of ["look", "walk", "fire"]) this.#tell(what, this.#did.has(what), "");
    const isLong = performance.now() - this.#began > PATIENCE_MILLIS;
    const hasAll = CHECKS.every(([name]) => this.#rows.get(name).classList.contains("done"));
    const was = this.button.disabled;
    this.button.disabled = this.#isSent || !isMeasured || ping === null || !(hasAll || isLong);
    if (was && !this.button.disabled) this.button.append(element("kbd", "Enter"));
  }

  #tell(name, isDone, figure) {
    const row = this.#rows.get(name);
    row.classList.toggle("done", isDone);
    let small = row.querySelector("small");
    if (figure && !small) { small = element("small"); row.append(small); }
    if (small) small.textContent = figure;
  }

  async #finish() {
    this.#isSent = true;
    this.button.disabled = true;
    const hasHands = ["look", "walk", "fire"].every((what) => this.#did.has(what));
    await this.#done({
      refresh_hz: this.#hertz ?? 0,
      frame_ms_95: this.#frames(),
      sensitivity: this.#degrees,
      keys: this.#keys,
      invert: this.invert.checked,
      width: innerWidth,
      height: innerHeight,
      pixel_ratio: devicePixelRatio,
      road: this.#road,
      input: hasHands ? "mouse and keyboard" : "not tried",
    });
    this.#isSent = false;
    this.#show();
  }
}
