// Loads the time range that the user zoomed into in more detail than the overview of the whole run has.

/** @import { Page, Range } from "../../types/live_page.js" */
/** @import { RunPart } from "../../types/live_protocol.js" */

import { isAwaited, isKnown } from "./model.js";

const DELAY_MS = 250; // so that nothing is requested while the user is still dragging

/**
 * Requests the series of runs, each for its whole time or for a time range, as messages for their models.
 * @param {string} base path prefix of Pitwall's URLs, or ""
 * @param {[runId: string, from?: number, to?: number][]} ranges
 * @param {AbortSignal} [signal]
 * @returns {Promise<RunPart[]>}
 */
export async function fetchSeries(base, ranges, signal) {
  const query = new URLSearchParams();
  for (const [id, from, to] of ranges) {
    query.append("run", id);
    if (from === undefined || to === undefined) continue;
    query.append("from", String(from));
    query.append("to", String(to));
  }
  const response = await fetch(`${base}/series?${query}`, { signal });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).runs;
}

export class DetailLoader {
  /** @type {number | undefined} */
  #timer;
  #request = new AbortController();

  /**
   * @param {string} base
   * @param {Page} page
   * @param {() => void} onChange called when the details have been loaded
   */
  constructor(base, page, onChange) {
    this.base = base;
    this.page = page;
    this.onChange = onChange;
  }

  /**
   * Loads the detail of a range soon; null removes the detail.
   * @param {Range | null} range
   */
  load(range) {
    this.close();
    if (range) this.#timer = setTimeout(() => this.#fetch(range), DELAY_MS);
    else this.page.models().forEach((model) => (model.detail = null));
  }

  close() {
    clearTimeout(this.#timer);
    this.#request.abort();
  }

  /** @param {Range} range */
  async #fetch(range) {
    const { view } = this.page;
    const visible = view.visibleRuns(this.page.models());
    if (visible.some(isAwaited)) {
      this.load(range); // an address names a range before its runs' data have come
      return;
    }
    this.#request = new AbortController();
    const models = new Map(visible.filter(isKnown).map((model) => [model.id, model]));
    const [start, end] = range;
    const ranges = [...models].map(([id, model]) => {
      return /** @type {[string, number, number]} */ ([id, view.toTime(model, start), view.toTime(model, end)]);
    });
    const { signal } = this.#request;
    const parts = await fetchSeries(this.base, ranges, signal).catch(() => []); // on failure the overview stays drawn
    if (view.zoom !== range || !parts.length) return;
    for (const part of parts) {
      const model = models.get(part.run);
      if (model) model.detail = { series: part.series ?? {} };
    }
    this.onChange();
  }
}
