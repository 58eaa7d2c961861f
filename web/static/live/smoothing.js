// A moving mean over the seconds before each point: it changes nothing that is drawn already when a point comes.
// Of a series that was thinned it is the mean of all samples: its points are extremes.

/**
 * The means from point `start` on; where a value is unknown the mean is too, so that a gap stays a gap.
 * @param {number[]} times ascending
 * @param {(number | null)[]} values each the mean of as many samples as `counts` has
 * @param {number[]} counts
 * @param {number} seconds how far back
 * @param {number} start
 * @returns {(number | null)[]}
 */
export function trailingMeans(times, values, counts, seconds, start) {
  const means = [];
  let [from, sum, count] = [start, 0, 0];
  while (from > 0 && times[from - 1] > times[start] - seconds) from -= 1;
  const add = (/** @type {number} */ index, /** @type {number} */ sign) => {
    const value = values[index];
    if (value === null) return;
    sum += sign * counts[index] * value;
    count += sign * counts[index];
  };
  for (let index = from; index < start; index += 1) add(index, 1);
  for (let index = start; index < times.length; index += 1) {
    add(index, 1);
    for (; from < index && times[from] <= times[index] - seconds; from += 1) add(from, -1);
    means.push(values[index] === null ? null : sum / count);
  }
  return means;
}
