// What happened to the runs: as flags in their colours, those of troubles in amber, and in words beside the moment.

/** @import { KnownModel, Page } from "../../types/live_page.js" */
/** @import { LiveMark } from "../../types/live_protocol.js" */
/** @typedef {{ x: number, model: KnownModel, mark: LiveMark }} Placed */
/** @typedef {{ x: number, texts: string[], color: string, isTrouble: boolean }} Flag */

import { isKnown } from "./model.js";

const NEAR = 0.01; // of the stretch shown: a mark so near to the moment is told
const LOOK_SECONDS = 1; // a first look within it is the one that found it ready
const MOST_FLAGGED = 1000; // marks, each run its share
/** @type {Record<string, (text: string) => string>} */
const WORDS = {
  load: (text) => `load ${text} begins`,
  load_end: (text) => `load ${text} has ended`,
  phase: (text) => `phase ${text}`,
  restart: () => "the server restarted",
  preemption: () => "requests are preempted: the KV cache is full",
  throttle: () => "the hardware limits the GPU's clocks",
  collapse: () => "an answer loops",
};
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
 * @returns {Placed[]}
 */
function placed(page, most) {
  const models = page.view.shown(page.models()).filter(isKnown);
  const share = Math.floor(most / models.length);
  return models.flatMap((model) => marksOf(model, page.view.onWallClock, share).map((mark) => ({ x: page.view.toX(model, mark.t), model, mark })));
}

/**
 * The marks as flags, from left to right; those within `seconds` of the first of them share a flag.
 * @param {Page} page
 * @param {number} seconds
 * @returns {Flag[]}
 */
export function flagsOf(page, seconds) {
  const [from, to] = page.view.range(page.models());
  const slack = (to - from) * NEAR; // a run ends just after its last sample
  const inSight = placed(page, MOST_FLAGGED).filter(({ x }) => x >= from - slack && x <= to + slack).sort((one, other) => one.x - other.x);
  /** @type {Placed[][]} */
  const groups = [];
  for (const one of inSight) {
    const last = groups.at(-1);
    if (last && one.x - last[0].x < seconds) last.push(one);
    else groups.push([one]);
  }
  return groups.map((group) => flagOf(group, page));
}

/**
 * @param {Placed[]} group
 * @param {Page} page
 * @returns {Flag}
 */
function flagOf(group, page) {
  const theme = page.theme();
  const isTrouble = group.some(({ mark }) => TROUBLES.has(mark.kind));
  const colors = new Set(group.map(({ model }) => theme.color(model)));
  const color = isTrouble ? theme.doubt : colors.size > 1 ? theme.muted : [...colors][0];
  return { x: group[0].x, texts: textsOf(group, page), color, isTrouble };
}

/**
 * What happened in words; the runs to which the same happened stand together, and a run that is alone needs no name.
 * @param {Placed[]} group
 * @param {Page} page
 */
function textsOf(group, page) {
  /** @type {Map<string, Set<string>>} */
  const names = new Map();
  for (const { model, mark } of group) {
    const text = Object.hasOwn(WORDS, mark.kind) ? WORDS[mark.kind](mark.text) : mark.text;
    names.set(text, (names.get(text) ?? new Set()).add(page.label(model)));
  }
  const isAlone = page.models().length === 1;
  return [...names].map(([text, runs]) => (isAlone ? text : `${[...runs].join(", ")}: ${text}`));
}

/**
 * What happened at about the marked moment, or nothing.
 * @param {Page} page
 * @param {number} moment
 */
export function markWords(page, moment) {
  const [from, to] = page.view.range(page.models());
  const near = placed(page, Infinity).filter(({ x }) => Math.abs(x - moment) <= (to - from) * NEAR);
  return textsOf(near, page).join("; ");
}
