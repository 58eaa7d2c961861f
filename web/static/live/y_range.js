// Chooses the range of a time chart's y axis: up to the highest shown value, but a few outliers must not flatten the
// rest.

/** @import { Range } from "../../types/live_page.js" */
/**
 * A line's points. `meta` says what they are: a text names the measured series, null is a mean, false an interval band.
 * @typedef {{ x: Plotly.Point[], y: Plotly.Point[], meta?: unknown }} Points
 */
/** @typedef {{ range: Range, above: number, highest: number }} YRange `above`: how many values lie above the range */

const HEADROOM = 1.06; // above the highest value, as Plotly leaves it
const OUTLIER_FACTOR = 3; // an outlier exceeds the 99th percentile by this factor
const MIN_VALUES = 100; // fewer values have no meaningful 99th percentile

/**
 * The range from 0 to the highest value in a time range; null if no value is above 0.
 * @param {Points[]} lines
 * @param {Range} xRange
 * @param {number} [minTop] a value that is always within the range
 * @returns {YRange | null}
 */
export function yRange(lines, xRange, minTop = 0) {
  const valueLines = withoutBands(lines);
  const extremes = extremesOf(valueLines, xRange);
  if (!extremes) return null;
  const { highest } = extremes;
  const limit = Math.max(minTop, mayHaveOutliers(extremes) ? outlierLimit(valueLines, xRange, highest) : highest);
  const top = limit * HEADROOM;
  return { range: [0, top], above: highest > top ? countAbove(valueLines, xRange, top) : 0, highest };
}

/**
 * The range for a logarithmic axis, in powers of ten as Plotly expects; values that are not above 0 are ignored.
 * @param {Points[]} lines
 * @param {Range} xRange
 * @param {number} [minTop] a value that is always within the range
 * @returns {Range | null}
 */
export function logYRange(lines, xRange, minTop = 0) {
  const extremes = extremesOf(withoutBands(lines), xRange);
  if (!extremes) return null;
  const [low, high] = [Math.log10(extremes.lowest), Math.log10(Math.max(minTop, extremes.highest))];
  const padding = Math.max(0.05, (high - low) * (HEADROOM - 1));
  return [low - padding, high + padding];
}

/**
 * Ticks at 1, 2 and 5 of each decade of a logarithmic axis, or only at the decades if there are many; Plotly's own tick
 * labels overlap.
 * @param {Range} range in powers of ten
 */
export function logTicks([low, high]) {
  const factors = high - low > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(low); power <= high; power += 1) {
    ticks.push(...factors.map((factor) => factor * 10 ** power));
  }
  return ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
}

/**
 * The lines without interval bands, which may extend beyond the chart.
 * @param {Points[]} lines
 */
function withoutBands(lines) {
  return lines.filter(({ meta }) => meta !== false);
}

/**
 * Lowest, highest, mean and count of the values, in one pass because this runs for every drawing.
 * @param {Points[]} lines
 * @param {Range} xRange
 */
function extremesOf(lines, xRange) {
  let [lowest, highest, sum, count] = [Infinity, 0, 0, 0];
  forEachValue(lines, xRange, (value) => {
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
    sum += value;
    count += 1;
  });
  return count ? { lowest, highest, mean: sum / count, count } : null;
}

/**
 * A cheap check whether sorting the values may find outliers: a value near the mean is none, because one value in a
 * hundred moves the mean only a little.
 * @param {{ highest: number, mean: number, count: number }} extremes
 */
function mayHaveOutliers({ highest, mean, count }) {
  return count >= MIN_VALUES && highest > OUTLIER_FACTOR * mean;
}

/**
 * The highest value that is not an outlier's.
 * @param {Points[]} lines
 * @param {Range} xRange
 * @param {number} highest
 */
function outlierLimit(lines, xRange, highest) {
  /** @type {number[]} */
  const values = [];
  forEachValue(lines, xRange, (value) => values.push(value));
  const percentile99 = Float64Array.from(values).sort()[Math.ceil(values.length * 0.99) - 1];
  return highest > OUTLIER_FACTOR * percentile99 ? percentile99 * OUTLIER_FACTOR : highest;
}

/**
 * How many measurements are above `top`. A measurement that is drawn in several lines counts once; means do not count.
 * @param {Points[]} lines
 * @param {Range} xRange
 * @param {number} top
 */
function countAbove(lines, xRange, top) {
  /** @type {Map<unknown, Set<number>>} */
  const xsBySeries = new Map();
  for (const line of lines.filter(({ meta }) => meta !== null)) {
    const xs = xsBySeries.get(line.meta ?? line) ?? new Set();
    xsBySeries.set(line.meta ?? line, xs);
    forEachValue([line], xRange, (value, x) => value > top && xs.add(x));
  }
  return [...xsBySeries.values()].reduce((sum, xs) => sum + xs.size, 0);
}

/**
 * Calls a function for each value above 0 in a time range.
 * @param {Points[]} lines
 * @param {Range} xRange
 * @param {(value: number, x: number) => void} callback
 */
function forEachValue(lines, [start, end], callback) {
  for (const { x: xs, y: ys } of lines) {
    for (let index = 0; index < ys.length; index += 1) {
      const [x, value] = [xs[index], ys[index]];
      if (x !== null && x >= start && x <= end && value !== null && value > 0) callback(value, x);
    }
  }
}
