// Starts the page and asks it once a frame. Hidden pages get no frames, so a timer keeps them from timing out.
import init, { Page } from "./sametick_web.js";

const options = new URLSearchParams(location.search);
const line = document.getElementById("status");
await init();
const page = new Page(options.get("link") ?? "any", sessionStorage.getItem("ticket") ?? "");
// For tests and for the curious.
window.sametick = {
  status: () => JSON.parse(page.status()),
  walk: (forward, yaw) => page.walk(forward, yaw),
  leave: () => page.leave(),
};

let joins = 0;
function frame() {
  page.frame();
  const status = window.sametick.status();
  if (status.joins > joins) {
    joins = status.joins;
    sessionStorage.setItem("ticket", page.ticket());
  }
  line.textContent = `${status.stage} ${status.road} tick ${status.tick} ${status.reason}`;
}
(function again() { frame(); requestAnimationFrame(again); })();
setInterval(() => { if (document.hidden) frame(); }, 250);
addEventListener("pagehide", () => window.sametick.leave());
