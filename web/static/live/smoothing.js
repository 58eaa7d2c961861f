// A moving mean over the seconds before each point: it changes nothing that is drawn already when a point comes.

/**
 * The means from point `start` on; where a value is unknown the mean is too, so that a gap stays a gap.
 * @param {number[]} times ascending
 * @param {(number | null)[]} values
 * @param {number} seconds how far back
 * @param {number} start
 * @returns {(number | null)[]}
 */
export function trailingMeans(times, values, seconds, start) {
  const means = [];
  let [from, sum, count] = [start, 0, 0];
  while (from > 0 && times[from - 1] > times[start] - seconds) from -= 1;
  const add = (/** @type {number | null} */ value, /** @type {number} */ sign) => {
    if (value === null) return;
    sum += sign * value;
    count += sign;
  };
  for (let index = from; index < start; index += 1) add(values[index], 1);
  for (let index = start; index < times.length; index += 1) {
    add(values[index], 1);
    for (; from < index && times[from] <= times[index] - seconds; from += 1) add(values[from], -1);
    means.push(values[index] === null ? null : sum / count);
  }
  return means;
}
