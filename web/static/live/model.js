// What the browser knows of one run, built from the messages of web/live/protocol.py.

/** @import { Changes, Detail, KnownModel } from "../../types/live_page.js" */
/** @import { ByName, LiveMark, LiveMeta, LiveNode, LogLine, PerPosition, RunMessage, Series, Tile } from "../../types/live_protocol.js" */
/** @typedef {{ held: Series, close: Series, count: number, series: Required<Series> }} Joined `count` of what was held when it was joined */

const LOG_LINES = 300;
const POINTS_HELD = 4000; // beyond it a fresh snapshot says the same in fewer

/**
 * @param {RunModel} model
 * @returns {model is KnownModel}
 */
export function isKnown(model) {
  return model.meta !== null;
}

const FINAL_STATES = new Set(["finished", "failed", "cancelled"]);

export class RunModel {
  cursor = ""; // after the last message
  seq = 0; // of the last message
  /** @type {LiveMeta | null} */
  meta = null;
  /** @type {string | null} */
  goneReason = null;
  /** @type {string | null} */
  awayReason = null; // of a run of another Pitwall, while nothing comes of it
  ahead = 0; // of the clock of the Pitwall that has the run, of the one that serves this page; seconds
  /** @type {ByName<Required<Series>>} */
  series = {};
  /** @type {Detail | null} */
  detail = null; // of the stretch that the reader looks at closely
  /** @type {ByName<Tile>} */
  now = {};
  /** @type {PerPosition | null} */
  perPosition = null;
  /** @type {LiveNode[]} */
  nodes = []; // the run's other machines
  /** @type {LiveMark[]} */
  marks = []; // its loads, phases and outages
  /** @type {LogLine[]} */
  log = [];
  /** @type {number | null} */
  lastPointTime = null;
  /** @type {Map<string, Joined>} */
  #joined = new Map();

  /** @param {string} id */
  constructor(id) {
    this.id = id;
  }

  /** Forgets what a snapshot says anew. */
  #clear() {
    this.series = {};
    this.now = {};
    this.nodes = [];
    this.marks = [];
    this.perPosition = null;
    this.log = [];
    this.lastPointTime = null;
  }

  /**
   * Takes a message in; says what changed.
   * @param {RunMessage} message
   * @returns {Changes}
   */
  apply(message) {
    if (message.type === "gone") {
      this.goneReason = message.reason;
      return { whole: true, positions: true, log: [] };
    }
    if (message.type === "away") {
      this.awayReason = message.reason;
      return { whole: false, positions: false, log: [] };
    }
    if (message.type === "snapshot") this.#clear();
    const anchor = this.anchor;
    this.goneReason = null;
    this.awayReason = null;
    this.seq = message.seq;
    this.cursor = message.cursor;
    if (message.meta) this.meta = message.meta;
    Object.assign(this.now, message.now ?? {});
    if (message.nodes) this.nodes = message.nodes;
    if (message.marks) this.marks = message.marks;
    if (message.per_position) this.perPosition = message.per_position;
    this.#addSeries(message.series ?? {});
    return {
      whole: message.type === "snapshot" || anchor !== this.anchor || Boolean(message.meta ?? message.marks),
      positions: Boolean(message.per_position),
      log: this.#addLog(message.log ?? []),
    };
  }

  /**
   * Whether this delta is the one after the last message; else something was lost on the way.
   * @param {RunMessage} message
   */
  follows(message) {
    return message.type !== "delta" || message.seq === this.seq + 1;
  }

  /** Where the run's own time starts: when it was ready, until then when it was started. */
  get anchor() {
    return this.meta?.ready_t ?? this.meta?.started_t ?? this.meta?.created_t ?? 0;
  }

  get isFinal() {
    return FINAL_STATES.has(this.meta?.state ?? "");
  }

  /** Infinity before any point. */
  get firstPointTime() {
    return Math.min(...Object.values(this.series).map((one) => one?.t[0] ?? Infinity));
  }

  get holdsTooMuch() {
    return Object.values(this.series).some((one) => one && one.t.length > POINTS_HELD);
  }

  /**
   * A series as it is drawn: as it came, and in the stretch that is looked at closely in its detail.
   * @param {string} name
   */
  drawnSeries(name) {
    const [held, close] = [this.series[name], this.detail?.series[name]];
    if (!held || !close?.t.length) return held;
    const known = this.#joined.get(name);
    if (known?.held === held && known.close === close && known.count === held.t.length) return known.series;
    const series = joinedOf(held, close);
    this.#joined.set(name, { held, close, count: held.t.length, series });
    return series;
  }

  /**
   * The last known value of a series at or before a time, if there is one near enough to be its value.
   * @param {string} name
   * @param {number} time
   */
  valueAt(name, time) {
    const one = this.drawnSeries(name);
    if (!one?.t.length) return null;
    const spacing = (one.t[one.t.length - 1] - one.t[0]) / one.t.length;
    const reach = Math.max(15, 3 * spacing); // a long run comes in wide steps
    let [low, high] = [0, one.t.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (one.t[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low && time - one.t[low - 1] <= reach ? one.v[low - 1] : null;
  }

  /** @param {Record<string, Series>} given */
  #addSeries(given) {
    for (const [name, came] of Object.entries(given)) {
      const { t, v, excluded, mean, count } = whole(came);
      const held = (this.series[name] ??= { t: [], v: [], excluded: [], mean: [], count: [] });
      const last = held.t.at(-1) ?? -Infinity;
      const start = t.findIndex((time) => time > last);
      if (start < 0) continue;
      for (let index = start; index < t.length; index += 1) {
        held.t.push(t[index]);
        held.v.push(v[index]);
        held.excluded.push(excluded[index]);
        held.mean.push(mean[index]);
        held.count.push(count[index]);
      }
      this.lastPointTime = Math.max(this.lastPointTime ?? -Infinity, t[t.length - 1]);
    }
  }

  /** @param {LogLine[]} lines */
  #addLog(lines) {
    const last = this.log.at(-1)?.at ?? -1;
    const fresh = lines.filter((line) => line.at > last).slice(-LOG_LINES);
    this.log = [...this.log, ...fresh].slice(-LOG_LINES);
    return fresh;
  }
}

/**
 * A series in which nothing is left out: where it was not thinned, each sample stands for itself.
 * @param {Series} series
 * @returns {Required<Series>}
 */
function whole({ t, v, excluded, mean, count }) {
  return { t, v, excluded: excluded ?? t.map(() => 0), mean: mean ?? v, count: count ?? v.map((value) => (value === null ? 0 : 1)) };
}

/**
 * A series with the stretch that came in more detail in its place.
 * @param {Required<Series>} held
 * @param {Series} close of which something came
 * @returns {Required<Series>}
 */
function joinedOf(held, close) {
  const before = held.t.filter((time) => time < close.t[0]).length;
  const after = held.t.findIndex((time) => time > /** @type {number} */ (close.t.at(-1)));
  const joined = (/** @type {any[]} */ mine, /** @type {any[]} */ closer) => [...mine.slice(0, before), ...closer, ...(after < 0 ? [] : mine.slice(after))];
  const closer = whole(close);
  return {
    t: joined(held.t, closer.t),
    v: joined(held.v, closer.v),
    excluded: joined(held.excluded, closer.excluded),
    mean: joined(held.mean, closer.mean),
    count: joined(held.count, closer.count),
  };
}
