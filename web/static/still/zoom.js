// What part of a still chart is shown, as the page's address keeps it: of each chart under a name of its own.

/** @import { Zoom, ZoomedAxis } from "../../types/still_chart.js" */

const AXES = /** @type {const} */ (["xaxis", "yaxis"]);
const MOMENT = /^\d{4}-\d\d-\d\d[\d:. ]*$/; // as Plotly writes one
const DIGITS = 9;
const ALL = ["", ""]; // of an axis
const OF_AXES = /^[xy]axis\d*\.(auto)?range/;

/** @param {string} name */
const keyOf = (name) => `zoom-${name}`;

/**
 * What an address says of the chart of this name; an axis of which it says nothing, or nothing that can be, is shown whole.
 * @param {string} search
 * @param {string} name
 * @returns {Zoom}
 */
export function zoomIn(search, name) {
  const ends = (new URLSearchParams(search).get(keyOf(name)) ?? "").split("_").map(endOf);
  const [x, y] = [ends.slice(0, 2), ends.slice(2)];
  return { xaxis: rangeOf(x), yaxis: rangeOf(y) };
}

/**
 * The address with what is shown of the chart of this name; what others keep in it stays.
 * @param {string} search
 * @param {string} name
 * @param {Zoom | null} zoom null: all
 */
export function searchWith(search, name, zoom) {
  const said = new URLSearchParams(search);
  said.delete(keyOf(name));
  if (zoom?.xaxis || zoom?.yaxis) said.set(keyOf(name), [...(zoom.xaxis ?? ALL), ...(zoom.yaxis ?? ALL)].map(short).join("_"));
  return said.size ? `?${said}` : "";
}

/**
 * What a reader has zoomed into; an axis that is as it was drawn first is whole.
 * @param {Record<"xaxis" | "yaxis", ZoomedAxis>} drawn
 * @param {Record<"xaxis" | "yaxis", Plotly.Axis>} first
 * @returns {Zoom}
 */
export function zoomOf(drawn, first) {
  const [xaxis, yaxis] = AXES.map((axis) => {
    const { autorange, range } = drawn[axis];
    return autorange || JSON.stringify(range) === JSON.stringify(first[axis].range) ? null : range;
  });
  return { xaxis, yaxis };
}

/**
 * What Plotly's relayout is told to show it.
 * @param {Zoom} zoom
 * @param {Record<"xaxis" | "yaxis", Plotly.Axis>} first
 */
export function changesFor(zoom, first) {
  const changes = AXES.map((axis) => {
    const range = zoom[axis] ?? first[axis].range;
    return range ? [`${axis}.range`, range] : [`${axis}.autorange`, true];
  });
  return Object.fromEntries(changes);
}

/**
 * Whether what Plotly tells of a change may have been a zoom.
 * @param {object} change
 */
export function isOfAxes(change) {
  return Object.keys(change).some((name) => OF_AXES.test(name));
}

/**
 * @param {string} text
 * @returns {string | number | null}
 */
function endOf(text) {
  if (MOMENT.test(text)) return text;
  return text.trim() && Number.isFinite(Number(text)) ? Number(text) : null;
}

/**
 * @param {(string | number | null)[]} ends
 * @returns {[string | number, string | number] | null}
 */
function rangeOf([from, to]) {
  return from === null || to === null || from === undefined || to === undefined || from === to ? null : [from, to];
}

/** @param {string | number} end */
function short(end) {
  return typeof end === "number" ? String(Number(end.toPrecision(DIGITS))) : end;
}
