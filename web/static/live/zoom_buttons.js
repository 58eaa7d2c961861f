// A finger scrolls the page, so that it can drag no stretch: there buttons zoom, and move what is shown.

import { element } from "./format.js";

/** @typedef {[name: string, press: () => void]} Offer */

const STEP = 0.5; // of what is shown

export const isCoarse = () => matchMedia("(pointer: coarse)").matches;

/** The buttons of a chart, or of all charts on one axis; none where a mouse drags. */
export class ZoomButtons {
  /** @type {HTMLButtonElement[]} */
  #moving = [];

  /**
   * @param {(factor: number) => void} zoom by a factor of what is shown; 0: all
   * @param {(part: number) => void} [move] by a part of what is shown
   */
  constructor(zoom, move) {
    this.root = element("span", "lv-zooms");
    this.root.hidden = !isCoarse();
    if (this.root.hidden) return;
    this.root.append(button("Zoom in", () => zoom(STEP)), button("Zoom out", () => zoom(1 / STEP)), button("Show all", () => zoom(0)));
    if (!move) return;
    this.#moving = [button("Earlier", () => move(-STEP)), button("Later", () => move(STEP))];
    this.root.append(...this.#moving);
    this.refresh(false);
  }

  /** @param {boolean} isZoomed where all is shown there is nowhere to go */
  refresh(isZoomed) {
    for (const one of this.#moving) one.disabled = !isZoomed;
  }
}

/**
 * A stretch that is `factor` times as long about the same middle, moved by a part of itself.
 * @param {[from: number, to: number]} range
 * @param {number} factor
 * @param {number} [part]
 * @returns {[from: number, to: number]}
 */
export function stretched([from, to], factor, part = 0) {
  const middle = (from + to) / 2 + part * (to - from);
  const half = ((to - from) / 2) * factor;
  return [middle - half, middle + half];
}

/**
 * @param {string} name
 * @param {() => void} press
 */
function button(name, press) {
  const made = element("button", "lv-pick", name);
  made.type = "button";
  made.onclick = press;
  return made;
}
