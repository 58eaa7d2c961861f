// The browser's model of one run, built from the messages of web/live/protocol.py.

/** @import { Changes, Detail, KnownModel } from "../../types/live_page.js" */
/** @import { ByName, LiveMark, LiveMeta, LiveNode, LogLine, PerPosition, RunMessage, Series, Tile } from "../../types/live_protocol.js" */
/**
 * A series with its detail merged in, and what it was merged from.
 * @typedef {{ overview: Series, detail: Series, overviewLength: number, merged: Required<Series> }} MergedSeries
 */

const MAX_LOG_LINES = 300;
const MAX_POINTS = 4000; // beyond this, a new snapshot has the same in fewer points

/**
 * @param {RunModel} model
 * @returns {model is KnownModel}
 */
export function isKnown(model) {
  return model.meta !== null;
}

/**
 * Whether the first data of a run are still to come.
 * @param {RunModel} model
 */
export function isAwaited(model) {
  return !isKnown(model) && model.goneReason === null && model.awayReason === null;
}

const FINAL_STATES = new Set(["finished", "failed", "cancelled"]);

export class RunModel {
  cursor = ""; // the position after the last message
  seq = 0; // sequence number of the last message
  /** @type {LiveMeta | null} */
  meta = null;
  /** @type {string | null} */
  goneReason = null;
  /** @type {string | null} */
  awayReason = null; // why another Pitwall, which has the run, sends nothing at the moment
  clockOffset = 0; // clock of the Pitwall that has the run minus clock of the one that serves this page; seconds
  /** @type {ByName<Required<Series>>} */
  series = {};
  /** @type {Detail | null} */
  detail = null; // the zoomed range in more detail
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
  /** @type {Map<string, MergedSeries>} */
  #mergedSeries = new Map();

  /** @param {string} id */
  constructor(id) {
    this.id = id;
  }

  /** Removes everything that a snapshot contains. */
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
   * Updates the model from a message.
   * @param {RunMessage} message
   * @returns {Changes} what the message changed
   */
  apply(message) {
    if (message.type === "gone") {
      this.goneReason = message.reason;
      return { redrawAll: true, positions: true, log: [] };
    }
    if (message.type === "away") {
      this.awayReason = message.reason;
      return { redrawAll: false, positions: false, log: [] };
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
      redrawAll: message.type === "snapshot" || anchor !== this.anchor || Boolean(message.meta ?? message.marks),
      positions: Boolean(message.per_position),
      log: this.#addLog(message.log ?? []),
    };
  }

  /**
   * Whether this delta directly follows the last message; if not, a message was lost.
   * @param {RunMessage} message
   */
  follows(message) {
    return message.type !== "delta" || message.seq === this.seq + 1;
  }

  /** The zero of the run's own time axis: when it was ready, or until then when it was started. */
  get anchor() {
    return this.meta?.ready_t ?? this.meta?.started_t ?? this.meta?.created_t ?? 0;
  }

  get isFinal() {
    return FINAL_STATES.has(this.meta?.state ?? "");
  }

  /** Infinity before any point. */
  get firstPointTime() {
    return Math.min(...Object.values(this.series).map((series) => series?.t[0] ?? Infinity));
  }

  get hasTooManyPoints() {
    return Object.values(this.series).some((series) => series && series.t.length > MAX_POINTS);
  }

  /**
   * A series as it is drawn, with the zoomed range in more detail.
   * @param {string} name
   */
  drawnSeries(name) {
    const [overview, detail] = [this.series[name], this.detail?.series[name]];
    if (!overview || !detail?.t.length) return overview;
    const overviewLength = overview.t.length;
    const cached = this.#mergedSeries.get(name);
    const isCurrent = cached?.overview === overview && cached.detail === detail;
    if (isCurrent && cached.overviewLength === overviewLength) return cached.merged;
    const merged = mergeDetail(overview, detail);
    this.#mergedSeries.set(name, { overview, detail, overviewLength, merged });
    return merged;
  }

  /**
   * The last known value of a series at or before a time; null if it is too old to count as the value at that time.
   * @param {string} name
   * @param {number} time
   */
  valueAt(name, time) {
    const series = this.drawnSeries(name);
    if (!series?.t.length) return null;
    const spacing = (series.t[series.t.length - 1] - series.t[0]) / series.t.length;
    const maxAge = Math.max(15, 3 * spacing); // the points of a long run are far apart
    let [low, high] = [0, series.t.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (series.t[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low && time - series.t[low - 1] <= maxAge ? series.v[low - 1] : null;
  }

  /** @param {Record<string, Series>} newSeries */
  #addSeries(newSeries) {
    for (const [name, points] of Object.entries(newSeries)) {
      const { t, v, excluded, mean, count } = completeSeries(points);
      const series = (this.series[name] ??= { t: [], v: [], excluded: [], mean: [], count: [] });
      const lastTime = series.t.at(-1) ?? -Infinity;
      const start = t.findIndex((time) => time > lastTime);
      if (start < 0) continue;
      for (let index = start; index < t.length; index += 1) {
        series.t.push(t[index]);
        series.v.push(v[index]);
        series.excluded.push(excluded[index]);
        series.mean.push(mean[index]);
        series.count.push(count[index]);
      }
      this.lastPointTime = Math.max(this.lastPointTime ?? -Infinity, t[t.length - 1]);
    }
  }

  /** @param {LogLine[]} lines */
  #addLog(lines) {
    const lastPosition = this.log.at(-1)?.at ?? -1;
    const newLines = lines.filter((line) => line.at > lastPosition).slice(-MAX_LOG_LINES);
    this.log = [...this.log, ...newLines].slice(-MAX_LOG_LINES);
    return newLines;
  }
}

/**
 * A series with its optional columns filled in: if it was not thinned, each point is a single sample.
 * @param {Series} series
 * @returns {Required<Series>}
 */
function completeSeries({ t, v, excluded, mean, count }) {
  const single = v.map((value) => (value === null ? 0 : 1));
  return { t, v, excluded: excluded ?? t.map(() => 0), mean: mean ?? v, count: count ?? single };
}

/**
 * An overview series in which the points of the detail replace those of the same time range.
 * @param {Required<Series>} overview
 * @param {Series} detail with at least one point
 * @returns {Required<Series>}
 */
function mergeDetail(overview, detail) {
  const detailStart = overview.t.filter((time) => time < detail.t[0]).length;
  const detailEnd = overview.t.findIndex((time) => time > /** @type {number} */ (detail.t.at(-1)));
  const merge = (/** @type {any[]} */ coarse, /** @type {any[]} */ fine) => {
    const after = detailEnd < 0 ? [] : coarse.slice(detailEnd);
    return [...coarse.slice(0, detailStart), ...fine, ...after];
  };
  const fine = completeSeries(detail);
  return {
    t: merge(overview.t, fine.t),
    v: merge(overview.v, fine.v),
    excluded: merge(overview.excluded, fine.excluded),
    mean: merge(overview.mean, fine.mean),
    count: merge(overview.count, fine.count),
  };
}
