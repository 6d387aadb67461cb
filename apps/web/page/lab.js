// A participant's page: takes a seat by its code, shows what the study is at, and has the match in a frame. The server
// decides what is shown; this page only asks, and says what the participant did. Who one is, is a code.

import { Calibration } from "./lab-calibration.js";
import { ask as askQuestions } from "./lab-questions.js";
import { element, put } from "./elements.js";

// A request that is not answered is not waited for: the next one may be.
const ANSWER_MILLIS_MAX = 5000;
const POLL_MILLIS = 500;
const AGAIN_MILLIS = 2000;
const CALIBRATE_TRIES = 5;
// Under this name the frame finds what leads to the seat; with the code behind it, it outlives the tab.
const SECRET = "sametick.lab";

const [sheet, trouble, over, stop] = ["sheet", "trouble", "over", "stop"].map((id) => document.getElementById(id));
const options = new URLSearchParams(location.search);

let code = "";
let secret = "";
// What is shown, so that it is made anew only when it is another.
let shown = "";
let stage = { stage: "loading" };
let frame = null;
let frameState = "idle";
let isLocked = false;
let playing = "";
let calibration = null;
let isStopped = false;
let isSending = false;
let isDeclining = false;
let timer = 0;

// Storage may be refused; then a closed tab is another participant's worry, not a reason to stop.
const kept = {
  // By its name: merely to look at a storage that is refused fails.
  get: (store, name) => { try { return window[store].getItem(name); } catch { return null; } },
  set: (store, name, value) => { try { window[store].setItem(name, value); } catch { /* not kept */ } },
};

class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

// Requests in the order in which they were sent; an answer that was overtaken by that to a later one tells of the past.
let sent = 0;
let taken = 0;

async function api(path, body) {
  sent += 1;
  const number = sent;
  const headers = secret ? { Authorization: `Bearer ${secret}` } : {};
  const request = { cache: "no-store", headers, signal: AbortSignal.timeout(ANSWER_MILLIS_MAX) };
  if (body) Object.assign(request, { method: "POST", body: JSON.stringify(body), headers: { ...headers, "Content-Type": "application/json" } });
  const response = await fetch(path, request);
  const text = await response.text();
  let told = {};
  try { told = JSON.parse(text); } catch { told = { error: text.trim() }; }
  if (!response.ok) throw new Refused(response.status, told.error || `The server answered with status ${response.status}.`);
  Object.defineProperty(told, "number", { value: number, enumerable: false });
  return told;
}

// ---- Taking the seat ----

function clean(text) { return text.toUpperCase().replace(/[^0-9A-Z]/g, "").slice(0, 24); }

async function claim(wanted) {
  code = clean(wanted);
  const known = kept.get("localStorage", `${SECRET}.${code}`);
  const told = await api("lab/claim", known ? { code, secret: known } : { code });
  secret = told.secret;
  kept.set("sessionStorage", SECRET, secret);
  kept.set("localStorage", `${SECRET}.${code}`, secret);
  kept.set("sessionStorage", `${SECRET}.code`, code);
  if (clean(location.hash) !== code) history.replaceState(null, "", `#${code}`);
  document.getElementById("code").textContent = code;
  onlyHere();
  isStopped = false;
  await poll();
}

// One tab has the seat: the one that was opened last.
let channel = null;
const self = Math.random();
function onlyHere() {
  if (typeof BroadcastChannel === "undefined") return;
  channel?.close();
  channel = new BroadcastChannel(`${SECRET}.${code}`);
  channel.onmessage = ({ data }) => {
    if (data === self) return;
    isStopped = true;
    clearTimeout(timer);
    leaveMatch();
    secret = "";
    show("elsewhere", () => [
      element("h1", "The study goes on in another tab"),
      element("p", "You opened your link again, and that tab has your place now. You can close this one."),
      acts(button("Go on here instead", () => enter(code))),
    ]);
  };
  channel.postMessage(self);
}

async function enter(wanted) {
  // Whatever is still under way for another code is of no concern any more.
  isStopped = true;
  isDeclining = false;
  stop.hidden = true;
  clearTimeout(timer);
  secret = "";
  try {
    await claim(wanted);
  } catch (error) {
    if (error.status === 409) {
      show("held", () => [
        element("h1", "Your code is in use in another window"),
        element("p", "Close it there, and the study goes on here. This page tries again by itself."),
      ]);
    } else if (error.status === undefined || error.status === 429) {
      warn(error.status ? error.message : "The study does not answer. Trying again.");
    } else {
      askForCode(wanted, error.message);
      return;
    }
    timer = setTimeout(() => enter(wanted), AGAIN_MILLIS);
  }
}

function askForCode(before, problem) {
  show(`code ${problem}`, () => {
    const input = element("input", { id: "code-field", name: "code", value: before ?? "", maxLength: 14, autocomplete: "off", spellcheck: false });
    const form = element("form", { class: "field" }, element("label", { for: "code-field" }, "Your code"), input,
      acts(element("button", { class: "main" }, "Join")));
    form.addEventListener("submit", (event) => { event.preventDefault(); if (clean(input.value)) enter(input.value); });
    setTimeout(() => input.focus());
    return [
      element("h1", "Take your seat"),
      element("p", "You were given a code of ten letters and digits, or a link that has it. It is all that the study knows you by."),
      problem ? element("p", { class: "problem", role: "alert" }, sentence(problem)) : null,
      form,
    ];
  });
}

// ---- Asking what there is to show ----

// The server speaks in the middle of sentences.
function sentence(words) {
  const text = words.trim();
  const whole = /[.!?…]$/.test(text) ? text : `${text}.`;
  return whole[0].toUpperCase() + whole.slice(1);
}

function warn(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

async function poll() {
  clearTimeout(timer);
  if (isStopped) return;
  const asked = secret;
  try {
    const told = await api("lab/seat");
    if (isStopped || asked !== secret) return;
    take(told);
    warn("");
  } catch (error) {
    if (isStopped || asked !== secret) return;
    if (error.status === 401 || error.status === 403) {
      // Another page has the seat, or the study was begun anew.
      secret = "";
      enter(code);
      return;
    }
    warn(error.status === undefined ? "The study does not answer. Trying again." : error.message);
  }
  clearTimeout(timer);
  timer = setTimeout(poll, POLL_MILLIS);
}

// Says what the participant did; the answer is what comes next.
async function act(what, isShown = true) {
  try {
    const told = await api("lab/seat", what);
    if (isShown) take(told); else taken = Math.max(taken, told.number);
    warn("");
    return true;
  } catch (error) {
    warn(error.status === undefined ? "The study does not answer. Please try again." : error.message);
    return false;
  }
}

// The server may want to look at the line for a moment longer.
async function calibrate(measured) {
  for (let tries = 0; tries < CALIBRATE_TRIES; tries += 1) {
    try {
      take(await api("lab/seat", { do: "calibrate", ...measured }));
      return;
    } catch (error) {
      if (error.status !== 409) { warn(error.status === undefined ? "The study does not answer. Please try again." : error.message); return; }
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
  warn("Your line could not be measured. Please try again.");
}

function take(told) {
  if (told.number < taken) return;
  taken = told.number;
  stage = told;
  if (told.title) document.getElementById("title").textContent = told.title;
  document.title = told.title ? `${told.title}: Sametick Lab` : "Sametick Lab";
  showProgress(told);
  const needsFrame = ["calibration", "ready", "waiting", "play", "break"].includes(told.stage);
  if (needsFrame) openFrame();
  if (told.stage !== "play" && told.stage !== "calibration") leaveMatch();
  if (!["play", "calibration", "waiting"].includes(told.stage)) frame?.contentWindow.lab?.release();
  stop.hidden = !["calibration", "refused", "waiting", "ready", "break", "questions"].includes(told.stage);
  if (told.stage === "thanks") isDeclining = false;
  if (isDeclining && told.stage !== "play") { decline(told); return; }
  const painter = painters[told.stage];
  if (painter) painter(told);
}

// Whoever stops for good is asked once more.
function decline({ stage: before }) {
  const isFirst = before === "consent";
  show("declining", () => [
    element("h1", isFirst ? "Do you not take part?" : "Do you want to stop taking part?"),
    element("p", `The study is then over for you and for whoever ${isFirst ? "would have played" : "plays"} with you. It cannot be taken back.`),
    isFirst ? null : element("p", "What you have played so far is left out of the analysis. To go on another time, close the page instead and open the same link again."),
    acts(button(isFirst ? "I do not take part" : "Stop taking part", () => act({ do: "decline" })),
      button("Back", () => { isDeclining = false; poll(); }, "main")),
  ]);
}

function showProgress({ stage, place, of, is_practice, round, rounds, trial }) {
  const words = document.getElementById("place");
  const bar = document.getElementById("progress");
  if (stage === "questions" && (trial === null || trial === undefined)) {
    // Those at the end come after all rounds.
    words.textContent = "Last questions";
    bar.firstElementChild.style.width = "100%";
    bar.setAttribute("aria-valuenow", 100);
  } else if (place && of) {
    words.textContent = is_practice ? "Practice" : `Round ${round} of ${rounds}`;
    const done = Math.round(100 * (place - 1) / of);
    bar.firstElementChild.style.width = `${done}%`;
    bar.setAttribute("aria-valuenow", done);
  } else if (stage === "thanks") {
    words.textContent = "Done";
    bar.firstElementChild.style.width = "100%";
    bar.setAttribute("aria-valuenow", 100);
  } else if (["consent", "calibration"].includes(stage)) {
    words.textContent = stage === "consent" ? "" : "Set up";
  }
}

// Makes the sheet anew if it is to show something else.
function show(key, make) {
  if (key === shown) return false;
  shown = key;
  document.body.dataset.stage = key.split(" ")[0];
  put(sheet, ...make());
  scrollTo(0, 0);
  // Nobody agrees by a key that was meant for something else.
  const first = key.startsWith("consent") ? null : sheet.querySelector("input, textarea, select, button.main");
  (first ?? sheet).focus({ preventScroll: true });
  return true;
}

function acts(...buttons) { return element("div", { class: "acts" }, ...buttons); }

function button(text, call, kind = "", key = "") {
  const made = element("button", { class: kind, type: "button" }, text, key ? element("kbd", key) : null);
  made.addEventListener("click", async () => { made.disabled = true; await call(); made.disabled = false; });
  return made;
}

function paragraphs(text) {
  return String(text ?? "").trim().split(/\n\s*\n/).map((part) => element("p", part.replace(/\s*\n\s*/g, " ")));
}

const painters = {
  consent({ title, text }) {
    show(`consent ${text}`, () => [
      element("h1", title || "Before you begin"),
      ...paragraphs(text),
      acts(button("I agree, begin", () => act({ do: "consent" }), "main"),
        button("No, thank you", () => { isDeclining = true; poll(); })),
      element("p", { class: "small" }, "You can stop at any time: close this page, or between rounds press the button at the top, which also has your rounds left out. Whoever only closes the page can come back to it by the same link. The study knows you by your code only."),
    ]);
  },

  calibration(told) {
    const isNew = show("calibration", () => {
      calibration = new Calibration({
        set: (name, value) => {
          if (name === "invert") kept.set("localStorage", `${SECRET}.invert`, value);
          frame?.contentWindow.lab?.set(name, value);
        },
        done: (measured) => calibrate(measured),
        hand: told.hand,
      });
      return calibration.elements;
    });
    if (isNew) playing = "";
    calibration.floor(told.floor_ms);
    joinMatch("calibration");
  },

  // Why in figures, the experimenter reads: they would tell of a condition.
  refused() {
    show("refused", () => [
      element("h1", "This study cannot be done from here"),
      element("p", "Your connection answers too slowly for one of the study’s rounds. Close whatever else uses your line and have it measured again, or tell whoever invited you."),
      element("p", { class: "small" }, "Nothing was recorded that counts against you."),
      acts(button("Measure again", () => act({ do: "measure" }), "main")),
    ]);
  },

  waiting({ why }) {
    show(`waiting ${why}`, () => [
      element("h1", { class: "dots" }, "Please wait"),
      element("p", why),
      element("p", { class: "small" }, "Stay at this page: the next round begins by itself. ", element("kbd", "Esc"), " frees the mouse."),
    ]);
  },

  ready({ place, round, rounds, is_practice, letter, role, interval }) {
    show(`ready ${place} ${interval} ${letter}`, () => {
      const title = is_practice ? "Practice round" : `Round ${round} of ${rounds}`;
      const which = interval ? element("p", interval === 1 ? "The first of two short rounds. A question about both follows." : "The second of two.") : null;
      const begin = async () => {
        // Of the same gesture: the mouse goes to the match now, so that nothing is to be clicked when it begins.
        frame?.contentWindow.lab?.take();
        if (!await act({ do: "ready" })) frame?.contentWindow.lab?.release();
      };
      return [
        element("div", { class: "round" },
          letter ? element("div", { class: "letter", title: "The letter of this round's condition; what it stands for is not told" }, element("b", letter)) : null,
          element("div", {}, element("h1", title), letter ? element("p", { class: "quiet" }, `Condition ${letter}`) : null,
            is_practice ? element("p", { class: "quiet" }, "It does not count.") : null)),
        which,
        role ? element("p", { class: "role" }, "Your part in this round: ", element("b", role), ".") : null,
        element("p", "The round begins soon after everyone is ready. Your mouse then belongs to the match."),
        acts(button("I am ready", begin, "main", "Enter")),
      ];
    });
  },

  play(told) {
    show("play", () => []);
    joinMatch(`${told.trial} ${told.attempt}`);
    cover();
  },

  break({ seconds_left }) {
    show("break", () => [
      element("h1", "Take a rest"),
      element("p", "Look away from the screen, stretch your hands. The next round comes when the time is over and you are ready."),
      element("p", { class: "count", id: "rest", role: "timer" }),
    ]);
    const minutes = Math.floor(seconds_left / 60);
    document.getElementById("rest").textContent = minutes ? `${minutes} min ${seconds_left % 60} s` : `${seconds_left} s`;
  },

  questions({ trial, questions }) {
    if (isSending) return;
    show(`questions ${trial} ${questions.map(({ question }) => question)}`, () => askQuestions(questions, async (answers) => {
      // The form stays until all of it is said.
      isSending = true;
      try {
        for (const [place, answer] of answers.entries()) {
          if (!await act({ do: "answer", trial, ...answer }, place === answers.length - 1)) return;
        }
      } finally {
        isSending = false;
      }
    }, trial));
  },

  thanks({ text }) {
    show(`thanks ${text}`, () => [
      element("h1", "Thank you"),
      ...paragraphs(text || "The study is over, and everything was saved."),
      element("p", { class: "small" }, "You can close this page."),
    ]);
    frame?.remove();
    frame = null;
  },
};

// ---- The match ----

function openFrame() {
  if (frame) return;
  const asked = new URLSearchParams({ lab: "on" });
  for (const name of ["link", "shadows"]) if (options.has(name)) asked.set(name, options.get(name));
  frame = element("iframe", { id: "frame", title: "The match", src: `index.html?${asked}`, allow: "autoplay; fullscreen" });
  document.body.append(frame);
}

function joinMatch(which) {
  if (playing === which || !frame?.contentWindow.lab) return;
  playing = which;
  frame.contentWindow.lab.join();
  frame.contentWindow.focus();
}

function leaveMatch() {
  over.hidden = true;
  if (!playing) return;
  playing = "";
  frame?.contentWindow.lab?.leave();
}

// What is said over the match while there is none.
function cover() {
  const words = stage.stage !== "play" ? "" : { playing: "", lost: "One moment…" }[frameState] ?? "Get ready";
  over.textContent = words;
  over.hidden = !words;
}

addEventListener("message", ({ origin, source, data }) => {
  if (origin !== location.origin || source !== frame?.contentWindow || !data?.sametick) return;
  if (data.kind === "ready") {
    // What the participant has set, the server keeps but for this.
    frame.contentWindow.lab.set("invert", kept.get("localStorage", `${SECRET}.invert`) === "on" ? "on" : "off");
    poll();
  } else if (data.kind === "state") {
    frameState = data.state;
    cover();
    // Over here means over there, or nearly: what comes next is not waited for.
    if (data.state === "lost") setTimeout(poll, 50);
  } else if (data.kind === "second") {
    calibration?.second(data);
    if (stage.stage === "play" && playing === `${stage.trial} ${stage.attempt}`) {
      const { trial, attempt } = stage;
      api("lab/telemetry", { trial, attempt, second: data.second, ...data.telemetry }).catch(() => { /* the next one tells, too */ });
    }
  } else if (data.kind === "keys") {
    calibration?.keys(data.keys);
  } else if (data.kind === "did") {
    calibration?.did(data.what);
  } else if (data.kind === "lock") {
    isLocked = data.locked;
  } else if (data.kind === "key" && stage.stage === "calibration") {
    calibration?.key(data.code, isLocked);
  }
});

// Enter does what the large button says, wherever the focus is; but for consent, which wants a choice.
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.repeat || stage.stage === "consent" || event.target.closest?.("button, a, textarea, input, select, form")) return;
  sheet.querySelector("button.main:not(:disabled)")?.click();
});
// A key that is held down presses a button once.
addEventListener("keydown", (event) => {
  if (event.repeat && ["Enter", " "].includes(event.key) && event.target.closest?.("button")) event.preventDefault();
}, { capture: true });
stop.addEventListener("click", () => { isDeclining = true; poll(); });
addEventListener("hashchange", () => { if (clean(location.hash) && clean(location.hash) !== code) enter(location.hash); });

// What tests read.
window.sametickLab = { get stage() { return stage; }, get frame() { return frameState; } };

const first = clean(location.hash) || kept.get("sessionStorage", `${SECRET}.code`);
if (first) enter(first); else askForCode("", "");
