// What happened to the runs, on the charts: thin lines in their colours, of troubles in amber, and in words beside the moment.

/** @import { KnownModel, Page } from "../../types/live_page.js" */
/** @import { LiveMark } from "../../types/live_protocol.js" */

import { isKnown } from "./model.js";

const NEAR = 0.01; // of the stretch shown: a mark so near to the moment is told
const LOOK_SECONDS = 1; // a first look within it is the one that found it ready
const MOST_LINES = 120; // in a chart, each run its share
const MOST_TALL = 16; // lines as high as the chart: of more, those of what went as planned are ticks at its foot
const TICK = 0.07; // of the chart's height
/** @type {[kind: string, words: (text: string) => string][]} */
const SAID = [
  ["load", (text) => `load ${text} begins`],
  ["load_end", (text) => `load ${text} has ended`],
  ["phase", (text) => `phase ${text}`],
  ["restart", () => "the server restarted"],
  ["preemption", () => "requests are preempted: the KV cache is full"],
  ["throttle", () => "the hardware limits the GPU's clocks"],
  ["collapse", () => "an answer ends in a loop"],
];
const WORDS = new Map(SAID);
const TROUBLES = new Set(["outage", "restart", "preemption", "throttle", "collapse"]);

/**
 * Marks of a run: when it was ready, where something was drawn before or on the wall clock; when it ended; the newest that it was told of.
 * @param {KnownModel} model
 * @param {boolean} onWallClock
 * @param {number} most
 * @returns {LiveMark[]}
 */
function marksOf(model, onWallClock, most) {
  const { ready_t: ready, ended_t: ended, state } = model.meta;
  const own = [ready === null || !(onWallClock || model.firstPointTime < ready - LOOK_SECONDS) ? [] : [{ t: ready, kind: "ready", text: "ready" }], ended === null ? [] : [{ t: ended, kind: "ended", text: state }]];
  return [...own.flat(), ...model.marks.slice(own.flat().length - most)];
}

/**
 * @param {Page} page
 * @param {number} most in all
 * @returns {{ x: number, model: KnownModel, mark: LiveMark }[]}
 */
function placed(page, most) {
  const models = page.view.shown(page.models()).filter(isKnown);
  const share = Math.floor(most / models.length);
  return models.flatMap((model) => marksOf(model, page.view.onWallClock, share).map((mark) => ({ x: page.view.toX(model, mark.t), model, mark })));
}

/**
 * The marks as they are drawn: those of one kind that lie together are one, of no run's colour where they are several runs'.
 * @param {Page} page
 * @returns {{ x: number, models: Set<KnownModel>, kind: string }[]}
 */
function together(page) {
  const [from, to] = page.view.range(page.models());
  /** @type {{ x: number, models: Set<KnownModel>, kind: string }[]} */
  const drawn = [];
  for (const { x, model, mark } of placed(page, MOST_LINES)) {
    const same = drawn.find((one) => one.kind === mark.kind && !one.models.has(model) && Math.abs(one.x - x) <= (to - from) * NEAR);
    if (same) same.models.add(model);
    else drawn.push({ x, models: new Set([model]), kind: mark.kind });
  }
  return drawn;
}

/**
 * Plotly's shapes of the marks.
 * @param {Page} page
 */
export function markLines(page) {
  const theme = page.theme();
  const drawn = together(page);
  const colorOf = (/** @type {Set<KnownModel>} */ models) => new Set([...models].map((model) => theme.color(model)));
  const line = (/** @type {Set<KnownModel>} */ models, /** @type {string} */ kind) => ({
    color: TROUBLES.has(kind) ? theme.doubt : colorOf(models).size > 1 ? theme.muted : theme.color([...models][0]),
    width: 1,
    dash: kind === "phase" ? "dot" : TROUBLES.has(kind) ? "dash" : "solid",
  });
  const seen = (/** @type {string} */ kind) => (TROUBLES.has(kind) ? 0.8 : 0.35);
  const height = (/** @type {string} */ kind) => (drawn.length > MOST_TALL && !TROUBLES.has(kind) ? TICK : 1);
  return drawn.map(({ x, models, kind }) => ({ type: "line", yref: "paper", y0: 0, y1: height(kind), x0: x, x1: x, opacity: height(kind) < 1 ? 0.8 : seen(kind), layer: "below", line: line(models, kind) }));
}

/**
 * What happened at about the marked moment, or nothing.
 * @param {Page} page
 * @param {number} moment
 */
export function markWords(page, moment) {
  const [from, to] = page.view.range(page.models());
  const near = placed(page, Infinity).filter(({ x }) => Math.abs(x - moment) <= (to - from) * NEAR);
  return near.map(({ model, mark }) => `${model.meta.name}: ${WORDS.get(mark.kind)?.(mark.text) ?? mark.text}`).join("; ");
}
