// A stretch that the reader zoomed into, asked for again in more detail than the whole came with.

/** @import { Page, Range } from "../../types/live_page.js" */
/** @import { RunPart } from "../../types/live_protocol.js" */

import { isKnown } from "./model.js";

const PAUSE_MS = 250; // a reader who drags on has not decided yet

/**
 * What the server has of runs, of all of their time or of a stretch each, as messages for their models.
 * @param {string} base the path that Pitwall is below, or ""
 * @param {[runId: string, from?: number, to?: number][]} wanted
 * @param {AbortSignal} [signal]
 * @returns {Promise<RunPart[]>}
 */
export async function fetchSeries(base, wanted, signal) {
  const query = new URLSearchParams();
  for (const [id, from, to] of wanted) {
    query.append("run", id);
    if (from === undefined || to === undefined) continue;
    query.append("from", String(from));
    query.append("to", String(to));
  }
  const answer = await fetch(`${base}/series?${query}`, { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).runs;
}

export class Closer {
  /** @type {number | undefined} */
  #timer;
  #asking = new AbortController();

  /**
   * @param {string} base
   * @param {Page} page
   * @param {() => void} onChange what is drawn is another
   */
  constructor(base, page, onChange) {
    this.base = base;
    this.page = page;
    this.onChange = onChange;
  }

  /**
   * Without a stretch the whole is drawn as it came.
   * @param {Range | null} range
   */
  look(range) {
    this.close();
    if (range) this.#timer = setTimeout(() => this.#ask(range), PAUSE_MS);
    else this.page.models().forEach((model) => (model.detail = null));
  }

  close() {
    clearTimeout(this.#timer);
    this.#asking.abort();
  }

  /** @param {Range} range */
  async #ask(range) {
    this.#asking = new AbortController();
    const { view } = this.page;
    const models = new Map(view.shown(this.page.models()).filter(isKnown).map((model) => [model.id, model]));
    const [from, to] = range;
    const wanted = [...models].map(([id, model]) => /** @type {[string, number, number]} */ ([id, view.toTime(model, from), view.toTime(model, to)]));
    const parts = await fetchSeries(this.base, wanted, this.#asking.signal).catch(() => []); // what is there stays drawn
    if (view.zoom !== range || !parts.length) return;
    for (const part of parts) {
      const model = models.get(part.run);
      if (model) model.detail = { series: part.series ?? {} };
    }
    this.onChange();
  }
}
