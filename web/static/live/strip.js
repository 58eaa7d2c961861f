// The strip above the charts: a chip for each run with its name, latest speed, state and load progress, and a line with
// the queued runs.

/** @import { KnownModel, Page } from "../../types/live_page.js" */
/** @import { RunModel } from "./model.js" */

import { clock, element, setText, threeDigits } from "./format.js";
import { isKnown } from "./model.js";
import { withUnit, writeValue } from "./tile_value.js";
import { VisibilityButtons } from "./visibility_buttons.js";

const SILENT_AFTER_SECONDS = 10; // a live run without samples for longer is shown as silent

/**
 * The baseline; `reason`: why a run cannot be baseline with it.
 * @typedef {{ model: KnownModel, label: string, reason: string | undefined }} Baseline
 */

/** @typedef {[words: string, time?: string]} StateText */

export class Chip {
  /**
   * @param {string} name
   * @param {string} runUrl
   */
  constructor(name, runUrl) {
    this.root = element("article", "lv-chip lv-waiting");
    this.root.setAttribute("aria-label", `Run ${name}`);
    const head = element("header");
    this.name = element("a", "lv-name", name);
    this.name.href = runUrl;
    this.name.title = name;
    this.state = element("span", "lv-state");
    this.stateWords = element("span", "lv-state-words", "starting");
    this.stateClock = element("span", "lv-state-clock");
    this.state.append(this.stateWords, this.stateClock);
    this.visibility = new VisibilityButtons();
    head.append(this.name, this.visibility.hideButton, this.visibility.onlyButton);
    const line = element("p", "lv-headline");
    this.speed = element("span", "lv-speed");
    this.speedNote = element("span", "lv-speed-note");
    line.append(this.speed, this.speedNote, this.state);
    this.progress = element("progress");
    this.progress.max = 1;
    this.progress.hidden = true;
    this.root.append(head, line, this.progress);
  }

  /** @param {Page} page */
  refreshVisibility(page) {
    this.root.classList.toggle("lv-off", this.visibility.refresh(this.name.textContent ?? "", page));
  }

  /**
   * Updates the chip from the model.
   * @param {RunModel} model
   * @param {string} label the run's name without the beginning that all names share
   * @param {string} color
   * @param {number} serverNow seconds since the epoch
   * @param {Baseline | null} baseline
   */
  refresh(model, label, color, serverNow, baseline) {
    this.root.style.setProperty("--lv-run", color);
    this.root.classList.toggle("lv-away", model.awayReason !== null);
    if (model.goneReason !== null) this.#refreshGone(model.goneReason);
    else if (isKnown(model)) this.#refreshKnown(model, label, serverNow, baseline);
    else if (model.awayReason !== null) this.#showState([model.awayReason]);
  }

  /** @param {StateText} text the words are cut where there is no room, the time is not */
  #showState([words, time]) {
    setText(this.stateWords, words);
    setText(this.stateClock, time === undefined ? "" : ` ${time}`);
    this.state.title = this.state.textContent ?? "";
  }

  /**
   * @param {KnownModel} model
   * @param {string} label
   * @param {number} serverNow
   * @param {Baseline | null} baseline
   */
  #refreshKnown(model, label, serverNow, baseline) {
    const { meta } = model;
    const isSilent = silentSeconds(model, serverNow) !== null;
    this.root.classList.remove("lv-waiting");
    this.root.classList.toggle("lv-failed", meta.state === "failed");
    this.root.classList.toggle("lv-silent", isSilent);
    this.root.setAttribute("aria-label", `Run ${meta.name}`);
    this.root.hidden = meta.state === "queued";
    setText(this.name, label);
    this.name.title = meta.name;
    this.#showState(stateText(model, serverNow));
    if (isMeasured(model)) writeValue(this.speed, shownSpeed(model), withUnit("tok/s"), meta.absent.decode_tps);
    this.root.classList.toggle("lv-loops", loopText(model) !== "");
    setText(this.speedNote, speedNote(model, isSilent ? null : baseline));
    this.speedNote.title = this.speedNote.textContent ?? "";
    this.#refreshProgress(model);
  }

  /** @param {KnownModel} model */
  #refreshProgress(model) {
    const done = model.isFinal ? null : (model.now.load_done_ratio?.v ?? null);
    this.progress.hidden = done === null;
    this.progress.value = done ?? 0;
    this.progress.setAttribute("aria-label", `Load of ${model.meta.name}`);
  }

  /** @param {string} reason */
  #refreshGone(reason) {
    this.root.classList.remove("lv-waiting");
    this.root.classList.add("lv-gone");
    this.#showState([reason]);
  }
}

export class Strip {
  constructor() {
    this.root = element("div", "lv-strip");
    this.queueLine = element("p", "lv-wait-line");
    this.queueLine.hidden = true;
  }

  /** @param {Iterable<Chip>} chips */
  show(chips) {
    this.root.replaceChildren(...[...chips].map((chip) => chip.root), this.queueLine);
  }

  /**
   * Updates the line with the queued runs.
   * @param {RunModel[]} models
   * @param {(model: KnownModel) => string} label
   */
  refresh(models, label) {
    const names = models.filter(isKnown).filter((model) => model.meta.state === "queued").map(label);
    this.queueLine.hidden = names.length === 0;
    setText(this.queueLine, `${names.length} ${names.length === 1 ? "waits" : "wait"}: ${names.join(", ")}`);
    this.queueLine.title = this.queueLine.textContent ?? "";
  }
}

/**
 * Whether the run's missing numbers need a reason: a queued or starting run has no numbers yet.
 * @param {KnownModel} model
 */
export function isMeasured(model) {
  return model.meta.state !== "queued" && model.meta.state !== "starting";
}

/**
 * For how many seconds a serving run has sent no samples, if that is too long; otherwise null.
 * @param {KnownModel} model
 * @param {number} serverNow
 */
function silentSeconds(model, serverNow) {
  const isServing = model.meta.state === "ready" || model.meta.state === "running";
  if (!isServing || model.lastPointTime === null) return null;
  const seconds = serverNow - model.lastPointTime;
  return seconds > SILENT_AFTER_SECONDS ? seconds : null;
}

/**
 * @param {KnownModel} model
 * @param {number} serverNow
 * @returns {StateText}
 */
function stateText(model, serverNow) {
  const { state, phase, started_t: started, ready_t: ready, ended_t: ended } = model.meta;
  if (model.awayReason !== null) return [model.awayReason];
  const seconds = silentSeconds(model, serverNow);
  if (seconds !== null) return ["no samples for", clock(seconds)];
  if (state === "starting") return [phase ?? "starting", clock(serverNow - (started ?? serverNow))];
  if (!ready || (model.isFinal && !ended)) return [state];
  return [state, clock((model.isFinal && ended ? ended : serverNow) - ready)];
}

/**
 * The warning for a run whose answers loop, or "": repeated text is fast, but useless.
 * @param {KnownModel} model
 */
export function loopText({ now }) {
  const [streams, ratio] = [now.looping_streams?.v ?? 0, now.looping_ratio?.v ?? null];
  if (streams) return `\u27f2 ${streams} ${streams === 1 ? "stream loops" : "streams loop"} now`;
  return ratio === null ? "" : `\u27f2 ${Math.round(ratio * 100)} % of answers loop`;
}

/**
 * Whether the shown speed is that of one stream by the client's clock: of a live run only if its server reports none, of
 * an ended one always, so that it is the number of Runs and Run.
 * @param {KnownModel} model
 */
function isByClient({ now, isFinal }) {
  const [byClient, byServer] = [now.client_stream_tps?.v ?? null, now.decode_tps?.v ?? null];
  return byClient !== null && (isFinal || byServer === null);
}

/** @param {KnownModel} model */
function shownSpeed(model) {
  return isByClient(model) ? model.now.client_stream_tps : model.now.decode_tps;
}

/**
 * The text beside the speed: the loop warning, the ratio to the baseline, and what the speed was measured on.
 * @param {KnownModel} model
 * @param {Baseline | null} baseline
 */
export function speedNote(model, baseline) {
  return [loopText(model), ratioNote(model, baseline), basisText(model)].filter(Boolean).join(" \u00b7 ");
}

/** @param {KnownModel} model */
function basisText(model) {
  if (isByClient(model)) return "one stream, by the client";
  return model.meta.tile_basis === "now" || !shownSpeed(model)?.v ? "" : model.meta.tile_basis;
}

/**
 * The ratio to the baseline's speed on the same basis, or why it has none.
 * @param {KnownModel} model
 * @param {Baseline | null} baseline
 */
function ratioNote(model, baseline) {
  if (!baseline || baseline.model === model || isByClient(model) !== isByClient(baseline.model)) return "";
  const [speed, baselineSpeed] = [shownSpeed(model)?.v, shownSpeed(baseline.model)?.v];
  if (!speed || !baselineSpeed) return "";
  return baseline.reason ? `not compared: ${baseline.reason}` : `${threeDigits(speed / baselineSpeed)}\u00d7 ${baseline.label}`;
}
