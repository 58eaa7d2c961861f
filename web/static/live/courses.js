// Runs over time on the pages that stand still: the charts of Live, drawn once; mounted by web/live/component.py.

/** @import { CourseData } from "../../types/live_page.js" */

import { Board } from "./board.js";
import { CHARTS } from "./charts.js";
import { fetchSeries } from "./closer.js";
import { element } from "./format.js";
import { Legend } from "./legend.js";
import { RunModel } from "./model.js";

/** @type {WeakMap<HTMLElement, CoursePage>} */
const pages = new WeakMap(); // by parent element: a rerun of the script meets the page it made

/** @param {ComponentArgs<CourseData>} component */
export function mount({ parentElement, data }) {
  const page = pages.get(parentElement) ?? new CoursePage(parentElement, data);
  pages.set(parentElement, page);
  page.update(data);
  return () => {
    page.close();
    pages.delete(parentElement);
  };
}

class CoursePage {
  /** @type {Map<string, RunModel>} */
  #models = new Map();
  #asking = new AbortController();

  /**
   * @param {HTMLElement} parent
   * @param {CourseData} data
   */
  constructor(parent, data) {
    const root = element("div", "lv-live");
    parent.append(root);
    this.legend = new Legend();
    const specs = CHARTS.filter((spec) => !data.charts.length || data.charts.includes(spec.id));
    this.board = new Board(root, data, specs, { isLive: false, refresh: () => this.legend.refresh(this.board), point: () => undefined });
    root.append(this.legend.root, this.board.toolbar.root, this.board.chartGrid, this.board.zooms.root, this.board.absences);
    this.ticking = setInterval(() => this.board.remember(), 1000);
  }

  /**
   * Takes what the script says; what has ended is asked for once.
   * @param {CourseData} data
   */
  update(data) {
    const isSame = [...this.#models.keys()].join() === data.runs.join();
    this.board.update(data);
    if (isSame && [...this.#models.values()].every((model) => model.isFinal)) return;
    this.#models = new Map(data.runs.map((id) => [id, this.#models.get(id) ?? new RunModel(id)]));
    this.board.watch(this.#models);
    this.legend.show(data.legend, this.board);
    this.#load(data);
  }

  close() {
    this.#asking.abort();
    clearInterval(this.ticking);
    this.board.close();
  }

  /** @param {CourseData} data */
  async #load({ base, runs }) {
    const { toolbar } = this.board;
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    try {
      const parts = await fetchSeries(base, runs.map((id) => [id]), signal);
      parts.forEach((part) => this.#models.get(part.run)?.apply(part));
      toolbar.setStatus("loaded");
      this.board.take({ whole: true, positions: false });
    } catch (error) {
      if (!signal.aborted) toolbar.setStatus("refused", `The charts could not be loaded: ${error instanceof Error ? error.message : error}`);
    }
  }
}
