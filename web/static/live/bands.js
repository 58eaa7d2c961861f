// The mean of an arm's repeats over time, with the interval over runs: how far the next start may be from it.

/** @import { ChartSpec, KnownModel, Page, Range } from "../../types/live_page.js" */
/** @import { Line } from "./lines.js" */
/** @typedef {{ x: number, mean: number, low: number, high: number }} Station */
/** @typedef {{ color: string, name: string, runs: Set<string>, stations: Station[] }} Band */

import { meansOf } from "./lines.js";
import { isKnown } from "./model.js";

const BINS = 240; // of the stretch shown
const LEAST = 1e-3; // of the mean: a logarithmic axis has no place for what is not above 0

/**
 * Of each arm that has several runs shown here; none on the wall clock, where repeats lie behind each other.
 * @param {ChartSpec} spec
 * @param {Page} page
 * @returns {Band[]}
 */
export function bandsOf(spec, page) {
  const { view } = page;
  if (view.onWallClock || spec.isCount) return [];
  const shown = view.shown(page.models()).filter(isKnown);
  return (page.arms?.() ?? []).flatMap(({ runs, name }) => {
    const models = shown.filter((model) => runs.includes(model.id));
    const stations = models.length > 1 ? stationsOf(models, spec, page) : [];
    if (!stations.length) return [];
    return [{ color: page.theme().color(models[0]), name, runs: new Set(models.map((model) => model.id)), stations }];
  });
}

/**
 * Each run counts once, with the mean of its values about that moment; a moment that one run alone knows has no place.
 * @param {KnownModel[]} models
 * @param {ChartSpec} spec
 * @param {Page} page
 */
function stationsOf(models, spec, page) {
  const [series] = spec.lines;
  const lines = models.map((model) => {
    const line = { model, series, rank: 0, kind: /** @type {const} */ ("own"), points: 0 };
    return meansOf(line, spec, page);
  });
  const [from, to] = page.view.range(page.models());
  const widest = Math.max(...lines.map(({ x }) => (x.length > 1 ? (x[x.length - 1] - x[0]) / (x.length - 1) : 0)));
  const width = Math.max((to - from) / BINS, 1.5 * widest);
  const means = lines.map((line) => binned(line, [from, to], width));
  const places = [...new Set(means.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
  return places.flatMap((place) => {
    const known = means.flatMap((one) => one.get(place) ?? []);
    return known.length > 1 ? [station(from + (place + 0.5) * width, known, page.quantiles?.() ?? [])] : [];
  });
}

/**
 * The mean of the samples in each bin that has any.
 * @param {ReturnType<typeof meansOf>} line
 * @param {Range} shown
 * @param {number} width
 */
function binned({ x, y, counts }, [from, to], width) {
  /** @type {Map<number, { sum: number, count: number }>} */
  const bins = new Map();
  x.forEach((at, index) => {
    const value = y[index];
    if (value === null || at < from || at > to) return;
    const place = Math.floor((at - from) / width);
    const { sum, count } = bins.get(place) ?? { sum: 0, count: 0 };
    bins.set(place, { sum: sum + counts[index] * value, count: count + counts[index] });
  });
  return new Map([...bins].map(([place, { sum, count }]) => [place, sum / count]));
}

/**
 * By Student's t over the runs.
 * @param {number} x
 * @param {number[]} values one a run
 * @param {number[]} quantiles of two sides at 95 %, by degrees of freedom less one
 * @returns {Station}
 */
export function station(x, values, quantiles) {
  const middle = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  const half = quantiles[values.length - 2] * Math.sqrt(variance / values.length);
  return { x, mean: middle, low: Math.max(middle - half, middle * LEAST), high: middle + half };
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * A run's line is faint where the mean of its arm is drawn.
 * @param {Plotly.Trace} trace
 * @param {Line} line
 * @param {Band[]} bands
 * @returns {Plotly.Trace}
 */
export function beneath(trace, { model, rank, kind }, bands) {
  const isOfBand = kind === "own" && !rank && bands.some(({ runs }) => runs.has(model.id));
  return isOfBand ? { ...trace, opacity: 0.35, line: { .../** @type {object} */ (trace.line), width: 1 } } : trace;
}

/**
 * Two traces a band: what is between, and the mean. A band may go out of the chart: it is no measurement.
 * @param {Band} band
 * @returns {Plotly.Trace[]}
 */
export function bandTraces({ color, name, stations }) {
  const back = [...stations].reverse();
  const about = { type: /** @type {const} */ ("scatter"), mode: "lines", hoverinfo: "skip" };
  const x = [...stations, ...back].map((one) => one.x);
  const y = [...stations.map((one) => one.high), ...back.map((one) => one.low)];
  return [
    { ...about, name: `${name}: 95 % interval over runs`, meta: false, x, y, fill: "toself", fillcolor: color, opacity: 0.18, line: { width: 0, color } },
    { ...about, name: `${name}: mean`, meta: null, x: stations.map((one) => one.x), y: stations.map((one) => one.mean), line: { color, width: 2.2 } },
  ];
}
