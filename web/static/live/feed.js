// The WebSocket connection of the Live page: it notices when the server falls silent, reconnects, and then asks for the
// messages that were missed.

/** @import { RunModel } from "./model.js" */
/** @import { Changes, Status } from "../../types/live_page.js" */
/** @import { Message, RunMessage } from "../../types/live_protocol.js" */

const MIN_RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 10_000;
const POLICY_VIOLATION = 1008; // the server refuses for good: its reason is shown, and there is no retry

export class Feed {
  #retryDelay = MIN_RETRY_DELAY_MS;
  #beatSeconds = 5;
  #clockOffset = 0; // the server's clock minus the browser's, seconds
  #wasLive = false;
  #isStoring = true;
  #isClosed = false;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {number | undefined} */
  #watchdog;
  /** @type {number | undefined} */
  #retryTimer;

  /**
   * @param {string} base path prefix of Pitwall's URLs, or ""
   * @param {Map<string, RunModel>} models by run id
   * @param {(model: RunModel, changes: Changes) => void} onMessage
   * @param {(status: Status, reason?: string) => void} onStatus
   */
  constructor(base, models, onMessage, onStatus) {
    this.base = base;
    this.models = models;
    this.onMessage = onMessage;
    this.onStatus = onStatus;
    this.handleOnline = () => {
      if (this.#socket?.readyState !== WebSocket.OPEN) this.open();
    };
    window.addEventListener("online", this.handleOnline);
    this.open();
  }

  get serverNow() {
    return Date.now() / 1000 + this.#clockOffset;
  }

  open() {
    this.#closeSocket();
    if (this.#isClosed) return;
    this.onStatus(this.#wasLive ? "reconnecting" : "connecting");
    const query = new URLSearchParams();
    for (const id of this.models.keys()) query.append("run", id);
    const url = new URL(`${this.base}/ws/live?${query}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.onopen = () => socket.send(JSON.stringify(this.#cursors()));
    socket.onmessage = (event) => this.#handleMessage(JSON.parse(event.data));
    socket.onclose = ({ code, reason }) => (code === POLICY_VIOLATION ? this.#refuse(reason) : this.#retry());
    this.#restartWatchdog();
  }

  #cursors() {
    const resumable = [...this.models.values()].filter((model) => model.cursor);
    return Object.fromEntries(resumable.map((model) => [model.id, model.cursor]));
  }

  close() {
    this.#isClosed = true;
    window.removeEventListener("online", this.handleOnline);
    this.#closeSocket();
  }

  /** @param {Message} message */
  #handleMessage(message) {
    const socket = this.#socket;
    // Only these messages set the clock: those about a run may come from another Pitwall, which has another clock.
    if (message.type === "hello" || message.type === "beat") this.#clockOffset = message.server_t - Date.now() / 1000;
    this.#restartWatchdog();
    if (message.type === "hello") {
      this.#beatSeconds = message.beat_s;
      this.#retryDelay = MIN_RETRY_DELAY_MS;
      this.#wasLive = true;
    }
    if (message.type === "hello" || message.type === "beat") this.#isStoring = message.is_storing;
    else this.#handleRunMessage(message);
    if (message.type === "delta") this.#isStoring = true; // the server sends no beats while it sends deltas
    if (socket === this.#socket) this.#reportStatus(); // otherwise it is reconnecting
  }

  /** Reports "live" once data about a run has arrived: a server that has only sent hello is still reading its store. */
  #reportStatus() {
    const hasData = (/** @type {RunModel} */ model) =>
      model.cursor || model.goneReason !== null || model.awayReason !== null;
    if (!this.#isStoring) this.onStatus("stuck");
    else this.onStatus([...this.models.values()].some(hasData) ? "live" : "connecting");
  }

  /** @param {RunMessage} message */
  #handleRunMessage(message) {
    const model = this.models.get(message.run);
    if (!model) return;
    if (!model.follows(message)) {
      this.open();
      return;
    }
    if (message.type !== "away") model.clockOffset = message.server_t - this.serverNow;
    const changes = model.apply(message);
    this.onMessage(model, changes);
    if (model.hasTooManyPoints) {
      model.cursor = "";
      this.open();
    }
  }

  /** A connection that is silent for more than two beats is dead, even if the browser still reports it as open. */
  #restartWatchdog() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#retry(), (2 * this.#beatSeconds + 2) * 1000);
  }

  #retry() {
    this.#closeSocket();
    if (this.#isClosed) return;
    this.onStatus(this.#wasLive ? "reconnecting" : "connecting");
    this.#retryTimer = setTimeout(() => this.open(), this.#retryDelay * (0.75 + Math.random() / 2));
    this.#retryDelay = Math.min(this.#retryDelay * 2, MAX_RETRY_DELAY_MS);
  }

  /** @param {string} reason */
  #refuse(reason) {
    this.close();
    this.onStatus("refused", reason);
  }

  #closeSocket() {
    clearTimeout(this.#watchdog);
    clearTimeout(this.#retryTimer);
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    this.#socket = null;
  }
}
