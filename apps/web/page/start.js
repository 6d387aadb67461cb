// Starts the page; the rest is wasm. `window.sametick` is for tests: what it holds is described in src/screens.rs.
import init, { leave, walk } from "./sametick_web.js";

try {
  await init();
  Object.assign(window.sametick, { status: () => ({ ...window.sametick }), walk, leave });
  addEventListener("pagehide", () => window.sametick.leave());
} catch (error) {
  const notice = document.getElementById("notice");
  notice.textContent = `This page could not start: ${error.message ?? error}`;
  notice.classList.add("shown");
}
