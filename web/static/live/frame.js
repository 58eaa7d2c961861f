// What all charts share: the frame around a plot, the layout, and how an empty one explains itself.

/** @import { RunModel } from "./model.js" */
/** @import { Theme } from "./theme.js" */
/** @import { KnownModel } from "../../types/live_page.js" */

import { element, setText } from "./format.js";
import { isKnown } from "./model.js";

export const CONFIG = { displayModeBar: false, showTips: false, displaylogo: false, showSendToCloud: false, doubleClick: false, responsive: false };

/**
 * The reasons why no run of these can have it, or null where one can. Of a run that waits in the queue nothing is known.
 * @param {RunModel[]} models
 * @param {(model: KnownModel) => string | null} reasonOf null: it can
 */
export function commonAbsence(models, reasonOf) {
  const reasons = models.filter(isKnown).filter((model) => model.meta.state !== "queued").map(reasonOf);
  return reasons.length && reasons.every((reason) => reason !== null) ? [...new Set(reasons)].join("; ") : null;
}

/**
 * What the layouts of all charts share.
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
 * What of the axes is another, by the names of Plotly's relayout: an axis given as a whole has everything computed anew.
 * @param {Plotly.Layout} layout
 * @param {{ xaxis: Plotly.Axis, yaxis: Plotly.Axis }} wanted
 */
export function changesOf(layout, wanted) {
  /** @type {Record<string, unknown>} */
  const changes = {};
  for (const axis of /** @type {const} */ (["xaxis", "yaxis"])) {
    for (const [name, value] of Object.entries(wanted[axis])) {
      if (JSON.stringify(layout[axis][name]) !== JSON.stringify(value)) changes[`${axis}.${name}`] = value;
    }
  }
  return changes;
}

/**
 * Fits a drawn plot to its place, if it has one: of a plot that was just taken off the page plotly.js makes an error.
 * @param {typeof Plotly} plotly
 * @param {Plotly.Plot} plot
 */
export function fit(plotly, plot) {
  if (plot.isConnected && plot.clientWidth) plotly.Plots.resize(plot);
}

/** @param {Theme} theme */
export function baseAxis(theme) {
  return { color: theme.muted, gridcolor: theme.grid, zeroline: false, linecolor: theme.grid, tickfont: { size: 11 } };
}

/** A frame with a title, a readout, room for a plot and the line that marks the moment. */
export class Frame {
  plotly = () => Plotly; // what draws in it

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
    this.readout = element("p", "lv-readout"); // a line of its own: what it says moves nothing
    this.plot = /** @type {Plotly.Plot} */ (element("div", "lv-plot"));
    this.line = element("div", "lv-moment");
    this.line.hidden = true;
    this.empty = element("p", "lv-empty");
    this.empty.hidden = true;
    const body = element("div", "lv-plot-body");
    body.append(this.plot, this.line, this.empty);
    this.root.append(this.head, this.readout, body);
  }

  /**
   * Says over the plot why nothing is in it; null takes the words away.
   * @param {string | null} reason
   */
  tellEmpty(reason) {
    this.empty.hidden = reason === null;
    setText(this.empty, reason ?? "");
  }
}
