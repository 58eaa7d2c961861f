// What part of time the page shows: one axis for all charts.

import { clock, wallClock } from "./format.js";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
const SHORTEST_SECONDS = 60; // so that the first samples do not fill the chart

export class View {
  constructor() {
    this.onWallClock = false;
    this.windowSeconds = 0; // 0: all
    this.zoom = null; // [from, to] that the reader chose; null: follow
    this.moment = null; // the marked x, null: none
  }

  /** The x of a time of a run: seconds since it was ready, or of the wall clock. */
  toX(model, time) {
    return this.onWallClock ? time : time - model.anchor;
  }

  toTime(model, x) {
    return this.onWallClock ? x : x + model.anchor;
  }

  /** [from, to] of the axis now. */
  range(models) {
    if (this.zoom) return this.zoom;
    const shown = models.filter((model) => model.lastPointTime !== null);
    if (!shown.length) return [0, SHORTEST_SECONDS];
    const live = shown.filter((model) => !model.isFinal);
    const first = Math.min(...shown.map((model) => this.toX(model, firstTime(model))));
    const edge = this.windowSeconds && live.length ? live : shown;
    const last = Math.max(...edge.map((model) => this.toX(model, model.lastPointTime)));
    const span = this.windowSeconds || SHORTEST_SECONDS;
    const end = Math.max(last, first + span);
    return [this.windowSeconds ? end - span : first, end];
  }

  label(x) {
    return this.onWallClock ? wallClock(x) : clock(x);
  }

  /** Plotly's axis for a range, with ticks at round times. */
  axis([from, to], width) {
    const most = Math.max(2, width / 90);
    const step = STEPS.find((one) => (to - from) / one <= most) ?? STEPS.at(-1);
    const shift = this.onWallClock ? new Date(from * 1000).getTimezoneOffset() * 60 : 0;
    const ticks = [];
    for (let x = Math.ceil((from - shift) / step) * step + shift; x <= to; x += step) ticks.push(x);
    return { range: [from, to], tickvals: ticks, ticktext: ticks.map((x) => this.label(x)) };
  }
}

function firstTime(model) {
  return Math.min(...Object.values(model.series).map((one) => one.t[0] ?? Infinity));
}
