// Numbers, durations and elements as every part of the Live page writes them.

export const DASH = "\u2013";

/**
 * Three significant digits without an exponent: 107, 25.0, 4.28, 0.0312; a dash for the unknown.
 * @param {number | null | undefined} value
 */
export function threeDigits(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return DASH;
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  if (size >= 1) return value.toFixed(size < 10 ? 2 : 1);
  return String(Number(value.toPrecision(3)));
}

/**
 * Bytes in binary units, as [number, unit].
 * @param {number} value
 * @returns {[string, string]}
 */
export function byteSize(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let step = 0;
  for (; Math.abs(value) >= 1024 && step < units.length - 1; step += 1) value /= 1024;
  return [threeDigits(value), units[step]];
}

/**
 * Seconds as a clock: 0:07, 2:14, 1:02:14, −0:05.
 * @param {number} seconds
 */
export function clock(seconds) {
  const whole = Math.round(Math.abs(seconds));
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const text = hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
  return seconds < 0 && whole ? `\u2212${text}` : text;
}

/**
 * The wall clock of the reader's own place.
 * @param {number} seconds since the epoch
 */
export function wallClock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/**
 * The day of a moment: 3 Sept 2025; of this year too, for a picture of the chart is looked at in another.
 * @param {number} seconds since the epoch
 */
export function date(seconds) {
  return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** @param {number} seconds since the epoch */
export function dateAndTime(seconds) {
  return `${date(seconds)} ${wallClock(seconds).slice(0, 5)}`;
}

/** @param {number} seconds since the epoch */
export function isToday(seconds) {
  return new Date(seconds * 1000).toDateString() === new Date().toDateString();
}

/**
 * An element with a class and text; text is only ever text, whoever wrote it.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | null} [text]
 */
export function element(tag, className = "", text = null) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  return made;
}

/**
 * Set text only where it differs, so that what is read or selected is left alone.
 * @param {Element} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
