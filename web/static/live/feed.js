// The WebSocket: opens, notices silence, comes back and asks for what was missed.

/** @import { RunModel } from "./model.js" */
/** @import { Changes, Status } from "../../types/live_page.js" */
/** @import { Message, RunMessage } from "../../types/live_protocol.js" */

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const REFUSED = 1008; // the server will not change its mind: its reason is told, and nothing tried again

export class Feed {
  #pause = FIRST_PAUSE_MS;
  #beatSeconds = 5;
  #serverAhead = 0; // server clock minus ours, seconds
  #wasLive = false;
  #isStoring = true;
  #closed = false;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {number | undefined} */
  #watchdog;
  /** @type {number | undefined} */
  #timer;

  /**
   * @param {string} base the path that Pitwall is below, or ""
   * @param {Map<string, RunModel>} models by run id
   * @param {(model: RunModel, changes: Changes) => void} onMessage
   * @param {(status: Status, reason?: string) => void} onStatus
   */
  constructor(base, models, onMessage, onStatus) {
    this.base = base;
    this.models = models;
    this.onMessage = onMessage;
    this.onStatus = onStatus;
    this.wake = () => {
      if (this.#socket?.readyState !== WebSocket.OPEN) this.open();
    };
    window.addEventListener("online", this.wake);
    this.open();
  }

  get serverNow() {
    return Date.now() / 1000 + this.#serverAhead;
  }

  open() {
    this.#drop();
    if (this.#closed) return;
    this.onStatus(this.#wasLive ? "reconnecting" : "connecting");
    const query = new URLSearchParams();
    for (const id of this.models.keys()) query.append("run", id);
    const url = new URL(`${this.base}/ws/live?${query}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify(this.#cursors()));
    socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    socket.onclose = ({ code, reason }) => (code === REFUSED ? this.#end(reason) : this.#retry());
    this.#expectSign();
  }

  #cursors() {
    const had = [...this.models.values()].filter((model) => model.cursor);
    return Object.fromEntries(had.map((model) => [model.id, model.cursor]));
  }

  close() {
    this.#closed = true;
    window.removeEventListener("online", this.wake);
    this.#drop();
  }

  /** @param {Message} message */
  #take(message) {
    const socket = this.#socket;
    // A run may be another Pitwall's, whose clock is not this one's.
    if (message.type === "hello" || message.type === "beat") this.#serverAhead = message.server_t - Date.now() / 1000;
    this.#expectSign();
    if (message.type === "hello") {
      this.#beatSeconds = message.beat_s;
      this.#pause = FIRST_PAUSE_MS;
      this.#wasLive = true;
    }
    if (message.type === "hello" || message.type === "beat") this.#isStoring = message.is_storing;
    else this.#takeOfRun(message);
    if (message.type === "delta") this.#isStoring = true; // no beat comes while deltas do
    if (socket === this.#socket) this.#tell(); // else it reconnects
  }

  /** Live is what has answered of a run: a server that has only said hello is still reading its store. */
  #tell() {
    const hasAnswered = [...this.models.values()].some((model) => model.cursor || model.goneReason !== null || model.awayReason !== null);
    if (!this.#isStoring) this.onStatus("stuck");
    else this.onStatus(hasAnswered ? "live" : "connecting");
  }

  /** @param {RunMessage} message */
  #takeOfRun(message) {
    const model = this.models.get(message.run);
    if (!model) return;
    if (!model.follows(message)) {
      this.open();
      return;
    }
    model.ahead = message.type === "away" ? model.ahead : message.server_t - this.serverNow;
    const changes = model.apply(message);
    this.onMessage(model, changes);
    if (model.holdsTooMuch) {
      model.cursor = "";
      this.open();
    }
  }

  /** A line that says nothing for longer than two beats is dead, whatever the browser thinks of it. */
  #expectSign() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#retry(), (2 * this.#beatSeconds + 2) * 1000);
  }

  #retry() {
    this.#drop();
    if (this.#closed) return;
    this.onStatus(this.#wasLive ? "reconnecting" : "connecting");
    this.#timer = setTimeout(() => this.open(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
  }

  /** @param {string} reason */
  #end(reason) {
    this.close();
    this.onStatus("refused", reason);
  }

  #drop() {
    clearTimeout(this.#watchdog);
    clearTimeout(this.#timer);
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    this.#socket = null;
  }
}
