// What the reader chose about the charts, as the page's address keeps it: a link shows the same stretch in the same way.

/** @import { View } from "./view.js" */

const FARTHEST_SECONDS = 1e11; // beyond any date: numbers that large no longer tell seconds apart
const NAMES = ["from", "to", "stretch", "clock", "scale", "smooth", "hide"];

/**
 * Takes what an address says; what it does not say, or says wrongly, is as it is at first.
 * @param {View} view
 * @param {string} search
 */
export function readAddress(view, search) {
  const said = new URLSearchParams(search);
  const [from, to] = [numberOf(said.get("from")), numberOf(said.get("to"))];
  view.zoom = from !== null && to !== null && from < to ? [from, to] : null;
  view.windowSeconds = Math.max(0, numberOf(said.get("stretch")) ?? 0);
  view.smoothSeconds = Math.max(0, numberOf(said.get("smooth")) ?? 0);
  view.onWallClock = said.get("clock") === "wall";
  view.isLog = said.get("scale") === "log";
  view.hidden = new Set(said.getAll("hide"));
}

/**
 * The address with what the reader chose; what others keep in it stays.
 * @param {View} view
 * @param {string} search
 */
export function addressOf(view, search) {
  const said = new URLSearchParams(search);
  NAMES.forEach((name) => said.delete(name));
  if (view.zoom) [said.set("from", short(view.zoom[0])), said.set("to", short(view.zoom[1]))];
  if (view.windowSeconds) said.set("stretch", String(view.windowSeconds));
  if (view.onWallClock) said.set("clock", "wall");
  if (view.isLog) said.set("scale", "log");
  if (view.smoothSeconds) said.set("smooth", String(view.smoothSeconds));
  view.hidden.forEach((runId) => said.append("hide", runId));
  return said.size ? `?${said}` : "";
}

/**
 * Has the address say it, without an entry of its own in the history, while the page of this path is shown.
 * @param {string} path
 * @param {string} search
 */
export function keepSearch(path, search) {
  if (location.pathname !== path || search === location.search) return;
  history.replaceState(history.state, "", `${location.pathname}${search}${location.hash}`);
}

/** @param {string | null} text */
function numberOf(text) {
  const number = text?.trim() ? Number(text) : NaN;
  return Math.abs(number) <= FARTHEST_SECONDS ? number : null;
}

/** @param {number} seconds */
function short(seconds) {
  return String(Number(seconds.toFixed(2)));
}
