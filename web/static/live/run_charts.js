// Shows the time charts of the Live page on pages that do not update by themselves, drawn once; mounted by
// web/live/component.py.

/** @import { RunChartsData } from "../../types/live_page.js" */

import { Board } from "./board.js";
import { CHARTS } from "./charts.js";
import { fetchSeries } from "./detail_loader.js";
import { element } from "./format.js";
import { Legend } from "./legend.js";
import { RunModel } from "./model.js";

/** @type {WeakMap<HTMLElement, RunChartsPage>} */
const pages = new WeakMap(); // by parent element: a rerun of the script updates the page it created

/** @param {ComponentArgs<RunChartsData>} component */
export function mount({ parentElement, data }) {
  const page = pages.get(parentElement) ?? new RunChartsPage(parentElement, data);
  pages.set(parentElement, page);
  page.update(data);
  return () => {
    page.close();
    pages.delete(parentElement);
  };
}

class RunChartsPage {
  /** @type {Map<string, RunModel>} */
  #models = new Map();
  #request = new AbortController();

  /**
   * @param {HTMLElement} parent
   * @param {RunChartsData} data
   */
  constructor(parent, data) {
    const root = element("div", "lv-live");
    parent.append(root);
    this.legend = new Legend();
    const specs = CHARTS.filter((spec) => !data.charts.length || data.charts.includes(spec.id));
    this.board = new Board(root, data, specs, { isLive: false, refresh: () => this.legend.refresh(this.board), onMark: () => undefined });
    root.append(this.legend.root, this.board.toolbar.root, this.board.chartGrid, this.board.zoomButtons.root, this.board.absences);
    this.timer = setInterval(() => this.board.saveToUrl(), 1000); // a script run may rewrite the URL
  }

  /**
   * Shows the script's new data; if the runs are the same and all have ended, they are not loaded again.
   * @param {RunChartsData} data
   */
  update(data) {
    const isSame = [...this.#models.keys()].join() === data.runs.join();
    this.board.update(data);
    if (isSame && [...this.#models.values()].every((model) => model.isFinal)) return;
    this.#models = new Map(data.runs.map((id) => [id, this.#models.get(id) ?? new RunModel(id)]));
    this.board.setModels(this.#models);
    this.legend.show(data.legend, this.board);
    this.#load(data);
  }

  close() {
    this.#request.abort();
    clearInterval(this.timer);
    this.board.close();
  }

  /** @param {RunChartsData} data */
  async #load({ base, runs }) {
    const { toolbar } = this.board;
    this.#request.abort();
    const { signal } = (this.#request = new AbortController());
    try {
      const parts = await fetchSeries(base, runs.map((id) => [id]), signal);
      parts.forEach((part) => this.#models.get(part.run)?.apply(part));
      toolbar.setStatus("loaded");
      this.board.handleChanges({ redrawAll: true, positions: false });
    } catch (error) {
      if (!signal.aborted) toolbar.setStatus("refused", `The charts could not be loaded: ${error instanceof Error ? error.message : error}`);
    }
  }
}
