// Lets a user switch a still chart's y axes to a logarithmic scale, and stores the choice in the page's URL, with one
// query parameter per chart.

/** @import { Figure } from "../../types/still_chart.js" */

const Y_AXIS = /^yaxis\d*$/;
/** @type {(string | undefined)[]} */
const LINEAR_TYPES = ["linear", undefined]; // undefined: Plotly's own choice for numbers
const POINT_TRACE_TYPES = ["scatter", "box"]; // a bar starts at 0, which a logarithmic axis cannot show

// With a tick format, a tick between two powers of ten is written as a number; by default only as its first digit.
const LOG_AXIS = { type: "log", range: undefined, dtick: undefined, rangemode: "normal", nticks: 6, tickformat: ",.4~r" };

/** @param {string} name */
const paramName = (name) => `scale-${name}`;

/**
 * Whether a logarithmic scale can show everything in the figure.
 * @param {Figure} figure
 */
export function canBeLog({ data, layout }) {
  const yAxes = Object.entries(layout).filter(([name]) => Y_AXIS.test(name));
  const isNumeric = yAxes.every(([, axis]) => LINEAR_TYPES.includes(/** @type {{ type?: string }} */ (axis).type));
  const values = data.flatMap(({ y }) => y ?? []).filter((value) => value !== null);
  const isPositive = values.length > 0 && values.every((value) => typeof value === "number" && value > 0);
  const isOfPoints = data.every(({ type, fill }) => POINT_TRACE_TYPES.includes(type) && !fill?.startsWith("tozero"));
  return isNumeric && isPositive && isOfPoints;
}

/**
 * The layout with every y axis logarithmic; Plotly chooses the range and the ticks.
 * @template {object} L
 * @param {L} layout
 * @returns {L}
 */
export function withLogAxes(layout) {
  const axes = Object.entries(layout).filter(([name]) => Y_AXIS.test(name));
  const logAxes = axes.map(([name, axis]) => [name, { ...axis, ...LOG_AXIS }]);
  return { ...layout, ...Object.fromEntries(logAxes) };
}

/**
 * Whether a URL's query asks for a logarithmic scale of the chart of this name.
 * @param {string} search
 * @param {string} name
 */
export function isLogIn(search, name) {
  return new URLSearchParams(search).get(paramName(name)) === "log";
}

/**
 * The URL's query with the scale of the chart of this name; other parameters stay.
 * @param {string} search
 * @param {string} name
 * @param {boolean} isLog
 */
export function searchWithScale(search, name, isLog) {
  const params = new URLSearchParams(search);
  if (isLog) params.set(paramName(name), "log");
  else params.delete(paramName(name));
  return params.size ? `?${params}` : "";
}
