// Smooths a line with a moving mean over the seconds before each point. It looks only backwards, so that a new point
// does not change what is already drawn. In a thinned series, whose points are extremes, it averages all samples.

/**
 * The means from point `start` on; the mean at an unknown value is unknown, so that a gap stays a gap.
 * @param {number[]} times ascending
 * @param {(number | null)[]} values each the mean of the number of samples in `counts`
 * @param {number[]} counts
 * @param {number} seconds length of the averaging window
 * @param {number} start
 * @returns {(number | null)[]}
 */
export function trailingMeans(times, values, counts, seconds, start) {
  const means = [];
  let [windowStart, sum, count] = [start, 0, 0];
  while (windowStart > 0 && times[windowStart - 1] > times[start] - seconds) windowStart -= 1;
  const add = (/** @type {number} */ index, /** @type {number} */ sign) => {
    const value = values[index];
    if (value === null) return;
    sum += sign * counts[index] * value;
    count += sign * counts[index];
  };
  for (let index = windowStart; index < start; index += 1) add(index, 1);
  for (let index = start; index < times.length; index += 1) {
    add(index, 1);
    for (; windowStart < index && times[windowStart] <= times[index] - seconds; windowStart += 1) add(windowStart, -1);
    means.push(values[index] === null ? null : sum / count);
  }
  return means;
}
