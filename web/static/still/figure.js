// Derives from a still chart's figure what Plotly does not: the colours of the other colour scheme, a layout for narrow
// screens, the CSV file, and the points that the keyboard can reach.

/** @import { Palette } from "../../types/live_page.js" */
/** @import { Figure, Spread, StillTrace } from "../../types/still_chart.js" */

import { csvText } from "../live/chart_files.js";

const NARROW_PX = 600;
const FONT_PX = { min: 7, max: 12 };
const LETTER_SIZE = { width: 0.6, height: 1.3 }; // relative to the font size
const MARGIN_PX = 80; // a heat map's labels and edges, unless the layout has a larger margin
const COLOR_SCALE_PX = 100;
const LEGEND_BELOW = -0.2; // relative to the height of the plot, under the title of its axis

/**
 * The figure in the colours of a colour scheme; Python sends it in those of the light one.
 * @param {Figure} figure
 * @param {Palette} palette
 * @param {"light" | "dark"} scheme
 * @returns {Figure}
 */
export function inScheme(figure, palette, scheme) {
  /** @type {Map<unknown, string>} */
  const colors = new Map();
  for (const { light, dark } of Object.values(palette)) {
    const [lightColors, shownColors] = [[light].flat(), [scheme === "dark" ? dark : light].flat()];
    lightColors.forEach((color, index) => colors.set(color, shownColors[index]));
  }
  return JSON.parse(JSON.stringify(figure), (_, value) => colors.get(value) ?? value);
}

/**
 * The figure adapted to its width: the texts in the cells of a heat map are as large as they fit, a narrow heat map has
 * no colour scale, which would take half of its width while the cells show the numbers anyway, and the legend of a
 * narrow chart is below it.
 * @param {Figure} figure
 * @param {number} width in pixels
 * @returns {Figure}
 */
export function fitToWidth({ data, layout }, width) {
  const { coloraxis } = layout;
  const isNarrow = width < NARROW_PX;
  const sidesWidth = Math.max(MARGIN_PX, layout.margin?.l ?? 0) + (coloraxis && !isNarrow ? COLOR_SCALE_PX : 0);
  const withFontSize = (/** @type {StillTrace} */ trace) => ({
    ...trace,
    textfont: { size: fontSize(trace, layout, width - sidesWidth) },
  });
  return {
    data: data.map((trace) => (trace.z ? withFontSize(trace) : trace)),
    layout: isNarrow ? narrowLayout(layout) : layout,
  };
}

/**
 * @param {Figure["layout"]} layout
 * @returns {Figure["layout"]}
 */
function narrowLayout({ coloraxis, legend, ...layout }) {
  return {
    ...layout,
    ...(coloraxis ? { coloraxis: { ...coloraxis, showscale: false } } : {}),
    ...(legend ? { legend: { ...legend, orientation: "h", x: 0, y: LEGEND_BELOW } } : {}),
  };
}

/**
 * The font size at which the texts of a heat map fit into its cells. Plotly's own fitting counts the letters of markup.
 * @param {StillTrace} trace
 * @param {Figure["layout"]} layout
 * @param {number} width of all heat maps of the figure
 */
function fontSize({ x = [], y = [], text = [], xaxis = "x", yaxis = "y" }, layout, width) {
  const texts = /** @type {string[][]} */ (text).flat();
  const cells = texts.map((cellText) => cellText.replaceAll(/<(?!br>)[^>]*>/g, "").split("<br>"));
  const mostLetters = Math.max(1, ...cells.flat().map((line) => line.length));
  const mostLines = Math.max(1, ...cells.map((lines) => lines.length));
  const height = layout.height - (layout.margin?.t ?? MARGIN_PX / 2) - (layout.margin?.b ?? MARGIN_PX);
  const byWidth = (width * axisShare(layout, xaxis)) / x.length / mostLetters / LETTER_SIZE.width;
  const byHeight = (height * axisShare(layout, yaxis)) / y.length / mostLines / LETTER_SIZE.height;
  return Math.max(FONT_PX.min, Math.min(FONT_PX.max, Math.floor(Math.min(byWidth, byHeight))));
}

/**
 * The share of the figure's width or height that an axis takes.
 * @param {Figure["layout"]} layout
 * @param {string} name "x2"
 */
function axisShare(layout, name) {
  const axes = /** @type {Record<string, unknown>} */ (layout);
  const axis = /** @type {{ domain?: [number, number] } | undefined} */ (axes[`${name[0]}axis${name.slice(1)}`]);
  const [start, end] = axis?.domain ?? [0, 1];
  return end - start;
}

/**
 * A text without Plotly's markup: line breaks become commas, and escaped characters are restored.
 * @param {unknown} text
 */
export function plainText(text) {
  return String(text ?? "").replaceAll("<br>", ", ").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
}

/**
 * A CSV file with a row for each point, or for each cell of a heat map.
 * @param {Figure} figure
 */
export function figureCsv({ data }) {
  // Traces outside the legend are decoration, except in small multiples, where only the first chart's are in it.
  const dataTraces = data.filter((trace) => trace.showlegend !== false || trace.meta !== undefined);
  const chartColumn = dataTraces.some((trace) => trace.meta !== undefined) ? ["chart"] : [];
  const rows = dataTraces.flatMap((trace) => {
    const traceRows = trace.z ? cellRows(trace) : pointRows(trace);
    return traceRows.map((row) => [...row, ...chartColumn.map(() => plainText(trace.meta))]);
  });
  return csvText([["name", "x", "y", "value", "x_low", "x_high", "y_low", "y_high", ...chartColumn], ...rows]);
}

/** @param {StillTrace} trace */
function pointRows({ name, x = [], y = [], error_x, error_y }) {
  return y.map((value, index) => {
    const intervals = [...errorInterval(x[index], error_x, index), ...errorInterval(value, error_y, index)];
    return [plainText(name), plainText(x[index]), plainText(value), "", ...intervals];
  });
}

/** @param {StillTrace} trace */
function cellRows({ name, x = [], y = [], z = [] }) {
  return z.flatMap((row, rowIndex) =>
    row.map((value, column) => {
      return [plainText(name), plainText(x[column]), plainText(y[rowIndex]), plainText(value), "", "", "", ""];
    }),
  );
}

/**
 * The lower and upper end of a point's error bar; empty texts if it has none.
 * @param {unknown} value
 * @param {Spread | undefined} spread
 * @param {number} index
 */
function errorInterval(value, spread, index) {
  const [down, up] = [spread?.arrayminus?.[index], spread?.array?.[index]];
  if (typeof value !== "number" || typeof down !== "number" || typeof up !== "number" || (!down && !up)) return ["", ""];
  return [String(value - down), String(value + up)];
}

/**
 * The points and cells that the keyboard can reach, because they open something, with a text for each.
 * @param {Figure} figure
 */
export function keyboardStops({ data }) {
  return data.flatMap((trace) => (trace.z ? cellStops(trace) : pointStops(trace)));
}

/** @param {StillTrace} trace */
function pointStops({ customdata = [], hovertext = [] }) {
  return /** @type {string[][]} */ (customdata).map((targets, index) => ({ targets, text: plainText(hovertext[index]) }));
}

/** @param {StillTrace} trace */
function cellStops({ customdata = [], hovertext = [], x = [], y = [], meta }) {
  const [cells, texts] = [/** @type {string[][][]} */ (customdata), /** @type {string[][]} */ (hovertext)];
  const chartTitle = meta === undefined ? [] : [meta];
  const stops = cells.flatMap((row, rowIndex) =>
    row.map((targets, column) => {
      const parts = [...chartTitle, x[column], `${y[rowIndex]}: ${texts[rowIndex]?.[column]}`];
      return { targets, text: plainText(parts.join(", ")) };
    }),
  );
  return stops.filter(({ targets }) => targets.length); // an empty cell opens nothing
}
