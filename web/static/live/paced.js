// Work on many charts, spread over the frames: in each what fits, so that nothing that a hand does waits for all of them.

/** @typedef {{ frame: (call: () => void) => unknown, now: () => number }} Clock */

const BUDGET_MS = 8; // what is begun within it is finished: a frame takes this and one chart more at the most

/** @type {Clock} */
const browser = {
  frame: (call) => requestAnimationFrame(call),
  now: () => performance.now(),
};

/** @template Item */
export class Paced {
  /** @type {Set<Item>} */
  #waiting = new Set(); // who waits longest is first
  #hasFrame = false;

  /**
   * @param {(item: Item) => void} work
   * @param {Clock} clock
   */
  constructor(work, clock = browser) {
    this.work = work;
    this.clock = clock;
  }

  /**
   * Works on these from now on, each once and with what is true then; one that waits already keeps its place.
   * @param {Item[]} items
   */
  ask(items) {
    items.forEach((item) => this.#waiting.add(item));
    if (!this.#hasFrame) this.#turn();
  }

  /** What waits is not wanted any more. */
  drop() {
    this.#waiting.clear();
  }

  #next() {
    this.#hasFrame = false; // also where the work of this frame fails
    this.#turn();
  }

  #turn() {
    const begun = this.clock.now();
    for (const item of this.#waiting) {
      this.#waiting.delete(item);
      this.work(item);
      if (this.clock.now() - begun >= BUDGET_MS) break;
    }
    this.#hasFrame = this.#waiting.size > 0;
    if (this.#hasFrame) this.clock.frame(() => this.#next());
  }
}
