// The body of the Live page: a strip of runs, charts on one time axis, all numbers, and the ends of the logs. It is
// mounted by web/live/component.py.

/** @import { Changes, LiveData, Status } from "../../types/live_page.js" */

import { Board, MANY_RUNS } from "./board.js";
import { CHARTS } from "./charts.js";
import { Feed } from "./feed.js";
import { element } from "./format.js";
import { Lane } from "./lanes.js";
import { LogTail } from "./logs.js";
import { RunModel, isKnown } from "./model.js";
import { Chip, Strip } from "./strip.js";

/** @type {WeakMap<HTMLElement, LivePage>} */
const pages = new WeakMap(); // by parent element: a rerun of the script updates the page it created

/** @param {ComponentArgs<LiveData>} component */
export function mount({ parentElement, data }) {
  const page = pages.get(parentElement) ?? new LivePage(parentElement, data);
  pages.set(parentElement, page);
  page.update(data);
  return () => {
    page.close();
    pages.delete(parentElement);
  };
}

class LivePage {
  /** @type {Map<string, RunModel>} */
  #models = new Map();
  /** @type {Map<string, Chip>} */
  #chips = new Map();
  /** @type {Map<string, Lane>} */
  #lanes = new Map();
  /** @type {Map<string, LogTail>} */
  #logs = new Map();
  /** @type {Feed | null} */
  #feed = null;

  /**
   * @param {HTMLElement} parent
   * @param {LiveData} data
   */
  constructor(parent, data) {
    this.data = data;
    const root = element("div", "lv-live");
    parent.append(root);
    this.strip = new Strip();
    this.causes = element("div", "lv-causes");
    this.laneRow = element("div", "lv-lanes");
    this.logRow = element("div", "lv-logs");
    this.laneRow.setAttribute("role", "group");
    this.laneRow.setAttribute("aria-label", "Numbers of each run");
    const hooks = { isLive: true, refresh: () => this.#refreshRuns(), onMark: this.#markLogs.bind(this) };
    this.board = new Board(root, data, CHARTS, hooks);
    const { toolbar, chartGrid, zoomButtons, absences } = this.board;
    root.append(this.strip.root, this.causes, toolbar.root, chartGrid, zoomButtons.root, absences);
    root.append(this.laneRow, this.logRow);
    this.timer = setInterval(() => this.#tick(), 1000);
  }

  /** Writes the choices into the URL again: if the script changes the URL, Streamlit leaves them out. */
  #tick() {
    this.board.saveToUrl();
    this.#refreshRuns();
  }

  /**
   * Shows the script's new data.
   * @param {LiveData} data
   */
  update(data) {
    this.data = data;
    this.board.update(data);
    if ([...this.#models.keys()].join() !== data.runs.join()) this.#setRuns(data.runs);
  }

  close() {
    this.#feed?.close();
    clearInterval(this.timer);
    this.board.close();
  }

  /** @param {string[]} runIds */
  #setRuns(runIds) {
    const { board, data } = this;
    this.#feed?.close();
    this.#models = new Map(runIds.map((id) => [id, this.#models.get(id) ?? new RunModel(id)]));
    board.setModels(this.#models);
    const labelOf = (/** @type {string} */ id) => data.labels[id] ?? id;
    const urlOf = (/** @type {string} */ id) => data.links[id] ?? data.run_url + encodeURIComponent(id);
    this.#chips = new Map(runIds.map((id) => [id, new Chip(labelOf(id), urlOf(id))]));
    this.#lanes = new Map(runIds.map((id) => [id, new Lane()]));
    this.#logs = new Map(board.models().map((model) => [model.id, new LogTail(board, model, labelOf(model.id))]));
    this.#chips.forEach((chip, id) => chip.visibility.connect([id], board));
    this.strip.show(this.#chips.values());
    this.laneRow.tabIndex = this.#lanes.size > MANY_RUNS ? 0 : -1; // on a phone the lanes are in a row, and keys scroll them
    this.laneRow.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.root));
    this.causes.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.cause));
    this.logRow.replaceChildren(...[...this.#logs.values()].map((log) => log.root));
    for (const log of this.#logs.values()) log.refresh({ redrawAll: true, log: [] });
    this.#feed = new Feed(data.base, this.#models, this.#handleChanges.bind(this), this.#showStatus.bind(this));
    this.#refreshRuns();
  }

  /**
   * Shows the connection's status, or none once all runs have ended: then nothing more arrives.
   * @param {Status} status
   * @param {string} [reason]
   */
  #showStatus(status, reason) {
    const hasEnded = status === "live" && [...this.#models.values()].every((model) => model.isFinal);
    this.board.toolbar.setStatus(hasEnded ? "loaded" : status, reason);
  }

  /**
   * @param {RunModel} model
   * @param {Changes} changes
   */
  #handleChanges(model, changes) {
    this.board.handleChanges(changes);
    this.#logs.get(model.id)?.refresh(changes);
  }

  /** @param {number | null} markedX */
  #markLogs(markedX) {
    for (const log of this.#logs.values()) {
      log.mark(markedX === null ? null : this.board.view.toTime(log.model, markedX));
    }
  }

  #refreshRuns() {
    const baselineModel = this.#models.get(this.data.baseline);
    const now = this.#feed?.serverNow ?? Date.now() / 1000;
    const theme = this.board.theme();
    for (const [id, model] of this.#models) {
      const color = isKnown(model) ? theme.color(model) : theme.muted;
      const label = isKnown(model) ? this.board.label(model) : (this.data.labels[id] ?? id);
      const baseline =
        baselineModel && isKnown(baselineModel)
          ? { model: baselineModel, label: this.board.label(baselineModel), reason: this.data.not_comparable[id] }
          : null;
      this.#chips.get(id)?.refreshVisibility(this.board);
      this.#chips.get(id)?.refresh(model, label, color, now + model.clockOffset, baseline);
      this.#lanes.get(id)?.refresh(model, label, color, baseline);
    }
    this.strip.refresh(this.board.models(), (model) => this.board.label(model));
  }
}
