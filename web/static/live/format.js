// Formats numbers and times, and creates elements, in the same way for all charts and all parts of the Live page.

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
 * A duration as text: 0:07, 2:14, 1:02:14, −0:05.
 * @param {number} seconds
 */
export function clock(seconds) {
  const rounded = Math.round(Math.abs(seconds));
  const twoDigits = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(rounded / 3600), Math.floor(rounded / 60) % 60, rounded % 60];
  const text = hours ? `${hours}:${twoDigits(minutes)}:${twoDigits(rest)}` : `${minutes}:${twoDigits(rest)}`;
  return seconds < 0 && rounded ? `\u2212${text}` : text;
}

/**
 * The time of day in the user's time zone.
 * @param {number} seconds since the epoch
 */
export function wallClock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/**
 * A date: 3 Sept 2025. It always has the year, because a saved image of the chart may be viewed in another year.
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
 * Creates an element with a class and a text; the text is never interpreted as HTML.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | null} [text]
 */
export function element(tag, className = "", text = null) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== null) node.textContent = text;
  return node;
}

/**
 * Sets the text of an element only if it differs, so that a selection or a screen reader is not disturbed.
 * @param {Element} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
