// Decides which lines a time chart has, and turns each into a Plotly trace: its points, its colour and its dashes.

/** @import { ChartSpec, KnownModel, Page } from "../../types/live_page.js" */
/** @import { Series } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */
/**
 * Excluded values are grey below the main line; raw values are faint below their moving mean.
 * @typedef {"excluded" | "raw" | "main"} LineKind
 */
/**
 * `rank`: index in the chart's `lines`; `pointCount`: how many points of the series are drawn already.
 * @typedef {{ model: KnownModel, series: string, rank: number, kind: LineKind, pointCount: number }} Line
 */
/** @typedef {{ x: number[], y: (number | null)[] }} Points */

import { isKnown } from "./model.js";
import { trailingMeans } from "./smoothing.js";

/** @type {Required<Series>} */
const EMPTY_SERIES = { t: [], v: [], excluded: [], mean: [], count: [] };
const BRIEFLY_EXCLUDED = 2; // a value of `excluded` in web/live/series.py: too short to be seen at this resolution

/** @param {Pick<Line, "model" | "series">} line */
export function pointCountOf({ model, series }) {
  return model.drawnSeries(series)?.t.length ?? 0;
}

/**
 * The lines of a chart in drawing order, the bottom one first.
 * @param {ChartSpec} spec
 * @param {RunModel[]} models
 * @param {boolean} isSmooth
 * @returns {Line[]}
 */
export function linesOf(spec, models, isSmooth) {
  return models.filter(isKnown).flatMap((model) => {
    const linesOfKind = (/** @type {LineKind} */ kind) =>
      spec.lines.map((series, rank) => ({ model, series, rank, kind, pointCount: pointCountOf({ model, series }) }));
    const excluded = spec.showsExcluded ? linesOfKind("excluded").slice(0, 1) : [];
    return [...excluded, ...(isSmooth && !spec.isCount ? linesOfKind("raw") : []), ...linesOfKind("main")];
  });
}

/**
 * Whether a line shows moving means instead of the measured values.
 * @param {Pick<Line, "kind">} line
 * @param {ChartSpec} spec
 * @param {Page} page
 */
function isMean({ kind }, spec, page) {
  return kind === "main" && page.view.smoothSeconds > 0 && !spec.isCount;
}

/**
 * A line's points in the chart's unit. Gaps that are too short to be seen at this resolution do not break the line,
 * because Plotly draws a path for each piece.
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @param {number} start index of the first point
 */
export function pointsOf(line, spec, page, start) {
  const { model, series: name } = line;
  const series = model.drawnSeries(name) ?? EMPTY_SERIES;
  const y = yOf(line, spec, page, start);
  const isDrawn = (/** @type {unknown} */ _, /** @type {number} */ index) =>
    y[index] !== null || series.excluded[start + index] !== BRIEFLY_EXCLUDED;
  const times = series.t.slice(start).filter(isDrawn);
  return { x: times.map((time) => page.view.toX(model, time)), y: y.filter(isDrawn) };
}

/**
 * A line's values in the chart's unit.
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @param {number} start index of the first point
 */
function yOf(line, spec, page, start) {
  const series = line.model.drawnSeries(line.series) ?? EMPTY_SERIES;
  if (!isMean(line, spec, page)) return lineValues(series.v, series, line, spec).slice(start);
  const means = lineValues(series.mean, series, line, spec);
  return trailingMeans(series.t, means, series.count, page.view.smoothSeconds, start);
}

/**
 * Values in the chart's unit; null where the line does not show them.
 * @param {(number | null)[]} values
 * @param {Required<Series>} series that the values belong to
 * @param {Pick<Line, "kind">} line
 * @param {ChartSpec} spec
 */
function lineValues(values, { excluded }, { kind }, spec) {
  const hidesExcluded = spec.showsExcluded && kind !== "excluded";
  const scale = spec.scale ?? 1;
  return values.map((value, index) => (value === null || (hidesExcluded && excluded[index]) ? null : value * scale));
}

/**
 * The mean and number of the samples behind each point; in a thinned series the point itself is an extreme.
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @returns {Points & { counts: number[] }}
 */
export function meansOf(line, spec, page) {
  const series = line.model.drawnSeries(line.series) ?? EMPTY_SERIES;
  const y = isMean(line, spec, page) ? yOf(line, spec, page, 0) : lineValues(series.mean, series, line, spec);
  return { x: series.t.map((time) => page.view.toX(line.model, time)), y, counts: series.count };
}

/**
 * The points with a short dash for each single value between two gaps, because a line of one point is invisible. The
 * dash ends halfway to the next point.
 * @param {Points} points
 * @param {Points} drawnPoints that the line has already
 * @returns {Points}
 */
export function withDashes(points, drawnPoints = { x: [], y: [] }) {
  const x = [...drawnPoints.x.slice(-2), ...points.x];
  const y = [...drawnPoints.y.slice(-2), ...points.y];
  /** @type {Points} */
  const dashed = { x: [], y: [] };
  for (let index = x.length - points.x.length; index < x.length; index += 1) {
    const isAfterSingle = index > 0 && y[index] === null && y[index - 1] !== null && (y[index - 2] ?? null) === null;
    if (isAfterSingle) {
      dashed.x.push((x[index - 1] + x[index]) / 2);
      dashed.y.push(y[index - 1]);
    }
    dashed.x.push(x[index]);
    dashed.y.push(y[index]);
  }
  return dashed;
}

/**
 * The points of an ended run with a dash for a single last value; it goes backwards, because the axis ends there.
 * @param {Points} points
 * @returns {Points}
 */
function withFinalDash({ x, y }) {
  const last = x.length - 1;
  if (last < 1 || y[last] === null || y[last - 1] !== null) return { x, y };
  return { x: [...x.slice(0, -1), (x[last - 1] + x[last]) / 2, x[last]], y: [...y, y[last]] };
}

/**
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @returns {Plotly.Trace}
 */
export function traceOf(line, spec, page) {
  const points = withDashes(pointsOf(line, spec, page, 0));
  const isBackground = line.model.isFinal && page.models().some((other) => !other.isFinal);
  const style = lineStyle(line, page, isBackground);
  return {
    type: "scatter",
    ...(line.model.isFinal && points.x.length === 1 ? { mode: "markers", marker: { color: style.color, size: 6 }, cliponaxis: false } : { mode: "lines" }),
    name: line.model.meta.name,
    ...(line.model.isFinal ? withFinalDash(points) : points),
    meta: isMean(line, spec, page) ? null : `${line.model.id} ${line.series}`,
    opacity: line.kind === "raw" ? 0.3 : isBackground ? 0.6 : 1,
    line: style,
    hoverinfo: "skip",
  };
}

/**
 * @param {Line} line
 * @param {Page} page
 * @param {boolean} isBackground
 */
function lineStyle({ model, rank, kind }, page, isBackground) {
  const theme = page.theme();
  if (kind === "excluded") return { color: theme.excluded, width: 1 };
  if (kind === "raw") return { color: theme.color(model), width: 1 };
  const dash = rank ? "dot" : isBackground ? "dash" : theme.dash(model);
  return { color: theme.color(model), width: rank ? 1.2 : 1.8, dash };
}
