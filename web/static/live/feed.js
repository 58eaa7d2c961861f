// The WebSocket: opens, notices silence, comes back and asks for what was missed.

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const REFUSED = 1008; // the server will not change its mind: its reason is told, and nothing tried again

export class Feed {
  /** `models`: Map of run id to RunModel; `onMessage(model, changes)`; `onStatus("connecting"|"live"|"stuck"|"reconnecting")`. */
  constructor(base, models, onMessage, onStatus) {
    Object.assign(this, { base, models, onMessage, onStatus });
    this.pause = FIRST_PAUSE_MS;
    this.beatSeconds = 5;
    this.serverAhead = 0; // server clock minus ours, seconds
    this.wasLive = false;
    this.closed = false;
    this.wake = () => this.socket?.readyState === WebSocket.OPEN || this.open();
    window.addEventListener("online", this.wake);
    this.open();
  }

  get serverNow() {
    return Date.now() / 1000 + this.serverAhead;
  }

  open() {
    this.#drop();
    if (this.closed) return;
    this.onStatus(this.wasLive ? "reconnecting" : "connecting");
    const query = new URLSearchParams();
    for (const id of this.models.keys()) query.append("run", id);
    const url = new URL(`${this.base}/ws/live?${query}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.socket = new WebSocket(url);
    this.socket.onopen = () => this.socket.send(JSON.stringify(this.#cursors()));
    this.socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    this.socket.onclose = ({ code, reason }) => (code === REFUSED ? this.#end(reason) : this.#retry());
    this.#expectSign();
  }

  #cursors() {
    const had = [...this.models.values()].filter((model) => model.cursor);
    return Object.fromEntries(had.map((model) => [model.id, model.cursor]));
  }

  close() {
    this.closed = true;
    window.removeEventListener("online", this.wake);
    this.#drop();
  }

  #take(message) {
    this.serverAhead = message.server_t - Date.now() / 1000;
    this.#expectSign();
    if (message.type === "hello") {
      this.beatSeconds = message.beat_s;
      this.pause = FIRST_PAUSE_MS;
      this.wasLive = true;
    }
    this.onStatus(message.is_storing === false ? "stuck" : "live");
    const model = this.models.get(message.run);
    if (!model) return;
    if (!model.follows(message)) {
      this.open();
      return;
    }
    const changes = model.apply(message);
    model.receivedAt = this.serverNow;
    this.onMessage(model, changes);
    if (model.holdsTooMuch) {
      model.cursor = "";
      this.open();
    }
  }

  /** A line that says nothing for longer than two beats is dead, whatever the browser thinks of it. */
  #expectSign() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.#retry(), (2 * this.beatSeconds + 2) * 1000);
  }

  #retry() {
    this.#drop();
    if (this.closed) return;
    this.onStatus(this.wasLive ? "reconnecting" : "connecting");
    this.timer = setTimeout(() => this.open(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  #end(reason) {
    this.close();
    this.onStatus("refused", reason);
  }

  #drop() {
    clearTimeout(this.watchdog);
    clearTimeout(this.timer);
    if (!this.socket) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
  }
}
