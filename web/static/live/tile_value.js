// How a number of a run is written: with its unit, or as a dash that says why it is unknown.

/** @import { Tile } from "../../types/live_protocol.js" */

import { DASH, element, threeDigits } from "./format.js";

/** @typedef {(value: number) => [number: string, unit: string]} Write */

/** @type {(unit: string) => Write} */
export const plain = (unit) => (value) => [threeDigits(value), unit];

/**
 * A number with its small unit, or a dash that tells its reason to pointer, keyboard and reader.
 * @param {HTMLElement} node
 * @param {Tile | undefined} tile
 * @param {Write} write
 * @param {string | undefined} absentReason
 */
export function writeValue(node, tile, write, absentReason) {
  if (tile && tile.v !== null) {
    const [number, unit] = write(tile.v);
    const small = element("small", "lv-unit", unit);
    if (node.dataset.written === number + unit) return;
    node.dataset.written = number + unit;
    node.replaceChildren(number, "\u2009", small);
    return;
  }
  const why = absentReason ?? tile?.why ?? "no sample yet";
  if (node.dataset.written === why) return;
  node.dataset.written = why;
  const dash = element("span", "lv-dash", DASH);
  dash.tabIndex = 0;
  dash.dataset.why = why;
  dash.append(element("span", "lv-sr", ` unknown: ${why}`));
  node.replaceChildren(dash);
}
