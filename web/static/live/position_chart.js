// The one chart without a time axis: acceptance of each draft position, as it was last told.

/** @import { KnownModel, Page } from "../../types/live_page.js" */

import { csvText, createDownloadMenu } from "./chart_files.js";
import { CONFIG, Frame, baseAxis, baseLayout, commonAbsence, resizePlot } from "./frame.js";
import { isKnown } from "./model.js";

const TITLE = "Acceptance by draft position";

/** A group of bars a position, one bar a run. */
export class PositionChart {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.frame = new Frame(TITLE, "%", "");
    this.frame.plot.setAttribute("role", "img");
    this.frame.plot.setAttribute("aria-label", `${TITLE}: not drawn yet`);
    this.frame.head.append(createDownloadMenu({ title: TITLE, name: "pitwall-positions", frame: this.frame, csv: () => positionsCsv(this.#known()) }));
    this.isInSight = false;
    this.isDrawn = false;
  }

  absence() {
    return commonAbsence(this.page.models(), (model) => (model.perPosition?.v ? null : model.meta.absent.per_position ?? model.meta.absent.acceptance_length ?? (model.isFinal ? "no drafts were made" : null)));
  }

  #known() {
    return this.page.view.shown(this.page.models()).filter(isKnown);
  }

  react() {
    if (!this.isInSight) return;
    this.isDrawn = true;
    const theme = this.page.theme();
    const drafting = this.#known().flatMap((model) => (model.perPosition?.v ? [{ model, percents: model.perPosition.v.map((ratio) => ratio * 100) }] : []));
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
    this.frame.showEmptyReason(drafting.length ? null : "no sample yet");
    const said = drafting.map(({ model, percents }) => `${model.meta.name}: ${percents.map((percent) => `${Math.round(percent)} %`).join(", ")}`);
    this.frame.plot.setAttribute("aria-label", said.join("; ") || "No acceptance yet");
  }

  resize() {
    if (this.isDrawn && this.isInSight) resizePlot(Plotly, this.frame.plot);
  }
}

/**
 * A row for each draft position of each run that is drawn.
 * @param {KnownModel[]} models
 */
export function positionsCsv(models) {
  const rows = models.flatMap(({ id, meta, perPosition }) => (perPosition?.v ?? []).map((ratio, index) => [id, meta.name, String(index + 1), String(ratio)]));
  return csvText([["run_id", "name", "position", "accepted_ratio"], ...rows]);
}
