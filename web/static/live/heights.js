// How high a chart is: up to the highest value shown, but no few outliers flatten the rest.

/** @import { Range } from "../../types/live_page.js" */
/** @typedef {{ x: Plotly.Point[], y: Plotly.Point[], meta?: unknown }} Points `meta`: whose measurements; null: means of them; false: a band about those */
/** @typedef {{ range: Range, above: number, highest: number }} Heights `above` of the values, the highest one too, lie over the range */

const HEADROOM = 1.06; // above the highest value, as Plotly leaves it
const OUTLIER = 3; // an outlier is that many times above what 99 of 100 values do not exceed
const FEWEST = 100; // values of which one in a hundred can be told

/**
 * From 0 to the highest of the values drawn between two moments; null where there is none above 0.
 * @param {Points[]} lines
 * @param {Range} shown
 * @param {number} [least] what is to be seen in any case
 * @returns {Heights | null}
 */
export function heights(lines, shown, least = 0) {
  lines = lines.filter(({ meta }) => meta !== false); // a band may leave the chart
  const found = extremes(lines, shown);
  if (!found) return null;
  const limit = Math.max(least, mayHaveOutliers(found) ? usualLimit(lines, shown, found.highest) : found.highest);
  const top = limit * HEADROOM;
  return { range: [0, top], above: found.highest > top ? countAbove(lines, shown, top) : 0, highest: found.highest };
}

/**
 * The same for a logarithmic axis, in powers of ten as Plotly wants them; what is not above 0 has no place on it.
 * @param {Points[]} lines
 * @param {Range} shown
 * @param {number} [least] what is to be seen in any case
 * @returns {Range | null}
 */
export function logHeights(lines, shown, least = 0) {
  lines = lines.filter(({ meta }) => meta !== false);
  const found = extremes(lines, shown);
  if (!found) return null;
  const [low, high] = [Math.log10(found.lowest), Math.log10(Math.max(least, found.highest))];
  const room = Math.max(0.05, (high - low) * (HEADROOM - 1));
  return [low - room, high + room];
}

/**
 * 1, 2 and 5 of each decade of a logarithmic axis, or the decades alone where they are many; Plotly's own overlap.
 * @param {Range} range in powers of ten
 */
export function logTicks([low, high]) {
  const parts = high - low > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(low); power <= high; power += 1) ticks.push(...parts.map((part) => part * 10 ** power));
  return ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
}

/**
 * One pass over all points, at each drawing.
 * @param {Points[]} lines
 * @param {Range} shown
 */
function extremes(lines, shown) {
  let [lowest, highest, sum, count] = [Infinity, 0, 0, 0];
  forEachShown(lines, shown, (value) => {
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
    sum += value;
    count += 1;
  });
  return count ? { lowest, highest, mean: sum / count, count } : null;
}

/**
 * Whether the values must be sorted to tell: what is near the mean is no outlier, for one in a hundred moves that little.
 * @param {{ highest: number, mean: number, count: number }} found
 */
function mayHaveOutliers({ highest, mean, count }) {
  return count >= FEWEST && highest > OUTLIER * mean;
}

/**
 * @param {Points[]} lines
 * @param {Range} shown
 * @param {number} highest
 */
function usualLimit(lines, shown, highest) {
  /** @type {number[]} */
  const values = [];
  forEachShown(lines, shown, (value) => values.push(value));
  const usual = Float64Array.from(values).sort()[Math.ceil(values.length * 0.99) - 1];
  return highest > OUTLIER * usual ? usual * OUTLIER : highest;
}

/**
 * How many measurements: one that is drawn grey, faint and in colour is one, and a mean of several is none.
 * @param {Points[]} lines
 * @param {Range} shown
 * @param {number} top
 */
function countAbove(lines, shown, top) {
  /** @type {Map<unknown, Set<number>>} */
  const moments = new Map();
  for (const line of lines.filter(({ meta }) => meta !== null)) {
    const own = moments.get(line.meta ?? line) ?? new Set();
    moments.set(line.meta ?? line, own);
    forEachShown([line], shown, (value, at) => value > top && own.add(at));
  }
  return [...moments.values()].reduce((sum, own) => sum + own.size, 0);
}

/**
 * The values above 0 between two moments.
 * @param {Points[]} lines
 * @param {Range} shown
 * @param {(value: number, at: number) => void} take
 */
function forEachShown(lines, [from, to], take) {
  for (const { x, y } of lines) {
    for (let index = 0; index < y.length; index += 1) {
      const [at, value] = [x[index], y[index]];
      if (at !== null && at >= from && at <= to && value !== null && value > 0) take(value, at);
    }
  }
}
