// The play page inside a participant's page: joins when it is told to, and tells what each second was like. What it
// tells goes to its parent, and only to one of the same origin.

const LOOK_MILLIS = 100;
// Longer times are told as this long.
const MILLIS_MAX = 60000;
const SECOND_MILLIS = 1000;
// Intervals of the display that are remembered for its rate.
const INTERVALS_MAX = 240;
// Whoever has moved the mouse so far has looked around.
const LOOK_DOTS = 600;

// The display's own rate, whatever is drawn: the median of its last intervals.
class Display {
  #intervals = [];
  #last = 0;

  frame(now) {
    if (this.#last) this.#intervals.push(now - this.#last);
    if (this.#intervals.length > INTERVALS_MAX) this.#intervals.shift();
    this.#last = now;
  }

  hertz() {
    const sorted = [...this.#intervals].sort((a, b) => a - b);
    const middle = sorted[sorted.length >> 1];
    return middle > 0 ? 1000 / middle : null;
  }
}

// How long nobody could see the page, and whether it lost the keyboard, since this was last asked.
class Attention {
  #hiddenSince = document.hidden ? performance.now() : null;
  #hidden = 0;
  #lost = !parent.document.hasFocus();

  constructor(tell) {
    document.addEventListener("visibilitychange", () => {
      const now = performance.now();
      if (document.hidden) this.#hiddenSince = now;
      else if (this.#hiddenSince !== null) { this.#hidden += now - this.#hiddenSince; this.#hiddenSince = null; }
      tell({ kind: "visibility", hidden: document.hidden });
    });
    parent.addEventListener("blur", () => setTimeout(() => this.#look(tell), 0));
    addEventListener("blur", () => setTimeout(() => this.#look(tell), 0));
  }

  // The focus may only have gone from the page to its frame.
  #look(tell) {
    if (parent.document.hasFocus()) return;
    this.#lost = true;
    tell({ kind: "focus", focused: false });
  }

  take() {
    const now = performance.now();
    if (this.#hiddenSince !== null) { this.#hidden += now - this.#hiddenSince; this.#hiddenSince = now; }
    const isFocused = parent.document.hasFocus();
    const taken = { hidden_ms: Math.min(Math.round(this.#hidden), MILLIS_MAX), is_focused: !this.#lost && isFocused };
    this.#hidden = 0;
    this.#lost = !isFocused;
    return taken;
  }
}

export function begin(wasm) {
  // There is no menu to come back from.
  document.querySelector("#pause h2").textContent = "The mouse is free";
  document.querySelector("#pause [data-do=resume]").firstChild.textContent = "Click to aim ";
  const tell = (message) => parent.postMessage({ sametick: true, ...message }, location.origin);
  const display = new Display();
  const attention = new Attention(tell);
  let state = "idle";
  let keys = null;
  let second = 0;
  let since = 0;

  const frame = (now) => { display.frame(now); requestAnimationFrame(frame); };
  requestAnimationFrame(frame);

  // A timer runs on, if slowly, while nobody can see the page; so what was missed is told.
  setInterval(() => {
    const now = wasm.lab_state();
    if (now !== state) {
      state = now;
      if (state === "playing") { keys = JSON.parse(wasm.lab_keys()); tell({ kind: "keys", keys }); }
      tell({ kind: "state", state });
    }
    const time = performance.now();
    if (state === "idle" || time - since < SECOND_MILLIS) return;
    since = time;
    const figures = JSON.parse(wasm.lab_second() || "{}");
    const { road, ...told } = figures;
    for (const name of ["frame_ms", "frame_ms_95"]) told[name] = Math.min(told[name] ?? 0, MILLIS_MAX);
    tell({ kind: "second", second: second++, refresh_hz: display.hertz(), road, telemetry: { ...told, ...attention.take() } });
  }, LOOK_MILLIS);

  // While the mouse is the match's, these keys still reach the participant's page.
  addEventListener("keydown", (event) => {
    if (["Minus", "Equal", "NumpadAdd", "NumpadSubtract", "BracketRight", "Enter", "NumpadEnter"].includes(event.code)) {
      tell({ kind: "key", code: event.code });
    }
  });
  const did = (what) => { if (document.pointerLockElement) tell({ kind: "did", what }); };
  const pressed = (code) => {
    if (keys?.walk.some(({ key }) => key === code)) did("walk");
    if (keys?.fire.key === code) did("fire");
  };
  addEventListener("keydown", ({ code }) => pressed(code));
  addEventListener("mousedown", ({ button }) => pressed(`Mouse${button}`));
  let turned = 0;
  addEventListener("mousemove", ({ movementX, movementY }) => {
    turned += document.pointerLockElement ? Math.abs(movementX) + Math.abs(movementY) : 0;
    if (turned > LOOK_DOTS) { turned = 0; did("look"); }
  });
  document.addEventListener("pointerlockchange", () => tell({ kind: "lock", locked: !!document.pointerLockElement }));

  window.lab = {
    join() { second = 0; since = performance.now(); attention.take(); wasm.lab_second(); wasm.lab_join(); },
    leave() { wasm.lab_leave(); },
    take() { focus(); wasm.lab_take(); },
    release() { wasm.lab_release(); },
    set(name, value) { wasm.choose(name, String(value)); },
  };
  tell({ kind: "ready" });
}
