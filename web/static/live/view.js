// The view that all time charts of a page share: the shown time range, the kind of time axis, the hidden runs and the
// marked time.

/** @import { RunModel } from "./model.js" */
/** @import { Range } from "../../types/live_page.js" */

import { clock, date, dateAndTime, isToday, wallClock } from "./format.js";

const DAY_S = 86400;
const SUB_DAY_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800];
const TICK_STEPS_S = [...SUB_DAY_STEPS_S, ...[1, 2, 7, 14, 28].map((days) => days * DAY_S)];
const MAX_TICKS = 8;
const TIME_LABEL_PX = 70;
const DATE_LABEL_PX = 115;
const MIN_LIVE_SECONDS = 20; // so that the first samples of a live run do not fill the chart

export class View {
  constructor() {
    this.usesWallClock = false;
    this.windowSeconds = 0; // 0: all
    this.smoothSeconds = 0; // 0: as measured
    this.isLog = false;
    /** @type {Set<string>} */
    this.hiddenIds = new Set(); // of runs that are not drawn
    /** @type {Range | null} */
    this.zoom = null; // null: the range follows the runs
    /** @type {number | null} */
    this.markedX = null;
  }

  /**
   * The runs that are drawn: those that are not hidden, or all if every run is hidden.
   * @param {RunModel[]} models
   */
  visibleRuns(models) {
    const visible = models.filter((model) => !this.hiddenIds.has(model.id));
    return visible.length ? visible : models;
  }

  /**
   * Hides exactly these runs; if that would hide all runs, none is hidden.
   * @param {string[]} runIds
   * @param {RunModel[]} models
   */
  hide(runIds, models) {
    const hidesAll = models.length > 0 && models.every((model) => runIds.includes(model.id));
    this.hiddenIds = new Set(hidesAll ? [] : runIds);
  }

  /**
   * Converts a time of a run to a position on the x axis: seconds since it was ready, or wall-clock seconds.
   * @param {RunModel} model
   * @param {number} time
   */
  toX(model, time) {
    return this.usesWallClock ? time : time - model.anchor;
  }

  /**
   * @param {RunModel} model
   * @param {number} x
   */
  toTime(model, x) {
    return this.usesWallClock ? x : x + model.anchor;
  }

  /**
   * The range of the x axis, from the zoom or from the data of the visible runs.
   * @param {RunModel[]} models
   * @returns {Range}
   */
  range(models) {
    if (this.zoom) return this.zoom;
    const visible = this.visibleRuns(models);
    const runs = visible.flatMap((model) => {
      return model.lastPointTime === null ? [] : [{ model, lastTime: model.lastPointTime }];
    });
    if (!runs.length) return [0, MIN_LIVE_SECONDS];
    const liveRuns = runs.filter(({ model }) => !model.isFinal);
    const first = Math.min(...runs.map(({ model }) => this.toX(model, model.firstPointTime)));
    const latestRuns = this.windowSeconds && liveRuns.length ? liveRuns : runs;
    const last = Math.max(...latestRuns.map(({ model, lastTime }) => this.toX(model, lastTime)));
    const span = this.windowSeconds || (liveRuns.length ? MIN_LIVE_SECONDS : 1);
    const end = Math.max(last, first + span);
    return [this.windowSeconds ? end - span : first, end];
  }

  /**
   * A position on the x axis as text.
   * @param {number} x
   * @param {boolean} hasDate whether the label needs the date, because the day is not today
   */
  label(x, hasDate = this.usesWallClock && !isToday(x)) {
    if (!this.usesWallClock) return clock(x);
    return hasDate ? dateAndTime(x) : wallClock(x);
  }

  /**
   * Plotly's x axis for a range, with ticks at round times.
   * @param {Range} range
   * @param {number} width in pixels
   */
  axis([start, end], width) {
    const hasDates = this.usesWallClock && !(isToday(start) && isToday(end));
    const maxTicks = Math.min(MAX_TICKS, Math.max(2, Math.floor(width / (hasDates ? DATE_LABEL_PX : TIME_LABEL_PX))));
    const wholeDays = Math.ceil((end - start) / (maxTicks - 1) / DAY_S);
    const step = TICK_STEPS_S.find((seconds) => (end - start) / seconds <= maxTicks - 1) ?? wholeDays * DAY_S;
    const timezoneOffset = this.usesWallClock ? new Date(start * 1000).getTimezoneOffset() * 60 : 0;
    const first = Math.ceil((start - timezoneOffset) / step) * step + timezoneOffset;
    const ticks = Array.from({ length: maxTicks }, (_, index) => first + index * step).filter((x) => x <= end);
    const tickText = (/** @type {number} */ x) => (step >= DAY_S && hasDates ? date(x) : this.label(x, hasDates));
    return { range: [start, end], tickvals: ticks, ticktext: ticks.map(tickText) };
  }
}
