// What part of time the page shows: one axis for all charts.

/** @import { RunModel } from "./model.js" */
/** @import { Range } from "../../types/live_page.js" */

import { clock, wallClock } from "./format.js";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
const SHORTEST_SECONDS = 60; // so that the first samples do not fill the chart

export class View {
  constructor() {
    this.onWallClock = false;
    this.windowSeconds = 0; // 0: all
    /** @type {Range | null} */
    this.zoom = null; // what the reader chose; null: follow
    /** @type {number | null} */
    this.moment = null; // the marked x
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
   * What the axis shows now.
   * @param {RunModel[]} models
   * @returns {Range}
   */
  range(models) {
    if (this.zoom) return this.zoom;
    const shown = models.flatMap((model) => (model.lastPointTime === null ? [] : [{ model, lastTime: model.lastPointTime }]));
    if (!shown.length) return [0, SHORTEST_SECONDS];
    const live = shown.filter(({ model }) => !model.isFinal);
    const first = Math.min(...shown.map(({ model }) => this.toX(model, firstTime(model))));
    const edge = this.windowSeconds && live.length ? live : shown;
    const last = Math.max(...edge.map(({ model, lastTime }) => this.toX(model, lastTime)));
    const span = this.windowSeconds || SHORTEST_SECONDS;
    const end = Math.max(last, first + span);
    return [this.windowSeconds ? end - span : first, end];
  }

  /** @param {number} x */
  label(x) {
    return this.onWallClock ? wallClock(x) : clock(x);
  }

  /**
   * Plotly's axis for a range, with ticks at round times.
   * @param {Range} range
   * @param {number} width in pixels
   */
  axis([from, to], width) {
    const most = Math.max(2, width / 90);
    const step = STEPS.find((one) => (to - from) / one <= most) ?? STEPS[STEPS.length - 1];
    const shift = this.onWallClock ? new Date(from * 1000).getTimezoneOffset() * 60 : 0;
    const ticks = [];
    for (let x = Math.ceil((from - shift) / step) * step + shift; x <= to; x += step) ticks.push(x);
    return { range: [from, to], tickvals: ticks, ticktext: ticks.map((x) => this.label(x)) };
  }
}

/** @param {RunModel} model */
function firstTime(model) {
  return Math.min(...Object.values(model.series).map((one) => one?.t[0] ?? Infinity));
}
