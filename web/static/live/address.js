// Stores the user's choices for the charts in the page's URL, so that a link shows the same time range in the same way.

/** @import { View } from "./view.js" */

const MAX_SECONDS = 1e11; // beyond any date; much larger numbers can no longer represent single seconds
const PARAM_NAMES = ["from", "to", "stretch", "clock", "scale", "smooth", "hide"];

/**
 * Sets the view from a URL's query; a missing or invalid choice gets its default.
 * @param {View} view
 * @param {string} search
 */
export function readSearch(view, search) {
  const params = new URLSearchParams(search);
  const [from, to] = [parseSeconds(params.get("from")), parseSeconds(params.get("to"))];
  view.zoom = from !== null && to !== null && from < to ? [from, to] : null;
  view.windowSeconds = Math.max(0, parseSeconds(params.get("stretch")) ?? 0);
  view.smoothSeconds = Math.max(0, parseSeconds(params.get("smooth")) ?? 0);
  view.usesWallClock = params.get("clock") === "wall";
  view.isLog = params.get("scale") === "log";
  view.hiddenIds = new Set(params.getAll("hide"));
}

/**
 * The URL's query with the user's choices; other parameters stay.
 * @param {View} view
 * @param {string} search
 */
export function searchOf(view, search) {
  const params = new URLSearchParams(search);
  PARAM_NAMES.forEach((name) => params.delete(name));
  if (view.zoom) [params.set("from", formatSeconds(view.zoom[0])), params.set("to", formatSeconds(view.zoom[1]))];
  if (view.windowSeconds) params.set("stretch", String(view.windowSeconds));
  if (view.usesWallClock) params.set("clock", "wall");
  if (view.isLog) params.set("scale", "log");
  if (view.smoothSeconds) params.set("smooth", String(view.smoothSeconds));
  view.hiddenIds.forEach((runId) => params.append("hide", runId));
  return params.size ? `?${params}` : "";
}

/**
 * Replaces the URL's query without adding a history entry, if the page of this path is still shown.
 * @param {string} path
 * @param {string} search
 */
export function replaceSearch(path, search) {
  if (location.pathname !== path || search === location.search) return;
  history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}

/** @param {string | null} text */
function parseSeconds(text) {
  const number = text?.trim() ? Number(text) : NaN;
  return Math.abs(number) <= MAX_SECONDS ? number : null;
}

/** @param {number} seconds */
function formatSeconds(seconds) {
  return String(Number(seconds.toFixed(2)));
}
