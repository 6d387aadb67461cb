// Starts the page; the rest is wasm. `window.sametick` is there for tests alone: src/app/trial.rs says what it holds.
import init, { choose as set, exhibit, fly, hold, leave, walk } from "./sametick_play.js";

try {
  await init();
  const trial = window.sametick ?? {};
  Object.assign(trial, { status: () => ({ ...trial }), set, exhibit, fly, hold, leave, walk });
  addEventListener("pagehide", () => trial.leave());
} catch (error) {
  const notice = document.getElementById("notice");
  notice.textContent = `This page could not start: ${error.message ?? error}`;
  notice.classList.add("shown");
}
