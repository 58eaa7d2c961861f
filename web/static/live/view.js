// What part of time the page shows: one axis for all charts.

/** @import { RunModel } from "./model.js" */
/** @import { Range } from "../../types/live_page.js" */

import { clock, date, dateAndTime, isToday, wallClock } from "./format.js";

const DAY = 86400;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY];
const MOST_LABELS = 8;
const LABEL_PX = 70;
const DATED_LABEL_PX = 115;
const SHORTEST_SECONDS = 20; // while a run goes on, so that its first samples do not fill the chart

export class View {
  constructor() {
    this.onWallClock = false;
    this.windowSeconds = 0; // 0: all
    this.smoothSeconds = 0; // 0: as measured
    this.isLog = false;
    /** @type {Set<string>} */
    this.hidden = new Set(); // ids of runs that are not drawn
    /** @type {Range | null} */
    this.zoom = null; // what the reader chose; null: follow
    /** @type {number | null} */
    this.moment = null; // the marked x
  }

  /**
   * Those of the runs that are drawn; all of them where every one was hidden.
   * @param {RunModel[]} models
   */
  shown(models) {
    const left = models.filter((model) => !this.hidden.has(model.id));
    return left.length ? left : models;
  }

  /**
   * Hides these of the runs; all of them would leave nothing, and none is hidden then.
   * @param {string[]} runIds
   * @param {RunModel[]} models
   */
  hide(runIds, models) {
    const leavesNone = models.length > 0 && models.every((model) => runIds.includes(model.id));
    this.hidden = new Set(leavesNone ? [] : runIds);
  }

  /**
   * The x of a time of a run: seconds since it was ready, or of the wall clock.
   * @param {RunModel} model
   * @param {number} time
   */
  toX(model, time) {
    return this.onWallClock ? time : time - model.anchor;
  }

  /**
   * @param {RunModel} model
   * @param {number} x
   */
  toTime(model, x) {
    return this.onWallClock ? x : x + model.anchor;
  }

  /**
   * What the axis shows now, of the runs that are drawn.
   * @param {RunModel[]} models
   * @returns {Range}
   */
  range(models) {
    if (this.zoom) return this.zoom;
    const shown = this.shown(models).flatMap((model) => (model.lastPointTime === null ? [] : [{ model, lastTime: model.lastPointTime }]));
    if (!shown.length) return [0, SHORTEST_SECONDS];
    const live = shown.filter(({ model }) => !model.isFinal);
    const first = Math.min(...shown.map(({ model }) => this.toX(model, model.firstPointTime)));
    const edge = this.windowSeconds && live.length ? live : shown;
    const last = Math.max(...edge.map(({ model, lastTime }) => this.toX(model, lastTime)));
    const span = this.windowSeconds || (live.length ? SHORTEST_SECONDS : 1);
    const end = Math.max(last, first + span);
    return [this.windowSeconds ? end - span : first, end];
  }

  /**
   * @param {number} x
   * @param {boolean} isDated whether the time of day alone would not tell which day
   */
  label(x, isDated = this.onWallClock && !isToday(x)) {
    if (!this.onWallClock) return clock(x);
    return isDated ? dateAndTime(x) : wallClock(x);
  }

  /**
   * Plotly's axis for a range, with ticks at round times.
   * @param {Range} range
   * @param {number} width in pixels
   */
  axis([from, to], width) {
    const isDated = this.onWallClock && !(isToday(from) && isToday(to));
    const most = Math.min(MOST_LABELS, Math.max(2, Math.floor(width / (isDated ? DATED_LABEL_PX : LABEL_PX))));
    const step = STEPS.find((one) => (to - from) / one <= most - 1) ?? Math.ceil((to - from) / (most - 1) / DAY) * DAY;
    const shift = this.onWallClock ? new Date(from * 1000).getTimezoneOffset() * 60 : 0;
    const first = Math.ceil((from - shift) / step) * step + shift;
    const ticks = Array.from({ length: most }, (_, index) => first + index * step).filter((x) => x <= to);
    return { range: [from, to], tickvals: ticks, ticktext: ticks.map((x) => (step >= DAY && isDated ? date(x) : this.label(x, isDated))) };
  }
}
