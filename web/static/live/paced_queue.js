// Spreads work on many charts over several animation frames, so that the page answers user input in between.

/** @typedef {{ requestFrame: (callback: () => void) => unknown, now: () => number }} Clock */

const BUDGET_MS = 8; // per frame; the last item may exceed it, because a started item is always finished

/** @type {Clock} */
const browserClock = {
  requestFrame: (callback) => requestAnimationFrame(callback),
  now: () => performance.now(),
};

/** @template Item */
export class PacedQueue {
  /** @type {Set<Item>} */
  #items = new Set(); // the item that has waited longest is first
  #hasRequestedFrame = false;

  /**
   * @param {(item: Item) => void} process
   * @param {Clock} clock
   */
  constructor(process, clock = browserClock) {
    this.process = process;
    this.clock = clock;
  }

  /**
   * Queues items to be processed once each; an item that is already waiting keeps its position.
   * @param {Item[]} items
   */
  add(items) {
    items.forEach((item) => this.#items.add(item));
    if (!this.#hasRequestedFrame) this.#processItems();
  }

  clear() {
    this.#items.clear();
  }

  #handleFrame() {
    this.#hasRequestedFrame = false; // first of all, in case processing throws
    this.#processItems();
  }

  #processItems() {
    const startedAt = this.clock.now();
    for (const item of this.#items) {
      this.#items.delete(item);
      this.process(item);
      if (this.clock.now() - startedAt >= BUDGET_MS) break;
    }
    this.#hasRequestedFrame = this.#items.size > 0;
    if (this.#hasRequestedFrame) this.clock.requestFrame(() => this.#handleFrame());
  }
}
