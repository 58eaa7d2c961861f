// The names at the ends of a chart's lines, so that nobody has to look up whose a colour is.

/** @typedef {{ name: string, color: string, x: number, y: number }} LineEnd in pixels of the plot */

import { element, setText } from "./format.js";

const LINE_PX = 15; // from one name to the next
const LETTER_PX = 6.6;
const WIDEST_PX = 150;
const GAP_PX = 5;

/**
 * The room that these names need at the right of a chart.
 * @param {string[]} names
 */
export function roomFor(names) {
  return Math.min(WIDEST_PX, Math.max(0, ...names.map((name) => name.length * LETTER_PX)) + 2 * GAP_PX);
}

/**
 * The same ends, moved up or down as far as it takes that no name covers another.
 * @param {LineEnd[]} ends
 * @param {number} height of the plot
 */
export function apart(ends, height) {
  const sorted = ends.map((end) => ({ ...end })).sort((one, other) => one.y - other.y);
  sorted.forEach((end, index) => (end.y = Math.max(end.y, index ? sorted[index - 1].y + LINE_PX : LINE_PX / 2)));
  let limit = height - LINE_PX / 2;
  for (const end of [...sorted].reverse()) {
    end.y = Math.min(end.y, limit);
    limit = end.y - LINE_PX;
  }
  return sorted;
}

export class LineNames {
  constructor() {
    this.root = element("div", "lv-line-names");
    this.root.setAttribute("aria-hidden", "true"); // the strip or the legend says the same
  }

  /**
   * @param {LineEnd[]} ends
   * @param {number} height of the plot
   */
  show(ends, height) {
    while (this.root.childElementCount > ends.length) this.root.lastElementChild?.remove();
    apart(ends, height).forEach(({ name, color, x, y }, index) => {
      const node = /** @type {HTMLElement} */ (this.root.children[index] ?? this.root.appendChild(element("span")));
      setText(node, name);
      node.style.color = color;
      node.style.transform = `translate(${Math.round(x + GAP_PX)}px, ${Math.round(y - LINE_PX / 2)}px)`;
    });
  }
}
