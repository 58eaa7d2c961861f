// Writes the runs' names at the ends of a chart's lines, so that users need not look up the colours.

/** @typedef {{ name: string, color: string, x: number, y: number }} LineEnd in pixels of the plot */

import { element, setText } from "./format.js";

const LINE_HEIGHT_PX = 15;
const LETTER_PX = 6.6;
const MAX_WIDTH_PX = 150;
const GAP_PX = 5;

/**
 * The width in pixels that these names need to the right of a chart.
 * @param {string[]} names
 */
export function namesWidth(names) {
  return Math.min(MAX_WIDTH_PX, Math.max(0, ...names.map((name) => name.length * LETTER_PX)) + 2 * GAP_PX);
}

/**
 * The line ends, moved up or down just far enough that no name covers another.
 * @param {LineEnd[]} ends
 * @param {number} height of the plot
 */
export function spreadOut(ends, height) {
  const sorted = ends.map((end) => ({ ...end })).sort((a, b) => a.y - b.y);
  sorted.forEach((end, index) => (end.y = Math.max(end.y, index ? sorted[index - 1].y + LINE_HEIGHT_PX : LINE_HEIGHT_PX / 2)));
  let limit = height - LINE_HEIGHT_PX / 2;
  for (const end of [...sorted].reverse()) {
    end.y = Math.min(end.y, limit);
    limit = end.y - LINE_HEIGHT_PX;
  }
  return sorted;
}

export class LineNames {
  constructor() {
    this.root = element("div", "lv-line-names");
    this.root.setAttribute("aria-hidden", "true"); // the strip or the legend has the names
  }

  /**
   * @param {LineEnd[]} ends
   * @param {number} height of the plot
   */
  show(ends, height) {
    while (this.root.childElementCount > ends.length) this.root.lastElementChild?.remove();
    spreadOut(ends, height).forEach(({ name, color, x, y }, index) => {
      const node = /** @type {HTMLElement} */ (this.root.children[index] ?? this.root.appendChild(element("span")));
      setText(node, name);
      node.style.color = color;
      node.style.transform = `translate(${Math.round(x + GAP_PX)}px, ${Math.round(y - LINE_HEIGHT_PX / 2)}px)`;
    });
  }
}
