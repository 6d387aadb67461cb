// The browser's roads to a server: WebTransport datagrams, and WebSocket messages where those cannot be had.
// Nothing here grows: what finds no place pushes out the oldest, or is not sent, and is counted.

// How long WebTransport may take before WebSocket is tried: networks that let no UDP through say nothing.
const TRANSPORT_MILLIS_MAX = 3000;
// How much of ours may wait in a WebSocket before more is dropped.
const SOCKET_BYTES_MAX = 16384;
// Longer tables of compact snapshots are not taken.
const TABLES_BYTES_MAX = 16777216;
// Whoever waits longer for them plays without.
const TABLES_MILLIS_MAX = 10000;

const [OPENING, OPEN, CLOSED] = [0, 1, 2];
const [NONE, WEBTRANSPORT, WEBSOCKET] = [0, 1, 2];

export class Wire {
  #state = OPENING;
  #road = NONE;
  #reason = "";
  #queue = [];
  #queueMax;
  #droppedIn = 0;
  #droppedOut = 0;
  #transport = null;
  #writer = null;
  #socket = null;

  constructor(roads, transportUrl, hashes, socketUrl, queueMax) {
    this.#queueMax = queueMax;
    this.#open(roads, transportUrl, hashes, socketUrl);
  }

  state() { return this.#state; }
  road() { return this.#road; }
  reason() { return this.#reason; }
  droppedIn() { return this.#droppedIn; }
  droppedOut() { return this.#droppedOut; }

  take() { return this.#queue.shift(); }

  // The bytes are lent from wasm's memory, so they are copied before anything else happens.
  send(bytes) {
    if (this.#state !== OPEN) { this.#droppedOut += 1; return; }
    if (this.#writer) {
      if (this.#writer.desiredSize <= 0) { this.#droppedOut += 1; return; }
      this.#writer.write(bytes.slice()).catch(() => {});
    } else if (this.#socket.bufferedAmount > SOCKET_BYTES_MAX) {
      this.#droppedOut += 1;
    } else {
      this.#socket.send(bytes.slice());
    }
  }

  close() { this.#end("the page closed it"); }

  #end(reason) {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    this.#reason = reason;
    try { this.#transport?.close(); } catch { /* it is closed */ }
    try { this.#socket?.close(); } catch { /* it is closed */ }
  }

  #push(bytes) {
    if (this.#queue.length >= this.#queueMax) {
      this.#queue.shift();
      this.#droppedIn += 1;
    }
    this.#queue.push(bytes);
  }

  async #open(roads, transportUrl, hashes, socketUrl) {
    const reasons = [];
    if (roads !== "websocket") {
      const reason = await this.#openTransport(transportUrl, hashes);
      if (!reason || this.#state === CLOSED) return;
      reasons.push(`WebTransport: ${reason}`);
    }
    if (roads !== "webtransport") {
      const reason = await this.#openSocket(socketUrl);
      if (!reason || this.#state === CLOSED) return;
      reasons.push(`WebSocket: ${reason}`);
    }
    this.#end(reasons.join("; "));
  }

  // Says why not.
  async #openTransport(url, hashes) {
    if (!url) return "the server has none";
    if (typeof WebTransport === "undefined") {
      return isSecureContext ? "this browser has none" : "this page is not in a secure context";
    }
    let transport;
    try {
      const options = { congestionControl: "low-latency", requireUnreliable: true };
      if (hashes) {
        options.serverCertificateHashes = hashes.split(" ").map((hash) => ({
          algorithm: "sha-256",
          value: Uint8Array.from(hash.match(/../g), (pair) => parseInt(pair, 16)),
        }));
      }
      transport = new WebTransport(url, options);
      // Said below by `ready`, too.
      transport.closed.catch(() => {});
      let timer;
      const late = new Promise((_, refuse) => {
        timer = setTimeout(() => refuse(new Error("no answer")), TRANSPORT_MILLIS_MAX);
      });
      await Promise.race([transport.ready, late]).finally(() => clearTimeout(timer));
      if (this.#state === CLOSED) { transport.close(); return null; }
      const datagrams = transport.datagrams;
      const writable = datagrams.createWritable?.() ?? datagrams.writable;
      const reader = datagrams.readable.getReader();
      this.#writer = writable.getWriter();
      this.#transport = transport;
      this.#road = WEBTRANSPORT;
      this.#state = OPEN;
      this.#read(reader);
      return null;
    } catch (error) {
      try { transport?.close(); } catch { /* it never opened */ }
      return error.message || String(error);
    }
  }

  async #read(reader) {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        this.#push(value);
      }
      this.#end("the server closed it");
    } catch {
      this.#end("the connection was lost");
    }
  }

  // Says why not.
  #openSocket(url) {
    return new Promise((told) => {
      let socket;
      try {
        socket = new WebSocket(url);
      } catch (error) {
        told(error.message || String(error));
        return;
      }
      socket.binaryType = "arraybuffer";
      socket.onopen = () => {
        if (this.#state === CLOSED) { socket.close(); told(null); return; }
        this.#socket = socket;
        this.#road = WEBSOCKET;
        this.#state = OPEN;
        told(null);
      };
      socket.onmessage = ({ data }) => {
        if (data instanceof ArrayBuffer) this.#push(new Uint8Array(data));
      };
      socket.onclose = () => {
        if (this.#state === OPEN) this.#end("the connection was lost");
        told("the server does not open it");
      };
    });
  }
}

// What a page was told when it asked for a session.
export class Reply {
  #value = null;
  #reason = "";
  #isAbsent = false;
  #tables = undefined;

  constructor(url, bearer) {
    this.#fetch(url, bearer ? { Authorization: `Bearer ${bearer}` } : {});
  }

  async #fetch(url, headers) {
    try {
      const response = await fetch(url, { cache: "no-store", headers });
      if (response.status === 404) {
        this.#isAbsent = true;
        this.#reason = "there is no server here";
        return;
      }
      if (!response.ok) {
        this.#reason = sentence((await response.text()).trim()) || `the server answered with status ${response.status}`;
        return;
      }
      const value = await response.json();
      if (typeof value.tables === "string") this.#tables = await this.#fetchTables(value.tables);
      this.#value = value;
    } catch {
      this.#isAbsent = true;
      this.#reason = "the server does not answer";
    }
  }

  // Without them snapshots are longer, and that is all.
  async #fetchTables(url) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(TABLES_MILLIS_MAX) });
      const length = Number(response.headers.get("content-length") ?? 0);
      if (!response.ok || length > TABLES_BYTES_MAX) return undefined;
      const bytes = new Uint8Array(await response.arrayBuffer());
      return bytes.length <= TABLES_BYTES_MAX ? bytes : undefined;
    } catch {
      return undefined;
    }
  }

  tables() { return this.#tables; }
  isAbsent() { return this.#isAbsent; }
  isThere() { return this.#value !== null; }
  reason() { return this.#reason; }

  // The value at a path such as `matches.0.map`.
  #at(path) {
    return path.split(".").reduce((value, key) => value?.[key], this.#value);
  }

  text(path) {
    const value = this.#at(path);
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
  }

  count(path) { return this.#at(path)?.length ?? 0; }
}

// WebTransport does not fall back from IPv6 to IPv4, and a server on this machine most often has IPv4.
export function transportUrl(port, path) {
  const name = location.hostname === "localhost" ? "127.0.0.1" : location.hostname;
  return `https://${name}:${port}${path}`;
}

// At the page's own port, unless another is named.
export function socketUrl(port, path) {
  const host = port ? `${location.hostname}:${port}` : location.host;
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${host}${path}`;
}

// A refusal is a sentence, or a JSON object with one.
function sentence(said) {
  if (!said.startsWith("{")) return said;
  try { return String(JSON.parse(said).error ?? said); } catch { return said; }
}

export function isTlsPage() { return location.protocol === "https:"; }
export function nowMillis() { return performance.now(); }
export function fillRandom(bytes) { crypto.getRandomValues(bytes); }
