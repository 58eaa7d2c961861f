// Draws the mean of an arm's repeats over time, with the confidence interval over runs, which shows how far another
// start may be from the mean.

/** @import { ChartSpec, KnownModel, Page, Range } from "../../types/live_page.js" */
/** @import { Line } from "./lines.js" */
/** @typedef {{ x: number, mean: number, low: number, high: number }} Interval */
/** @typedef {{ color: string, name: string, runIds: Set<string>, intervals: Interval[] }} Band */

import { meansOf } from "./lines.js";
import { isKnown } from "./model.js";

const BIN_COUNT = 240; // in the shown range
const MIN_LOW_RATIO = 1e-3; // of the mean: a logarithmic axis cannot show values that are not above 0

/**
 * A band for each arm with several visible runs; none on the wall clock, where repeats do not overlap in time.
 * @param {ChartSpec} spec
 * @param {Page} page
 * @returns {Band[]}
 */
export function bandsOf(spec, page) {
  const { view } = page;
  if (view.usesWallClock || spec.isCount) return [];
  const visible = view.visibleRuns(page.models()).filter(isKnown);
  return (page.arms?.() ?? []).flatMap(({ runs, name }) => {
    const models = visible.filter((model) => runs.includes(model.id));
    const intervals = models.length > 1 ? intervalsOf(models, spec, page) : [];
    if (!intervals.length) return [];
    const runIds = new Set(models.map((model) => model.id));
    return [{ color: page.theme().color(models[0]), name, runIds, intervals }];
  });
}

/**
 * The interval in each time bin. Each run counts once, with the mean of its values in the bin; a bin with only one run
 * is left out.
 * @param {KnownModel[]} models
 * @param {ChartSpec} spec
 * @param {Page} page
 */
function intervalsOf(models, spec, page) {
  const [series] = spec.lines;
  const lines = models.map((model) => {
    const line = { model, series, rank: 0, kind: /** @type {const} */ ("main"), pointCount: 0 };
    return meansOf(line, spec, page);
  });
  const [start, end] = page.view.range(page.models());
  const spacings = lines.map(({ x }) => (x.length > 1 ? (x[x.length - 1] - x[0]) / (x.length - 1) : 0));
  const width = Math.max((end - start) / BIN_COUNT, 1.5 * Math.max(...spacings));
  const meansOfRuns = lines.map((line) => binMeans(line, [start, end], width));
  const bins = [...new Set(meansOfRuns.flatMap((means) => [...means.keys()]))].sort((a, b) => a - b);
  return bins.flatMap((bin) => {
    const values = meansOfRuns.flatMap((means) => means.get(bin) ?? []);
    return values.length > 1 ? [intervalAt(start + (bin + 0.5) * width, values, page.quantiles?.() ?? [])] : [];
  });
}

/**
 * The mean of a run's samples in each bin that has any.
 * @param {ReturnType<typeof meansOf>} line
 * @param {Range} xRange
 * @param {number} width of a bin
 */
function binMeans({ x: xs, y: ys, counts }, [start, end], width) {
  /** @type {Map<number, { sum: number, count: number }>} */
  const bins = new Map();
  xs.forEach((x, index) => {
    const value = ys[index];
    if (value === null || x < start || x > end) return;
    const bin = Math.floor((x - start) / width);
    const { sum, count } = bins.get(bin) ?? { sum: 0, count: 0 };
    bins.set(bin, { sum: sum + counts[index] * value, count: count + counts[index] });
  });
  return new Map([...bins].map(([bin, { sum, count }]) => [bin, sum / count]));
}

/**
 * The mean of the runs and its confidence interval by Student's t.
 * @param {number} x
 * @param {number[]} values one per run
 * @param {number[]} quantiles two-sided at 95 %; the first is for one degree of freedom
 * @returns {Interval}
 */
export function intervalAt(x, values, quantiles) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const halfWidth = quantiles[values.length - 2] * Math.sqrt(variance / values.length);
  return { x, mean, low: Math.max(mean - halfWidth, mean * MIN_LOW_RATIO), high: mean + halfWidth };
}

/**
 * The trace of a run's line, made faint if the mean of its arm is drawn as well.
 * @param {Plotly.Trace} trace
 * @param {Line} line
 * @param {Band[]} bands
 * @returns {Plotly.Trace}
 */
export function fadeBehindBand(trace, { model, rank, kind }, bands) {
  const hasBand = kind === "main" && !rank && bands.some(({ runIds }) => runIds.has(model.id));
  return hasBand ? { ...trace, opacity: 0.35, line: { .../** @type {object} */ (trace.line), width: 1 } } : trace;
}

/**
 * Two traces for a band: its area, and the mean. `meta: false` lets the area extend beyond the chart (y_range.js).
 * @param {Band} band
 * @returns {Plotly.Trace[]}
 */
export function bandTraces({ color, name, intervals }) {
  const base = { type: /** @type {const} */ ("scatter"), mode: "lines", hoverinfo: "skip" };
  const backwards = [...intervals].reverse();
  const outline = {
    x: [...intervals, ...backwards].map(({ x }) => x),
    y: [...intervals.map(({ high }) => high), ...backwards.map(({ low }) => low)],
  };
  const area = { ...outline, fill: "toself", fillcolor: color, opacity: 0.18, line: { width: 0, color } };
  const means = { x: intervals.map(({ x }) => x), y: intervals.map(({ mean }) => mean) };
  return [
    { ...base, name: `${name}: 95 % interval over runs`, meta: false, ...area },
    { ...base, name: `${name}: mean`, meta: null, ...means, line: { color, width: 2.2 } },
  ];
}
