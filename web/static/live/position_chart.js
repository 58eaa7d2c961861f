// The one chart without a time axis: acceptance of each draft position, as it was last told.

/** @import { Page } from "../../types/live_page.js" */

import { CONFIG, Frame, baseAxis, baseLayout, commonAbsence } from "./frame.js";
import { isKnown } from "./model.js";

/** A group of bars a position, one bar a run. */
export class PositionChart {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.frame = new Frame("Accepted of each draft position", "%", "");
    this.frame.plot.setAttribute("role", "img");
    this.frame.plot.setAttribute("aria-label", "Accepted of each draft position: not drawn yet");
    this.isInSight = false;
    this.isDrawn = false;
  }

  absence() {
    return commonAbsence(this.page.models(), (model) => (model.perPosition?.v ? null : model.meta.absent.per_position ?? model.meta.absent.acceptance_length ?? (model.isFinal ? "no draft was made" : null)));
  }

  react() {
    if (!this.isInSight) return;
    this.isDrawn = true;
    const theme = this.page.theme();
    const known = this.page.view.shown(this.page.models()).filter(isKnown);
    const drafting = known.flatMap((model) => (model.perPosition?.v ? [{ model, percents: model.perPosition.v.map((ratio) => ratio * 100) }] : []));
    const traces = drafting.map(({ model, percents }) => ({
      type: /** @type {const} */ ("bar"),
      name: model.meta.name,
      x: percents.map((_, index) => index + 1),
      y: percents,
      marker: { color: theme.color(model) },
      hovertemplate: "position %{x}: %{y:.3g} %<extra>%{fullData.name}</extra>",
    }));
    const axis = { ...baseAxis(theme), fixedrange: true };
    const layout = {
      ...baseLayout(this.frame.plot, theme),
      bargap: 0.35,
      dragmode: false,
      xaxis: { ...axis, dtick: 1, showgrid: false },
      yaxis: { ...axis, range: [0, 100], nticks: 5 },
    };
    Plotly.react(this.frame.plot, traces, layout, CONFIG);
    this.frame.tellEmpty(drafting.length ? null : "no sample yet");
    const said = drafting.map(({ model, percents }) => `${model.meta.name}: ${percents.map((percent) => `${Math.round(percent)} %`).join(", ")}`);
    this.frame.plot.setAttribute("aria-label", said.join("; ") || "No acceptance yet");
  }

  resize() {
    if (this.isDrawn && this.isInSight) Plotly.Plots.resize(this.frame.plot);
  }
}
