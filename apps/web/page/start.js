// Starts the page; the rest is wasm. `window.sametick` is there for tests alone: src/app/trial.rs says what it holds.
import init, { choose as set, exhibit, fly, hold, leave, walk } from "./sametick_play.js";
import * as wasm from "./sametick_play.js";

// In an experiment there are no menus from the first picture on.
const isLab = new URLSearchParams(location.search).get("lab") === "on";
if (isLab) document.body.dataset.lab = "on";

try {
  await init();
  const trial = window.sametick ?? {};
  Object.assign(trial, { status: () => ({ ...trial }), set, exhibit, fly, hold, leave, walk });
  addEventListener("pagehide", () => trial.leave());
  if (isLab) (await import("./lab-frame.js")).begin(wasm);
} catch (error) {
  const notice = document.getElementById("notice");
  notice.textContent = `This page could not start: ${error.message ?? error}`;
  notice.classList.add("shown");
}
