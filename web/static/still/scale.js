// The logarithmic scale of a still chart's height, as the page's address keeps it: of each chart under a name of its own.

/** @import { Figure } from "../../types/still_chart.js" */

const HEIGHT = /^yaxis\d*$/;
/** @type {(string | undefined)[]} */
const LINEAR = ["linear", undefined]; // Plotly's own choice for numbers
const OF_POINTS = ["scatter", "box"]; // a bar begins at 0, which has no place on it

// With a format of its own a tick between two powers of ten is written as a number, not as its first digit.
const LOG = { type: "log", range: undefined, dtick: undefined, rangemode: "normal", nticks: 6, tickformat: ",.4~r" };

/** @param {string} name */
const keyOf = (name) => `scale-${name}`;

/**
 * Whether all that is drawn has a place on a logarithmic scale.
 * @param {Figure} figure
 */
export function canBeLog({ data, layout }) {
  const isNumeric = Object.entries(layout).every(([name, axis]) => !HEIGHT.test(name) || LINEAR.includes(/** @type {{ type?: string }} */ (axis).type));
  const heights = data.flatMap(({ y }) => y ?? []).filter((value) => value !== null);
  const isAbove = heights.length > 0 && heights.every((value) => typeof value === "number" && value > 0);
  return isNumeric && isAbove && data.every(({ type, fill }) => OF_POINTS.includes(type) && !fill?.startsWith("tozero"));
}

/**
 * The layout with every height on a logarithmic scale, its ticks where Plotly puts them.
 * @template {object} L
 * @param {L} layout
 * @returns {L}
 */
export function onLog(layout) {
  const axes = Object.entries(layout).filter(([name]) => HEIGHT.test(name));
  const changed = axes.map(([name, axis]) => [name, { ...axis, ...LOG }]);
  return { ...layout, ...Object.fromEntries(changed) };
}

/**
 * @param {string} search
 * @param {string} name
 */
export function isLogIn(search, name) {
  return new URLSearchParams(search).get(keyOf(name)) === "log";
}

/**
 * The address with the scale of the chart of this name; what others keep in it stays.
 * @param {string} search
 * @param {string} name
 * @param {boolean} isLog
 */
export function searchOnScale(search, name, isLog) {
  const said = new URLSearchParams(search);
  if (isLog) said.set(keyOf(name), "log");
  else said.delete(keyOf(name));
  return said.size ? `?${said}` : "";
}
