// Stores the zoomed ranges of a still chart's axes in the page's URL, with one query parameter per chart, so that links
// and the Back button restore them.

/** @import { Zoom, ZoomedAxis } from "../../types/still_chart.js" */

const AXES = /** @type {const} */ (["xaxis", "yaxis"]);
const DATE_TIME = /^\d{4}-\d\d-\d\d[\d:. ]*$/; // as Plotly writes it
const SIGNIFICANT_DIGITS = 9;
const FULL_RANGE = ["", ""];
const RANGE_CHANGE = /^[xy]axis\d*\.(auto)?range/;

/** @param {string} name */
const paramName = (name) => `zoom-${name}`;

/**
 * The zoom of the chart of this name in a URL's query; an axis with no range or an invalid range is not zoomed.
 * @param {string} search
 * @param {string} name
 * @returns {Zoom}
 */
export function zoomIn(search, name) {
  const ends = (new URLSearchParams(search).get(paramName(name)) ?? "").split("_").map(parseEnd);
  const [x, y] = [ends.slice(0, 2), ends.slice(2)];
  return { xaxis: validRange(x), yaxis: validRange(y) };
}

/**
 * The URL's query with the zoom of the chart of this name; other parameters stay.
 * @param {string} search
 * @param {string} name
 * @param {Zoom | null} zoom null: not zoomed
 */
export function searchWithZoom(search, name, zoom) {
  const params = new URLSearchParams(search);
  params.delete(paramName(name));
  if (zoom?.xaxis || zoom?.yaxis) {
    const ends = [...(zoom.xaxis ?? FULL_RANGE), ...(zoom.yaxis ?? FULL_RANGE)];
    params.set(paramName(name), ends.map(shorten).join("_"));
  }
  return params.size ? `?${params}` : "";
}

/**
 * The current zoom of a chart; an axis that still has its initial range is not zoomed.
 * @param {Record<"xaxis" | "yaxis", ZoomedAxis>} axes as drawn now
 * @param {Record<"xaxis" | "yaxis", Plotly.Axis>} initialLayout
 * @returns {Zoom}
 */
export function zoomOf(axes, initialLayout) {
  const [xaxis, yaxis] = AXES.map((axis) => {
    const { autorange, range } = axes[axis];
    return autorange || JSON.stringify(range) === JSON.stringify(initialLayout[axis].range) ? null : range;
  });
  return { xaxis, yaxis };
}

/**
 * The argument for Plotly's relayout that shows a zoom.
 * @param {Zoom} zoom
 * @param {Record<"xaxis" | "yaxis", Plotly.Axis>} initialLayout
 */
export function relayoutFor(zoom, initialLayout) {
  const changes = AXES.map((axis) => {
    const range = zoom[axis] ?? initialLayout[axis].range;
    return range ? [`${axis}.range`, range] : [`${axis}.autorange`, true];
  });
  return Object.fromEntries(changes);
}

/**
 * Whether a change that Plotly reports may be a zoom.
 * @param {object} change
 */
export function changesRange(change) {
  return Object.keys(change).some((name) => RANGE_CHANGE.test(name));
}

/**
 * @param {string} text
 * @returns {string | number | null}
 */
function parseEnd(text) {
  if (DATE_TIME.test(text)) return text;
  return text.trim() && Number.isFinite(Number(text)) ? Number(text) : null;
}

/**
 * @param {(string | number | null)[]} ends
 * @returns {[string | number, string | number] | null}
 */
function validRange([start, end]) {
  return start === null || end === null || start === undefined || end === undefined || start === end ? null : [start, end];
}

/** @param {string | number} end */
function shorten(end) {
  return typeof end === "number" ? String(Number(end.toPrecision(SIGNIFICANT_DIGITS))) : end;
}
