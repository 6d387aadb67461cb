// The experimenter's page: asks each second how the study is and draws it; whatever the experimenter does asks why
// first. Shows codes and letters; scores it is not given.

import { drawn, element, put } from "./elements.js";

// A request that is not answered is not waited for: the next one may be.
const ANSWER_MILLIS_MAX = 5000;
const POLL_MILLIS = 1000;
const TOLD_MILLIS = 8000;
// A trace is a minute, a value a second.
const TRACE_SECONDS = 60;
const [TRACE_WIDTH, TRACE_HEIGHT, TRACE_SCALE] = [180, 44, 30];
// The least that a trace's height stands for, so that a quiet line looks quiet.
const TRACE_MS_MIN = 40;

const at = (id) => document.getElementById(id);
let state = null;
let timer = 0;

async function api(path, body) {
  const request = { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MILLIS_MAX) };
  if (body) Object.assign(request, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  const response = await fetch(path, request);
  const text = await response.text();
  let told = {};
  try { told = JSON.parse(text); } catch { told = { error: text.trim() }; }
  if (!response.ok) throw Object.assign(new Error(told.error || `The server answered with status ${response.status}.`), { status: response.status });
  return told;
}

// ---- The way in ----

function askPassword(problem) {
  document.body.dataset.screen = "login";
  at("denied").textContent = problem;
  at("denied").hidden = !problem;
  at("password").focus();
}

at("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const send = at("login").querySelector("button");
  send.disabled = true;
  at("denied").hidden = true;
  try {
    await api("live/login", { password: at("password").value });
    at("password").value = "";
    await poll();
  } catch (error) {
    askPassword(error.status === 401 || error.status === 403 ? "That is not the password." : error.message);
  }
  send.disabled = false;
});

// ---- How it is ----

async function poll() {
  clearTimeout(timer);
  try {
    state = await api("live/state");
    at("trouble").hidden = true;
    document.body.dataset.screen = "live";
    draw();
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      const wasIn = document.body.dataset.screen === "live";
      askPassword(wasIn ? "The study was started again: log in once more. Its password may be another one." : "");
      return;
    }
    at("trouble").textContent = error.status === undefined ? "The study does not answer. What is below is old." : error.message;
    at("trouble").hidden = false;
    if (document.body.dataset.screen === "loading") askPassword("The study does not answer.");
  }
  timer = setTimeout(poll, POLL_MILLIS);
}

// Text that is the same is left alone: whoever selects it keeps it.
function say(id, text) {
  if (at(id).textContent !== text) at(id).textContent = text;
}

const drawnKeys = new Map();
function isNews(what, value) {
  const key = JSON.stringify(value);
  if (drawnKeys.get(what) === key) return false;
  drawnKeys.set(what, key);
  return true;
}

function draw() {
  say("title", state.title || "Study");
  document.title = `${state.title || "Study"}: live`;
  say("question", state.question || "");
  say("left", clock(state.seconds_left));
  const here = state.seats.filter(({ is_here }) => is_here).length;
  say("here", `${here} of ${state.seats.length}`);
  say("done", String(state.seats.filter(({ state }) => state === "done").length));
  say("dropped", String(state.rows_dropped));
  at("dropped").classList.toggle("wrong", state.rows_dropped > 0);
  say("link", state.link || "");
  if (isNews("qr", state.qr_svg)) {
    at("qr").hidden = !state.qr_svg;
    at("qr").src = `data:image/svg+xml,${encodeURIComponent(state.qr_svg || "")}`;
  }
  at("paused").hidden = !state.is_paused;
  say("pause", state.is_paused ? "Go on" : "Pause");
  if (isNews("anomalies", state.anomalies)) {
    const lines = state.anomalies.map((line) => element("p", line));
    put(at("anomalies"), lines.length ? lines : element("p", { class: "none" }, "Nothing is wrong."));
  }
  const changes = (state.changes ?? []).map(({ group, setting, value }) => `${setting} ${value} for ${group ? whom({ group }) : "everyone"}`);
  say("changes", `Changed by hand: ${changes.join("; ")}.`);
  at("changes").hidden = !changes.length;
  if (isNews("seats", state.seats)) drawSeats();
  if (isNews("log", state.log)) drawLog();
}

function clock(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

function drawSeats() {
  const body = at("seats").tBodies[0];
  // Whoever is at a button there stays at it.
  const focused = document.activeElement?.dataset?.key;
  const rows = state.seats.map((seat, number) => {
    const group = state.seats.filter((other) => other.group === seat.group);
    const isFirst = group[0] === seat;
    const isLast = group.at(-1) === seat;
    const next = state.seats[number + 1];
    return element("tr", { class: !isLast && next?.group === seat.group ? "together" : "", "data-seat": String(seat.seat) }, cells(seat, isFirst, group.length));
  });
  put(body, rows);
  if (focused) body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function cells(seat, isFirst, groupSize) {
  // What is wrong now, or was in the round before: all of it is said in words above.
  const flags = isPlaying(seat) ? [] : seat.flags ?? [];
  const has = (name) => flags.some((flag) => flag.split(":")[0] === name);
  const made = [
    element("td", {}, element("b", { class: "seat" }, named(seat)), seat.role ? ` ${seat.role}` : null,
      element("small", press(seat.code, `code-${seat.seat}`, () => copy(seat.link, `Copied the link of ${named(seat)}.`), "plain code"))),
    element("td", { class: "state" }, seat.state,
      seat.can_be_freed ? element("small", press("Give away", `free-${seat.seat}`, () => doing.free(seat), "plain")) : null),
  ];
  if (isFirst) made.push(shared(groupSize, letterOf(seat)));
  made.push(
    element("td", {}, pair(seat.asked_ms, seat.achieved_ms, "ms", 0, has("ping"), " large"), floorOf(seat)),
    element("td", { class: "minute" }, trace(seat.trace_ms ?? [], isPlaying(seat) ? seat.asked_ms : null)),
    element("td", {}, pair(percent(seat.asked_loss), percent(seat.achieved_loss), "%", 1, has("loss"))),
    element("td", {}, figure(seat.frame_ms, "ms", seat.frame_ms < 100 ? 1 : 0, has("frames"))),
    element("td", {}, attention(seat, ["focus", "hidden", "throttled"].some(has))),
  );
  if (isFirst) made.push(shared(groupSize, roundOf(seat)));
  return made;
}

function shared(rows, ...parts) { return element("td", { class: "shared", rowSpan: rows }, ...parts); }

function letterOf(seat) {
  if (!seat.letter) return element("span", { class: "away" }, "–");
  const reveal = seat.condition ? element("small", seat.condition)
    : press("Reveal", `reveal-${seat.group}`, () => doing.reveal(seat), "plain");
  return element("div", {}, element("span", { class: "letter" }, seat.letter), reveal);
}

function roundOf(seat) {
  const isOff = seat.trial === null || seat.trial === undefined;
  return element("div", { class: "acts" }, press("Repeat", `repeat-${seat.group}`, () => doing.repeat(seat), "", !repeatable(seat)),
    press("Skip", `skip-${seat.group}`, () => doing.skip(seat), "", isOff));
}

const isPlaying = ({ attempt }) => typeof attempt === "number";

// What is played now, or else what was finished last.
function repeatable(seat) { return isPlaying(seat) ? seat.trial : seat.last; }

function press(text, key, call, kind = "", isOff = false) {
  const made = element("button", { class: kind, type: "button", "data-key": key, disabled: isOff }, text);
  made.addEventListener("click", call);
  return made;
}

const percent = (share) => (typeof share === "number" ? share * 100 : share);
const number = (value, digits) => (typeof value === "number" ? value.toFixed(digits) : "–");

function pair(asked, achieved, unit, digits, isWrong, size = "") {
  if (typeof asked !== "number" && typeof achieved !== "number") return element("span", { class: "away" }, "–");
  if (typeof achieved !== "number") return element("span", { class: "away" }, `asked ${number(asked, digits)} ${unit}`);
  const wanted = typeof asked === "number" ? number(asked, digits) : "any";
  return element("span", { class: `figure${size}${isWrong ? " wrong" : ""}` }, element("span", { class: "asked" }, `${wanted} →`), " ",
    element("b", number(achieved, digits)), ` ${unit}`);
}

function figure(value, unit, digits, isWrong) {
  if (typeof value !== "number") return element("span", { class: "away" }, "–");
  return element("span", { class: isWrong ? "figure wrong" : "figure" }, number(value, digits), ` ${unit}`);
}

function floorOf(seat) {
  return typeof seat.floor_ms === "number" ? element("small", `floor ${seat.floor_ms.toFixed(0)} ms`) : null;
}

function attention(seat, isWrong) {
  if (!seat.is_here) return element("span", { class: "away" }, "–");
  if (seat.is_hidden && isPlaying(seat)) return element("span", { class: "wrong" }, "page hidden");
  if (seat.is_focused === false && isPlaying(seat)) return element("span", { class: "wrong" }, "elsewhere");
  if (isWrong) return element("span", { class: "wrong" }, "was elsewhere");
  return seat.is_focused ? element("span", "at the page") : element("span", { class: "away" }, "–");
}

// The last minute of a line, rightmost now; the dashed line is what the round under way asks for.
function trace(values, asked) {
  const known = values.filter((value) => typeof value === "number");
  if (!known.length) return element("span", { class: "away" }, "–");
  const most = Math.max(TRACE_MS_MIN, ...known, (asked ?? 0) * 1.25);
  const x = (second) => TRACE_WIDTH * (second + TRACE_SECONDS - values.length) / (TRACE_SECONDS - 1);
  const y = (ms) => TRACE_HEIGHT - 1 - TRACE_SCALE * ms / most;
  const parts = [];
  let path = "";
  values.forEach((value, second) => {
    if (typeof value !== "number") { path += " "; return; }
    path += `${path && !path.endsWith(" ") ? "L" : "M"}${x(second).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  parts.push(drawn("path", { class: "ground", d: `M0 ${TRACE_HEIGHT - 0.5}H${TRACE_WIDTH}` }));
  if (typeof asked === "number") parts.push(drawn("path", { class: "asked", d: `M0 ${y(asked).toFixed(1)}H${TRACE_WIDTH}` }));
  parts.push(drawn("path", { class: "line", d: path.trim() }));
  const label = drawn("text", { x: 0, y: 8 });
  label.textContent = `${Math.round(most)} ms`;
  const words = `Ping in the last minute: ${Math.round(Math.min(...known))} to ${Math.round(Math.max(...known))} ms`;
  return drawn("svg", { class: "trace", viewBox: `0 0 ${TRACE_WIDTH} ${TRACE_HEIGHT}`, role: "img", "aria-label": words }, ...parts, label);
}

function drawLog() {
  const line = (entry) => {
    const when = new Date(entry.at_ms).toLocaleTimeString([], { hour12: false });
    return element("li", element("time", when), element("span", entry.words));
  };
  // The newest first; those of one moment in their order.
  put(at("log").querySelector("ol"), [...state.log].sort((one, other) => other.at_ms - one.at_ms).map(line));
}

// ---- What the experimenter does ----

const dialog = at("asking");
let pending = null;

// Asks why, and for what else is needed; does it when both are said.
function asks({ title, about, word, fields = [], body, needsWhy = true }) {
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector(".about").textContent = about;
  dialog.querySelector(".main").textContent = word;
  dialog.querySelector(".problem").hidden = true;
  put(dialog.querySelector(".fields"), fields.map(({ name, label, make }) => {
    const control = make();
    control.id = `field-${name}`;
    control.name = name;
    return element("div", { class: "field" }, element("label", { for: control.id }, label), control);
  }));
  at("why").value = "";
  // A note is its own reason.
  for (const part of [at("why"), dialog.querySelector("label[for=why]")]) part.hidden = !needsWhy;
  pending = { body, needsWhy, names: fields.map(({ name }) => name) };
  dialog.showModal();
  (dialog.querySelector(".fields input, .fields select, .fields textarea") ?? at("why")).focus();
}

dialog.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = dialog.querySelector(".problem");
  const given = Object.fromEntries(pending.names.map((name) => [name, dialog.querySelector(`#field-${name}`).value.trim()]));
  const why = at("why").value.trim();
  const isMissing = (pending.needsWhy && !why) || pending.names.some((name) => name !== "group" && name !== "value" && !given[name]);
  if (isMissing) {
    problem.textContent = pending.needsWhy && !why ? "Say why: the log keeps it." : "Something is still missing.";
    problem.hidden = false;
    return;
  }
  try {
    await api("live/do", { ...pending.body(given), why });
    dialog.close();
    await poll();
  } catch (error) {
    problem.textContent = error.status === undefined ? "The study does not answer." : error.message;
    problem.hidden = false;
  }
});
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());

const named = ({ seat }) => `P${String(seat).padStart(2, "0")}`;

function whom(seat) {
  return state.seats.filter(({ group }) => group === seat.group).map(named).join(" and ");
}

const groupField = {
  name: "group", label: "For whom",
  make: () => {
    const groups = [...new Set(state.seats.map(({ group }) => group))];
    const one = (group) => element("option", { value: String(group) }, whom({ group }));
    return element("select", {}, element("option", { value: "" }, "everyone"), ...groups.map(one));
  },
};

const doing = {
  pause() {
    const goesOn = state.is_paused;
    asks({
      title: goesOn ? "Let the study go on" : "Pause the study",
      about: goesOn ? "Rounds begin again as soon as everyone is ready." : "Rounds under way are played to their end; no other begins.",
      word: goesOn ? "Go on" : "Pause", body: () => ({ do: goesOn ? "resume" : "pause" }),
    });
  },
  repeat(seat) {
    const trial = repeatable(seat);
    const which = isPlaying(seat) ? `The round under way, trial ${trial}, is broken off.` : `It is the one that was finished last, trial ${trial}.`;
    const gone = state.seats.filter((one) => one.group === seat.group && !one.is_here).map(named);
    const warning = gone.length ? ` ${gone.join(" and ")} ${gone.length > 1 ? "are" : "is"} not here: unless they come back, the trial is lost.` : "";
    asks({ title: `Play ${whom(seat)}’s round again`, about: `${which} Its rows and answers are deleted now, and the new attempt’s come in their place.${warning}`, word: "Repeat",
      body: () => ({ do: "repeat", group: seat.group, trial }) });
  },
  skip(seat) {
    asks({ title: `Leave out ${whom(seat)}’s round`, about: "It will be missing in the data, with your reason.", word: "Skip",
      body: () => ({ do: "skip", group: seat.group, trial: seat.trial }) });
  },
  free(seat) {
    asks({ title: `Give ${named(seat)}’s seat to somebody else`, about: "Its link is worth nothing any more; the seat gets a new one. This can be done until its group has finished a round.", word: "Give away",
      body: () => ({ do: "free", seat: seat.seat }) });
  },
  reveal(seat) {
    asks({ title: `What stands behind letter ${seat.letter}?`, about: "Whoever knows the condition is no longer blind: that you looked is logged.", word: "Reveal",
      body: () => ({ do: "reveal", group: seat.group, trial: seat.trial }) });
  },
  note() {
    asks({ title: "Write a note", about: "It goes into the log with the time.", word: "Write", needsWhy: false,
      fields: [{ name: "text", label: "Note", make: () => element("textarea", { rows: 3, maxLength: 2000 }) }],
      body: ({ text }) => ({ do: "note", text }) });
  },
  change() {
    asks({
      title: "Change a condition", about: "A line changes at once, in the round under way too; other settings from the next round on. An empty value takes a change back.", word: "Change",
      fields: [groupField,
        { name: "setting", label: "Setting, as the experiment's file has it", make: () => element("input", { value: "ping", list: "names", maxLength: 80, spellcheck: false }) },
        { name: "value", label: "Value", make: () => element("input", { placeholder: "such as 150 ms", maxLength: 80 }) }],
      body: ({ group, setting, value }) => ({ do: "change", setting, value, ...(group ? { group: Number(group) } : {}) }),
    });
  },
};

at("pause").addEventListener("click", () => doing.pause());
for (const button of document.querySelectorAll("nav [data-act]")) button.addEventListener("click", () => doing[button.dataset.act]());
at("copy").addEventListener("click", () => copy(state?.link, "Copied the link. Each participant then enters a code."));

// Where the clipboard cannot be had, the text is shown to be copied by hand.
let toldTimer = 0;
async function copy(text, words) {
  try { await navigator.clipboard.writeText(text ?? ""); } catch { words = text ?? ""; }
  at("told").textContent = words;
  at("told").hidden = false;
  clearTimeout(toldTimer);
  toldTimer = setTimeout(() => { at("told").hidden = true; }, TOLD_MILLIS);
}

// What tests read.
window.sametickLive = { get state() { return state; } };
poll();
