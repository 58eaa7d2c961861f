// The parts that all charts share: the frame around a plot, Plotly's basic settings, and the message in an empty chart.

/** @import { RunModel } from "./model.js" */
/** @import { Theme } from "./theme.js" */
/** @import { KnownModel } from "../../types/live_page.js" */

import { element, setText } from "./format.js";
import { isKnown } from "./model.js";

export const CONFIG = { displayModeBar: false, showTips: false, displaylogo: false, showSendToCloud: false, doubleClick: false, responsive: false };

/**
 * The reasons why none of the runs can have a value, or null if one can. Queued runs are ignored: nothing is known yet.
 * @param {RunModel[]} models
 * @param {(model: KnownModel) => string | null} reasonOf null: the run can have one
 */
export function commonAbsence(models, reasonOf) {
  const reasons = models.filter(isKnown).filter((model) => model.meta.state !== "queued").map(reasonOf);
  return reasons.length && reasons.every((reason) => reason !== null) ? [...new Set(reasons)].join("; ") : null;
}

/**
 * The part of Plotly's layout that all charts share.
 * @param {Plotly.Plot} plot
 * @param {Theme} theme
 */
export function baseLayout(plot, theme) {
  return {
    height: plot.clientHeight,
    margin: { l: 46, r: 12, t: 8, b: 22 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: theme.font, color: theme.muted, size: 11 },
    showlegend: false,
  };
}

/**
 * The argument for Plotly's relayout with only the axis settings that change; for a whole axis, Plotly would recompute
 * everything.
 * @param {Plotly.Layout} layout
 * @param {{ xaxis: Plotly.Axis, yaxis: Plotly.Axis }} axes
 */
export function axisChanges(layout, axes) {
  /** @type {Record<string, unknown>} */
  const changes = {};
  for (const axis of /** @type {const} */ (["xaxis", "yaxis"])) {
    for (const [name, value] of Object.entries(axes[axis])) {
      if (JSON.stringify(layout[axis][name]) !== JSON.stringify(value)) changes[`${axis}.${name}`] = value;
    }
  }
  return changes;
}

/**
 * Resizes a plot to its container, if it is visible: for a plot that was just removed from the page plotly.js throws.
 * @param {typeof Plotly} plotly
 * @param {Plotly.Plot} plot
 */
export function resizePlot(plotly, plot) {
  if (plot.isConnected && plot.clientWidth) plotly.Plots.resize(plot);
}

/** @param {Theme} theme */
export function baseAxis(theme) {
  return { color: theme.muted, gridcolor: theme.grid, zeroline: false, linecolor: theme.grid, tickfont: { size: 11 } };
}

/** A frame with a title, a readout, a plot and the line that marks a time in it. */
export class Frame {
  plotly = () => Plotly; // the bundle that draws this plot

  /**
   * @param {string} title
   * @param {string} unit
   * @param {string} className
   */
  constructor(title, unit, className) {
    this.title = title;
    this.root = element("section", `lv-chart ${className}`);
    this.head = element("header");
    this.unit = element("span", "lv-unit", unit);
    this.head.append(element("h3", "", title), this.unit);
    this.readout = element("p", "lv-readout"); // on a line of its own, so that its text moves nothing
    this.plot = /** @type {Plotly.Plot} */ (element("div", "lv-plot"));
    this.markLine = element("div", "lv-moment");
    this.markLine.hidden = true;
    this.empty = element("p", "lv-empty");
    this.empty.hidden = true;
    const body = element("div", "lv-plot-body");
    body.append(this.plot, this.markLine, this.empty);
    this.root.append(this.head, this.readout, body);
  }

  /**
   * Shows over the plot why it is empty; null removes the message.
   * @param {string | null} reason
   */
  showEmptyReason(reason) {
    this.empty.hidden = reason === null;
    setText(this.empty, reason ?? "");
  }
}
