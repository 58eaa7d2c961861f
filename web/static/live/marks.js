// Turns the runs' events, such as loads, phases and outages, into flags for the time charts and into texts for the
// marked time. A flag has its run's colour, or amber for a problem.

/** @import { KnownModel, Page } from "../../types/live_page.js" */
/** @import { LiveMark } from "../../types/live_protocol.js" */
/** @typedef {{ x: number, model: KnownModel, mark: LiveMark }} PlacedMark */
/** @typedef {{ x: number, texts: string[], color: string, isProblem: boolean }} Flag */

import { isKnown } from "./model.js";

const NEAR = 0.01; // marks within this fraction of the shown range belong to the marked time
const FIRST_SAMPLE_SECONDS = 1; // a sample at most this long before `ready` is the one that found it ready
const MAX_MARKS = 1000; // in all flags, shared equally between the runs
/** @type {Record<string, (text: string) => string>} */
const TEXT_BY_KIND = {
  load: (text) => `load ${text} begins`,
  load_end: (text) => `load ${text} has ended`,
  phase: (text) => `phase ${text}`,
  restart: () => "the server restarted",
  preemption: () => "requests are preempted: the KV cache is full",
  throttle: () => "the hardware limits the GPU's clocks",
  collapse: () => "an answer loops",
};
const PROBLEM_KINDS = new Set(["outage", "restart", "preemption", "throttle", "collapse"]);

/**
 * The newest marks of a run, and when it became ready and ended. `ready` is left out if it is just the start of the
 * chart: on an axis of seconds since ready, if nothing was drawn before it.
 * @param {KnownModel} model
 * @param {boolean} usesWallClock
 * @param {number} maxCount
 * @returns {LiveMark[]}
 */
function marksOf(model, usesWallClock, maxCount) {
  const { ready_t: ready, ended_t: ended, state } = model.meta;
  const stateMarks = [];
  if (ready !== null && (usesWallClock || model.firstPointTime < ready - FIRST_SAMPLE_SECONDS)) {
    stateMarks.push({ t: ready, kind: "ready", text: "ready" });
  }
  if (ended !== null) stateMarks.push({ t: ended, kind: "ended", text: state });
  return [...stateMarks, ...model.marks.slice(stateMarks.length - maxCount)];
}

/**
 * The marks of all visible runs with their positions on the x axis.
 * @param {Page} page
 * @param {number} maxCount for all runs together
 * @returns {PlacedMark[]}
 */
function placedMarks(page, maxCount) {
  const models = page.view.visibleRuns(page.models()).filter(isKnown);
  const share = Math.floor(maxCount / models.length);
  return models.flatMap((model) => {
    const marks = marksOf(model, page.view.usesWallClock, share);
    return marks.map((mark) => ({ x: page.view.toX(model, mark.t), model, mark }));
  });
}

/**
 * The marks as flags, from left to right; marks within `seconds` of the first mark of a flag share that flag.
 * @param {Page} page
 * @param {number} seconds
 * @returns {Flag[]}
 */
export function flagsOf(page, seconds) {
  const [start, end] = page.view.range(page.models());
  const margin = (end - start) * NEAR; // a run ends just after its last sample
  const isShown = (/** @type {PlacedMark} */ { x }) => x >= start - margin && x <= end + margin;
  const shownMarks = placedMarks(page, MAX_MARKS).filter(isShown).sort((a, b) => a.x - b.x);
  /** @type {PlacedMark[][]} */
  const groups = [];
  for (const mark of shownMarks) {
    const group = groups.at(-1);
    if (group && mark.x - group[0].x < seconds) group.push(mark);
    else groups.push([mark]);
  }
  return groups.map((group) => flagOf(group, page));
}

/**
 * @param {PlacedMark[]} group
 * @param {Page} page
 * @returns {Flag}
 */
function flagOf(group, page) {
  const theme = page.theme();
  const isProblem = group.some(({ mark }) => PROBLEM_KINDS.has(mark.kind));
  const colors = new Set(group.map(({ model }) => theme.color(model)));
  const color = isProblem ? theme.doubt : colors.size > 1 ? theme.muted : [...colors][0];
  return { x: group[0].x, texts: textsOf(group, page), color, isProblem };
}

/**
 * The events as texts, each with the names of all its runs; if the page shows a single run, names are left out.
 * @param {PlacedMark[]} group
 * @param {Page} page
 */
function textsOf(group, page) {
  /** @type {Map<string, Set<string>>} */
  const names = new Map();
  for (const { model, mark } of group) {
    const text = Object.hasOwn(TEXT_BY_KIND, mark.kind) ? TEXT_BY_KIND[mark.kind](mark.text) : mark.text;
    names.set(text, (names.get(text) ?? new Set()).add(page.label(model)));
  }
  const hasOneRun = page.models().length === 1;
  return [...names].map(([text, runs]) => (hasOneRun ? text : `${[...runs].join(", ")}: ${text}`));
}

/**
 * The events near a position on the x axis as one text; "" if there are none.
 * @param {Page} page
 * @param {number} markedX
 */
export function markText(page, markedX) {
  const [start, end] = page.view.range(page.models());
  const nearMarks = placedMarks(page, Infinity).filter(({ x }) => Math.abs(x - markedX) <= (end - start) * NEAR);
  return textsOf(nearMarks, page).join("; ");
}
