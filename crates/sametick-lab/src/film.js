// Moves everyone on all three panes to one moment; the shot's is where it begins.
const panes = [...document.querySelectorAll("svg g")];
const time = document.getElementById("time");
const show = (number) => {
  panes.forEach((pane, index) => {
    pane.innerHTML = (film.frames[index][number] ?? []).map(([player, x, y, yaw, alive]) => {
      const colour = player === film.shooter ? "#0b5d8a" : player === film.victim ? "#c2410c" : "#475569";
      const [east, north] = [Math.cos(yaw), -Math.sin(yaw)];
      const reach = number === film.at && player === film.shooter ? 800 : film.radius * 2.2;
      return `<line x1="${x}" y1="${y}" x2="${x + east * reach}" y2="${y + north * reach}" stroke="${colour}" stroke-width="1.5"/>`
        + `<circle cx="${x}" cy="${y}" r="${film.radius}" style="fill:${alive ? colour : "none"};stroke:${colour};stroke-width:2"/>`
        + `<text x="${x + film.radius + 3}" y="${y - film.radius}">${player}</text>`;
    }).join("");
  });
  const off = Math.round((number - film.at) * film.tick_ms);
  document.getElementById("moment").value = off === 0 ? "the shot" : `${off > 0 ? "+" : ""}${off} ms`;
};
let playing = null;
const stop = () => { clearInterval(playing); playing = null; document.getElementById("play").textContent = "Play"; };
time.addEventListener("input", () => { stop(); show(Number(time.value)); });
document.getElementById("play").addEventListener("click", () => {
  if (playing !== null) return stop();
  document.getElementById("play").textContent = "Stop";
  if (Number(time.value) >= Number(time.max)) time.value = 0;
  // A quarter as fast as it was.
  playing = setInterval(() => {
    if (Number(time.value) >= Number(time.max)) return stop();
    time.value = Number(time.value) + 1;
    show(Number(time.value));
  }, film.tick_ms * 4);
});
show(film.at);
