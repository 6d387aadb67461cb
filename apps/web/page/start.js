// Starts the page; the rest is wasm. `window.sametick` is for tests: what it holds is described in src/app/trial.rs.
import init, { choose as set, exhibit, fly, hold, leave, walk } from "./sametick_play.js";

try {
  await init();
  Object.assign(window.sametick, { status: () => ({ ...window.sametick }), set, exhibit, fly, hold, leave, walk });
  addEventListener("pagehide", () => window.sametick.leave());
} catch (error) {
  const notice = document.getElementById("notice");
  notice.textContent = `This page could not start: ${error.message ?? error}`;
  notice.classList.add("shown");
}
