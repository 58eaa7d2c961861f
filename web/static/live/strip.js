// The strip above the charts: a chip a run (who it is, its newest speed, its state, how far its load is), and who waits.

/** @import { KnownModel, Page } from "../../types/live_page.js" */
/** @import { RunModel } from "./model.js" */

import { clock, element, setText, threeDigits } from "./format.js";
import { isKnown } from "./model.js";
import { Picks } from "./picks.js";
import { plain, writeValue } from "./tile_value.js";

const SILENT_SECONDS = 10; // a live run without samples for longer is said to be silent

/** @typedef {{ model: KnownModel, label: string, reason: string | undefined }} Compared the baseline, and why it cannot be compared with */

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
    this.state = element("span", "lv-state", "starting");
    this.picks = new Picks();
    head.append(this.name, this.picks.hide, this.picks.only);
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
  tellHidden(page) {
    this.root.classList.toggle("lv-off", this.picks.tell(this.name.textContent ?? "", page));
  }

  /**
   * Writes what the model says.
   * @param {RunModel} model
   * @param {string} label its name, without what all names begin with
   * @param {string} color
   * @param {number} serverNow seconds since the epoch
   * @param {Compared | null} compared
   */
  refresh(model, label, color, serverNow, compared) {
    this.root.style.setProperty("--lv-run", color);
    this.root.classList.toggle("lv-away", model.awayReason !== null);
    if (model.goneReason !== null) this.#refreshGone(model.goneReason);
    else if (isKnown(model)) this.#refreshKnown(model, label, serverNow, compared);
    else if (model.awayReason !== null) setText(this.state, model.awayReason);
  }

  /**
   * @param {KnownModel} model
   * @param {string} label
   * @param {number} serverNow
   * @param {Compared | null} compared
   */
  #refreshKnown(model, label, serverNow, compared) {
    const { meta } = model;
    const isSilent = silence(model, serverNow) !== null;
    this.root.classList.remove("lv-waiting");
    this.root.classList.toggle("lv-failed", meta.state === "failed");
    this.root.classList.toggle("lv-silent", isSilent);
    this.root.setAttribute("aria-label", `Run ${meta.name}`);
    this.root.hidden = meta.state === "queued";
    setText(this.name, label);
    this.name.title = meta.name;
    setText(this.state, stateText(model, serverNow));
    this.state.title = this.state.textContent ?? "";
    if (isMeasured(model)) writeValue(this.speed, shownSpeed(model), plain("tok/s"), meta.absent.decode_tps);
    this.root.classList.toggle("lv-loops", loopText(model) !== "");
    setText(this.speedNote, speedNote(model, isSilent ? null : compared));
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
    setText(this.state, reason);
  }
}

export class Strip {
  constructor() {
    this.root = element("div", "lv-strip");
    this.waiting = element("p", "lv-wait-line");
    this.waiting.hidden = true;
  }

  /** @param {Iterable<Chip>} chips */
  show(chips) {
    this.root.replaceChildren(...[...chips].map((chip) => chip.root), this.waiting);
  }

  /**
   * All that wait in the queue are one line.
   * @param {RunModel[]} models
   * @param {(model: KnownModel) => string} label
   */
  refresh(models, label) {
    const names = models.filter(isKnown).filter((model) => model.meta.state === "queued").map(label);
    this.waiting.hidden = names.length === 0;
    setText(this.waiting, `${names.length} ${names.length === 1 ? "waits" : "wait"}: ${names.join(", ")}`);
    this.waiting.title = this.waiting.textContent ?? "";
  }
}

/**
 * Whether a dash would say something: what waits or starts has no numbers to explain yet.
 * @param {KnownModel} model
 */
export function isMeasured(model) {
  return model.meta.state !== "queued" && model.meta.state !== "starting";
}

/**
 * For how many seconds a run that serves has said nothing, where that is too long; else null.
 * @param {KnownModel} model
 * @param {number} serverNow
 */
function silence(model, serverNow) {
  const isServing = model.meta.state === "ready" || model.meta.state === "running";
  if (!isServing || model.lastPointTime === null) return null;
  const seconds = serverNow - model.lastPointTime;
  return seconds > SILENT_SECONDS ? seconds : null;
}

/**
 * @param {KnownModel} model
 * @param {number} serverNow
 */
function stateText(model, serverNow) {
  const { state, phase, started_t: started, ready_t: ready, ended_t: ended } = model.meta;
  if (model.awayReason !== null) return model.awayReason;
  const silent = silence(model, serverNow);
  if (silent !== null) return `no samples for ${clock(silent)}`;
  if (state === "starting") return `${phase ?? "starting"} ${clock(serverNow - (started ?? serverNow))}`;
  if (model.isFinal) return ready && ended ? `${state} ${clock(ended - ready)}` : state;
  return ready ? `${state} ${clock(serverNow - ready)}` : state;
}

/**
 * The mark of a run whose answers loop, or "": repeated text is fast, but useless.
 * @param {KnownModel} model
 */
export function loopText({ now }) {
  const [streams, ratio] = [now.looping_streams?.v ?? 0, now.looping_ratio?.v ?? null];
  if (streams) return `\u27f2 ${streams} ${streams === 1 ? "stream loops" : "streams loop"} now`;
  return ratio === null ? "" : `\u27f2 ${Math.round(ratio * 100)} % of answers loop`;
}

/**
 * The speed by the server, or by the client where the server tells none.
 * @param {KnownModel} model
 */
function shownSpeed({ now }) {
  const isToldByClient = (now.decode_tps?.v ?? null) === null && (now.client_stream_tps?.v ?? null) !== null;
  return isToldByClient ? now.client_stream_tps : now.decode_tps;
}

/**
 * What stands beside the speed: a mark, the ratio to the baseline, and of what the speed is.
 * @param {KnownModel} model
 * @param {Compared | null} compared
 */
export function speedNote(model, compared) {
  const isOfClient = shownSpeed(model) !== model.now.decode_tps;
  const basis = isOfClient ? "one stream, by the client" : ratioNote(model, compared);
  return [loopText(model), basis].filter(Boolean).join(" \u00b7 ");
}

/**
 * @param {KnownModel} model
 * @param {Compared | null} compared
 */
function ratioNote(model, compared) {
  const [mine, theirs] = [model.now.decode_tps?.v, compared?.model.now.decode_tps?.v];
  const basis = model.meta.tile_basis === "now" || !mine ? "" : model.meta.tile_basis;
  if (!compared || compared.model === model || !mine || !theirs) return basis;
  const said = compared.reason ? `not compared: ${compared.reason}` : `${threeDigits(mine / theirs)}\u00d7 ${compared.label}`;
  return [said, basis].filter(Boolean).join(" \u00b7 ");
}
