// The lines of a chart: which there are, their points, and how each is drawn.

/** @import { ChartSpec, KnownModel, Page } from "../../types/live_page.js" */
/** @import { Series } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */
/** @typedef {"excluded" | "raw" | "own"} LineKind grey beneath the run's line; faint beneath its mean; the line itself */
/** @typedef {{ model: KnownModel, series: string, rank: number, kind: LineKind, points: number }} Line `points` of the series are drawn */
/** @typedef {{ x: number[], y: (number | null)[] }} Places */

import { isKnown } from "./model.js";
import { trailingMeans } from "./smoothing.js";

/** @type {Required<Series>} */
const EMPTY = { t: [], v: [], excluded: [], mean: [], count: [] };
const BRIEF = 2; // of `excluded`: as web/live/series.py tells a stretch shorter than what it kept can show

/** @param {Pick<Line, "model" | "series">} line */
export function held({ model, series }) {
  return model.drawnSeries(series)?.t.length ?? 0;
}

/**
 * What there is to draw, bottom first.
 * @param {ChartSpec} spec
 * @param {RunModel[]} models
 * @param {boolean} isSmooth
 * @returns {Line[]}
 */
export function linesOf(spec, models, isSmooth) {
  return models.filter(isKnown).flatMap((model) => {
    const lines = (/** @type {LineKind} */ kind) => spec.lines.map((series, rank) => ({ model, series, rank, kind, points: held({ model, series }) }));
    const grey = spec.showsExcluded ? lines("excluded").slice(0, 1) : [];
    return [...grey, ...(isSmooth && !spec.isCount ? lines("raw") : []), ...lines("own")];
  });
}


/**
 * Whether a line shows means of what was measured.
 * @param {Pick<Line, "kind">} line
 * @param {ChartSpec} spec
 * @param {Page} page
 */
function isMean({ kind }, spec, page) {
  return kind === "own" && page.view.smoothSeconds > 0 && !spec.isCount;
}

/**
 * Its places, in the chart's unit; what is left out too briefly to be told at this detail breaks no line: each piece costs Plotly a path.
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @param {number} start the first of its points
 */
export function pointsOf(line, spec, page, start) {
  const { model, series } = line;
  const one = model.drawnSeries(series) ?? EMPTY;
  const y = yOf(line, spec, page, start);
  const isDrawn = (/** @type {unknown} */ _, /** @type {number} */ index) => y[index] !== null || one.excluded[start + index] !== BRIEF;
  const times = one.t.slice(start).filter(isDrawn);
  return { x: times.map((time) => page.view.toX(model, time)), y: y.filter(isDrawn) };
}

/**
 * In the chart's unit.
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @param {number} start the first of its points
 */
function yOf(line, spec, page, start) {
  const one = line.model.drawnSeries(line.series) ?? EMPTY;
  if (isMean(line, spec, page)) return trailingMeans(one.t, shownOf(one.mean, one, line, spec), one.count, page.view.smoothSeconds, start);
  return shownOf(one.v, one, line, spec).slice(start);
}

/**
 * Values in the chart's unit, null where the line leaves them out.
 * @param {(number | null)[]} values
 * @param {Required<Series>} one whose values they are
 * @param {Pick<Line, "kind">} line
 * @param {ChartSpec} spec
 */
function shownOf(values, { excluded }, { kind }, spec) {
  const hides = spec.showsExcluded && kind !== "excluded";
  const scale = spec.scale ?? 1;
  return values.map((known, index) => (known === null || (hides && excluded[index]) ? null : known * scale));
}

/**
 * The mean of the samples that each point stands for, and how many: a point of a thinned series is an extreme.
 * @param {Line} line
 * @param {ChartSpec} spec
 * @param {Page} page
 * @returns {Places & { counts: number[] }}
 */
export function meansOf(line, spec, page) {
  const one = line.model.drawnSeries(line.series) ?? EMPTY;
  const y = isMean(line, spec, page) ? yOf(line, spec, page, 0) : shownOf(one.mean, one, line, spec);
  return { x: one.t.map((time) => page.view.toX(line.model, time)), y, counts: one.count };
}

/**
 * The same places, with a value between two gaps drawn half the way to the next: a line of one place has no length.
 * @param {Places} places
 * @param {Places} before what the line has already
 * @returns {Places}
 */
export function withDashes(places, before = { x: [], y: [] }) {
  const x = [...before.x.slice(-2), ...places.x];
  const y = [...before.y.slice(-2), ...places.y];
  /** @type {Places} */
  const drawn = { x: [], y: [] };
  for (let index = x.length - places.x.length; index < x.length; index += 1) {
    const isAlone = index > 0 && y[index] === null && y[index - 1] !== null && (y[index - 2] ?? null) === null;
    if (isAlone) {
      drawn.x.push((x[index - 1] + x[index]) / 2);
      drawn.y.push(y[index - 1]);
    }
    drawn.x.push(x[index]);
    drawn.y.push(y[index]);
  }
  return drawn;
}

/**
 * Likewise of a last value, once nothing comes after it: towards the gap before it, for the axis ends there.
 * @param {Places} places
 * @returns {Places}
 */
function endedWithDash({ x, y }) {
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
  const places = withDashes(pointsOf(line, spec, page, 0));
  const isGhost = line.model.isFinal && page.models().some((other) => !other.isFinal);
  return {
    type: "scatter",
    mode: "lines",
    name: line.model.meta.name,
    ...(line.model.isFinal ? endedWithDash(places) : places),
    meta: isMean(line, spec, page) ? null : `${line.model.id} ${line.series}`,
    opacity: line.kind === "raw" ? 0.3 : isGhost ? 0.6 : 1,
    line: strokeOf(line, page, isGhost),
    hoverinfo: "skip",
  };
}

/**
 * @param {Line} line
 * @param {Page} page
 * @param {boolean} isGhost
 */
function strokeOf({ model, rank, kind }, page, isGhost) {
  const theme = page.theme();
  if (kind === "excluded") return { color: theme.excluded, width: 1 };
  if (kind === "raw") return { color: theme.color(model), width: 1 };
  return { color: theme.color(model), width: rank ? 1.2 : 1.8, dash: rank ? "dot" : isGhost ? "dash" : theme.dash(model) };
}
