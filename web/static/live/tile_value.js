// Writes a number of a run into the page: with its unit, or as a dash with the reason why it is unknown.

/** @import { Tile } from "../../types/live_protocol.js" */

import { DASH, element, threeDigits } from "./format.js";

/** @typedef {(value: number) => [number: string, unit: string]} Format */

/** @type {(unit: string) => Format} */
export const withUnit = (unit) => (value) => [threeDigits(value), unit];

/**
 * Shows a number with a small unit, or a dash that gives its reason to users of a mouse, a keyboard or a screen reader.
 * @param {HTMLElement} node
 * @param {Tile | undefined} tile
 * @param {Format} format
 * @param {string | undefined} absentReason
 */
export function writeValue(node, tile, format, absentReason) {
  if (tile && tile.v !== null) {
    const [number, unit] = format(tile.v);
    const small = element("small", "lv-unit", unit);
    if (node.dataset.written === number + unit) return;
    node.dataset.written = number + unit;
    node.replaceChildren(number, "\u2009", small);
    return;
  }
  const reason = absentReason ?? tile?.why ?? "no sample yet";
  if (node.dataset.written === reason) return;
  node.dataset.written = reason;
  const dash = element("span", "lv-dash", DASH);
  dash.tabIndex = 0;
  dash.dataset.why = reason;
  dash.append(element("span", "lv-sr", ` unknown: ${reason}`));
  node.replaceChildren(dash);
}
