// Zoom buttons for touch screens, where dragging scrolls the page and so cannot select a range in a chart.

import { element } from "./format.js";

const STEP = 0.5; // of the shown range

export const isTouchScreen = () => matchMedia("(pointer: coarse)").matches;

/** The buttons of a chart, or of all charts on one axis; hidden if there is a mouse to drag with. */
export class ZoomButtons {
  /** @type {HTMLButtonElement[]} */
  #moveButtons = [];

  /**
   * @param {(factor: number) => void} zoom by a factor of the shown range; 0: show all
   * @param {(fraction: number) => void} [move] by a fraction of the shown range
   */
  constructor(zoom, move) {
    this.root = element("span", "lv-zooms");
    this.root.hidden = !isTouchScreen();
    if (this.root.hidden) return;
    this.root.append(
      createButton("Zoom in", () => zoom(STEP)),
      createButton("Zoom out", () => zoom(1 / STEP)),
      createButton("Show all", () => zoom(0)),
    );
    if (!move) return;
    this.#moveButtons = [createButton("Earlier", () => move(-STEP)), createButton("Later", () => move(STEP))];
    this.root.append(...this.#moveButtons);
    this.refresh(false);
  }

  /** @param {boolean} isZoomed the full range cannot be moved */
  refresh(isZoomed) {
    for (const button of this.#moveButtons) button.disabled = !isZoomed;
  }
}

/**
 * A range that is `factor` times as long around the same centre, moved by a fraction of the original length.
 * @param {[start: number, end: number]} range
 * @param {number} factor
 * @param {number} [fraction]
 * @returns {[start: number, end: number]}
 */
export function scaleRange([start, end], factor, fraction = 0) {
  const center = (start + end) / 2 + fraction * (end - start);
  const halfLength = ((end - start) / 2) * factor;
  return [center - halfLength, center + halfLength];
}

/**
 * @param {string} label
 * @param {() => void} onClick
 */
function createButton(label, onClick) {
  const button = element("button", "lv-pick", label);
  button.type = "button";
  button.onclick = onClick;
  return button;
}
