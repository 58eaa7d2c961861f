// What is made of a figure besides its drawing: its colours on another ground, its rows, its points one by one.

/** @import { Palette } from "../../types/live_page.js" */
/** @import { Figure, Spread, StillTrace } from "../../types/still_chart.js" */

import { csvText } from "../live/chart_files.js";

const NARROW_PX = 600;

/**
 * The figure in the colours of the ground that is shown; it comes in those of the light one.
 * @param {Figure} figure
 * @param {Palette} palette
 * @param {"light" | "dark"} ground
 * @returns {Figure}
 */
export function onGround(figure, palette, ground) {
  /** @type {Map<unknown, string>} */
  const colors = new Map();
  for (const { light, dark } of Object.values(palette)) {
    const [from, to] = [[light].flat(), [ground === "dark" ? dark : light].flat()];
    from.forEach((color, index) => colors.set(color, to[index]));
  }
  return JSON.parse(JSON.stringify(figure), (_, value) => colors.get(value) ?? value);
}

/**
 * The figure where it has this many pixels: in a narrow place the scale of its colours would take half of a map, whose
 * cells say their numbers.
 * @param {Figure} figure
 * @param {number} width
 * @returns {Figure}
 */
export function within({ data, layout }, width) {
  const { coloraxis } = layout;
  return { data, layout: coloraxis && width < NARROW_PX ? { ...layout, coloraxis: { ...coloraxis, showscale: false } } : layout };
}

/**
 * Plotly reads a little markup in texts, so that names come without any.
 * @param {unknown} text
 */
export function plainText(text) {
  return String(text ?? "").replaceAll("<br>", ", ").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
}

/**
 * A row for each point, or for each cell of a map.
 * @param {Figure} figure
 */
export function figureCsv({ data }) {
  const told = data.filter((trace) => trace.showlegend !== false || trace.meta !== undefined); // of small charts the first alone is in the legend
  const chart = told.some((trace) => trace.meta !== undefined) ? ["chart"] : [];
  const rows = told.flatMap((trace) => (trace.z ? cellsOf(trace) : pointsOf(trace)).map((row) => [...row, ...chart.map(() => plainText(trace.meta))]));
  return csvText([["name", "x", "y", "value", "x_low", "x_high", "y_low", "y_high", ...chart], ...rows]);
}

/** @param {StillTrace} trace */
function pointsOf({ name, x = [], y = [], error_x, error_y }) {
  return y.map((value, index) => [plainText(name), plainText(x[index]), plainText(value), "", ...ends(x[index], error_x, index), ...ends(value, error_y, index)]);
}

/** @param {StillTrace} trace */
function cellsOf({ name, x = [], y = [], z = [] }) {
  return z.flatMap((row, at) => row.map((value, index) => [plainText(name), plainText(x[index]), plainText(y[at]), plainText(value), "", "", "", ""]));
}

/**
 * @param {unknown} value
 * @param {Spread | undefined} spread
 * @param {number} index
 */
function ends(value, spread, index) {
  const [down, up] = [spread?.arrayminus?.[index], spread?.array?.[index]];
  if (typeof value !== "number" || typeof down !== "number" || typeof up !== "number" || (!down && !up)) return ["", ""];
  return [String(value - down), String(value + up)];
}

/**
 * What the keyboard walks over: each point that opens something, with its words.
 * @param {Figure} figure
 */
export function stations({ data }) {
  return data.flatMap((trace) => (trace.z ? cellStations(trace) : pointStations(trace)));
}

/** @param {StillTrace} trace */
function pointStations({ customdata = [], hovertext = [] }) {
  return /** @type {string[][]} */ (customdata).map((says, index) => ({ says, words: plainText(hovertext[index]) }));
}

/** @param {StillTrace} trace */
function cellStations({ customdata = [], hovertext = [], x = [], y = [], meta }) {
  const [cells, texts] = [/** @type {string[][][]} */ (customdata), /** @type {string[][]} */ (hovertext)];
  const all = cells.flatMap((row, at) => row.map((says, index) => ({ says, words: plainText([...(meta === undefined ? [] : [meta]), x[index], `${y[at]}: ${texts[at]?.[index]}`].join(", ")) })));
  return all.filter(({ says }) => says.length); // an empty cell opens nothing
}
