// What is made of a figure besides its drawing: its colours on another ground, its rows, its points one by one.

/** @import { Palette } from "../../types/live_page.js" */
/** @import { Figure, Spread, StillTrace } from "../../types/still_chart.js" */

import { csvText } from "../live/chart_files.js";

const NARROW_PX = 600;
const INK_PX = { least: 7, most: 12 };
const OF_LETTER = { width: 0.6, height: 1.3 }; // of the size of its ink
const BESIDE_PX = 80; // a map's names and edges, unless the layout says more
const SCALE_PX = 100;

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
 * cells say their numbers, as large as there is room.
 * @param {Figure} figure
 * @param {number} width
 * @returns {Figure}
 */
export function within({ data, layout }, width) {
  const { coloraxis } = layout;
  const isNarrow = width < NARROW_PX;
  const besides = Math.max(BESIDE_PX, layout.margin?.l ?? 0) + (coloraxis && !isNarrow ? SCALE_PX : 0);
  return {
    data: data.map((trace) => (trace.z ? { ...trace, textfont: { size: inkSize(trace, layout, width - besides) } } : trace)),
    layout: coloraxis && isNarrow ? { ...layout, coloraxis: { ...coloraxis, showscale: false } } : layout,
  };
}

/**
 * The size at which the texts of a map fit its cells; Plotly's own counts the letters of their markup.
 * @param {StillTrace} trace
 * @param {Figure["layout"]} layout
 * @param {number} width of all maps
 */
function inkSize({ x = [], y = [], text = [], xaxis = "x", yaxis = "y" }, layout, width) {
  const lines = /** @type {string[][]} */ (text).flat().map((one) => one.replaceAll(/<(?!br>)[^>]*>/g, "").split("<br>"));
  const longest = Math.max(1, ...lines.flat().map((line) => line.length));
  const most = Math.max(1, ...lines.map((some) => some.length));
  const height = layout.height - (layout.margin?.t ?? BESIDE_PX / 2) - (layout.margin?.b ?? BESIDE_PX);
  const across = (width * shareOf(layout, xaxis)) / x.length / longest / OF_LETTER.width;
  const down = (height * shareOf(layout, yaxis)) / y.length / most / OF_LETTER.height;
  return Math.max(INK_PX.least, Math.min(INK_PX.most, Math.floor(Math.min(across, down))));
}

/**
 * What an axis has of the whole.
 * @param {Figure["layout"]} layout
 * @param {string} name "x2"
 */
function shareOf(layout, name) {
  const axis = /** @type {{ domain?: [number, number] } | undefined} */ (/** @type {Record<string, unknown>} */ (layout)[`${name[0]}axis${name.slice(1)}`]);
  const [from, to] = axis?.domain ?? [0, 1];
  return to - from;
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
