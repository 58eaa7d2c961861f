// The Live page's body: a strip of runs, charts on one time axis, all numbers, log tails; mounted by web/live/component.py.

/** @import { Changes, LiveData, Status } from "../../types/live_page.js" */

import { Board, MANY } from "./board.js";
import { CHARTS } from "./charts.js";
import { Feed } from "./feed.js";
import { element } from "./format.js";
import { Lane } from "./lanes.js";
import { LogTail } from "./logs.js";
import { RunModel, isKnown } from "./model.js";
import { Chip, Strip } from "./strip.js";

/** @type {WeakMap<HTMLElement, LivePage>} */
const pages = new WeakMap(); // by parent element: a rerun of the script meets the page it made

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
    this.board = new Board(root, data, CHARTS, { isLive: true, refresh: () => this.#refreshRuns(), point: (x) => this.#markLogs(x) });
    const { toolbar, chartGrid, zooms, absences } = this.board;
    root.append(this.strip.root, this.causes, toolbar.root, chartGrid, zooms.root, absences, this.laneRow, this.logRow);
    this.ticking = setInterval(() => this.#tick(), 1000);
  }

  /** Streamlit writes the address anew from what it knows of it, where the script changes it. */
  #tick() {
    this.board.remember();
    this.#refreshRuns();
  }

  /**
   * Takes what the script says.
   * @param {LiveData} data
   */
  update(data) {
    this.data = data;
    this.board.update(data);
    if ([...this.#models.keys()].join() !== data.runs.join()) this.#watch(data.runs);
  }

  close() {
    this.#feed?.close();
    clearInterval(this.ticking);
    this.board.close();
  }

  /** @param {string[]} runIds */
  #watch(runIds) {
    const { board, data } = this;
    this.#feed?.close();
    this.#models = new Map(runIds.map((id) => [id, this.#models.get(id) ?? new RunModel(id)]));
    board.watch(this.#models);
    this.#chips = new Map(runIds.map((id) => [id, new Chip(data.labels[id] ?? id, data.links[id] ?? data.run_url + encodeURIComponent(id))]));
    this.#lanes = new Map(runIds.map((id) => [id, new Lane()]));
    this.#logs = new Map(board.models().map((model) => [model.id, new LogTail(board, model, data.labels[model.id] ?? model.id)]));
    this.#chips.forEach((chip, id) => chip.picks.offer([id], board));
    this.strip.show(this.#chips.values());
    this.laneRow.tabIndex = this.#lanes.size > MANY ? 0 : -1; // on a phone they stand beside each other, and keys move them
    this.laneRow.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.root));
    this.causes.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.cause));
    this.logRow.replaceChildren(...[...this.#logs.values()].map((log) => log.root));
    for (const log of this.#logs.values()) log.refresh({ whole: true, log: [] });
    this.#feed = new Feed(data.base, this.#models, (model, changes) => this.#take(model, changes), (status, reason) => this.#tellStatus(status, reason));
    this.#refreshRuns();
  }

  /**
   * Of runs that have all ended nothing more comes: the page's head says the result.
   * @param {Status} status
   * @param {string} [reason]
   */
  #tellStatus(status, reason) {
    const hasEnded = status === "live" && [...this.#models.values()].every((model) => model.isFinal);
    this.board.toolbar.setStatus(hasEnded ? "loaded" : status, reason);
  }

  /**
   * @param {RunModel} model
   * @param {Changes} changes
   */
  #take(model, changes) {
    this.board.take(changes);
    this.#logs.get(model.id)?.refresh(changes);
  }

  /** @param {number | null} moment */
  #markLogs(moment) {
    for (const log of this.#logs.values()) log.mark(moment === null ? null : this.board.view.toTime(log.model, moment));
  }

  #refreshRuns() {
    const baseline = this.#models.get(this.data.baseline);
    const now = this.#feed?.serverNow ?? Date.now() / 1000;
    const theme = this.board.theme();
    for (const [id, model] of this.#models) {
      const color = isKnown(model) ? theme.color(model) : theme.muted;
      const label = isKnown(model) ? this.board.label(model) : (this.data.labels[id] ?? id);
      const compared = baseline && isKnown(baseline) ? { model: baseline, label: this.board.label(baseline), reason: this.data.not_comparable[id] } : null;
      this.#chips.get(id)?.tellHidden(this.board);
      this.#chips.get(id)?.refresh(model, label, color, now + model.ahead, compared);
      this.#lanes.get(id)?.refresh(model, label, color, compared);
    }
    this.strip.refresh(this.board.models(), (model) => this.board.label(model));
  }
}
