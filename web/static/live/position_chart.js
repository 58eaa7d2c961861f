// The only chart without a time axis: the latest acceptance rate of each draft position.

/** @import { KnownModel, Page } from "../../types/live_page.js" */

import { csvText, createDownloadMenu } from "./chart_files.js";
import { CONFIG, Frame, baseAxis, baseLayout, commonAbsence, resizePlot } from "./frame.js";
import { isKnown } from "./model.js";

const TITLE = "Acceptance by draft position";

/** A group of bars per draft position, with one bar per run. */
export class PositionChart {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.frame = new Frame(TITLE, "%", "");
    this.frame.plot.setAttribute("role", "img");
    this.frame.plot.setAttribute("aria-label", `${TITLE}: not drawn yet`);
    const csv = () => positionsCsv(this.#visibleRuns());
    this.frame.head.append(createDownloadMenu({ title: TITLE, name: "pitwall-positions", frame: this.frame, csv }));
    this.isInView = false;
    this.isDrawn = false;
  }

  /** Why no run can have values in this chart; null if a run can. */
  absence() {
    return commonAbsence(this.page.models(), (model) => {
      if (model.perPosition?.v) return null;
      const { absent } = model.meta;
      return absent.per_position ?? absent.acceptance_length ?? (model.isFinal ? "no drafts were made" : null);
    });
  }

  #visibleRuns() {
    return this.page.view.visibleRuns(this.page.models()).filter(isKnown);
  }

  react() {
    if (!this.isInView) return;
    this.isDrawn = true;
    const theme = this.page.theme();
    const runs = this.#visibleRuns().flatMap((model) => {
      return model.perPosition?.v ? [{ model, percents: model.perPosition.v.map((ratio) => ratio * 100) }] : [];
    });
    const traces = runs.map(({ model, percents }) => ({
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
    this.frame.showEmptyReason(runs.length ? null : "no sample yet");
    const texts = runs.map(({ model, percents }) => {
      return `${model.meta.name}: ${percents.map((percent) => `${Math.round(percent)} %`).join(", ")}`;
    });
    this.frame.plot.setAttribute("aria-label", texts.join("; ") || "No acceptance yet");
  }

  resize() {
    if (this.isDrawn && this.isInView) resizePlot(Plotly, this.frame.plot);
  }
}

/**
 * A CSV file with a row for each draft position of each run.
 * @param {KnownModel[]} models
 */
export function positionsCsv(models) {
  const rows = models.flatMap(({ id, meta, perPosition }) => {
    return (perPosition?.v ?? []).map((ratio, index) => [id, meta.name, String(index + 1), String(ratio)]);
  });
  return csvText([["run_id", "name", "position", "accepted_ratio"], ...rows]);
}
