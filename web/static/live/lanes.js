// One lane a run: who it is, how it does, and its numbers.

/** @import { KnownModel } from "../../types/live_page.js" */
/** @import { LiveMeta, Tile } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */

import { DASH, byteSize, clock, element, setText, threeDigits } from "./format.js";
import { isKnown } from "./model.js";

const SILENT_SECONDS = 10; // a live run without samples for longer is said to be silent

/** @typedef {(value: number) => [number: string, unit: string]} Write */
/** @typedef {[name: string, write: Write]} Part */
/** @typedef {{ model: KnownModel, reason: string | undefined }} Compared the baseline, and why it cannot be compared with */

/** @type {(unit: string) => Write} */
const plain = (unit) => (value) => [threeDigits(value), unit];
/** @type {Write} */
const count = (value) => [value.toLocaleString("en-US", { maximumFractionDigits: 1 }), ""];
/** @type {[label: string, parts: Part[]][]} */
const TILES = [
  ["Tokens/step", [["tokens_per_step", plain("")]]],
  ["Acceptance", [["acceptance_length", plain("")]]],
  ["Steps", [["steps_per_s", plain("/s")]]],
  ["Run / wait", [["requests_running", count], ["requests_waiting", count]]],
  ["KV cache", [["kv_usage_ratio", (value) => [threeDigits(value * 100), "%"]]]],
  ["CPU", [["server_cpu_cores", plain("cores")]]],
  ["Memory", [["server_rss_bytes", byteSize]]],
  ["GPU", [["gpu_power_w", plain("W")], ["gpu_sm_clock_mhz", plain("MHz")]]],
];

export class Lane {
  /**
   * @param {string} runId
   * @param {string} runUrl
   */
  constructor(runId, runUrl) {
    this.root = element("article", "lv-lane lv-waiting");
    this.root.setAttribute("aria-label", "Run");
    const head = element("header");
    this.name = element("a", "lv-name", runId);
    this.name.href = runUrl;
    this.state = element("span", "lv-state", "loading");
    head.append(element("span", "lv-swatch"), this.name, this.state);
    this.chips = element("p", "lv-chips");
    this.headline = element("p", "lv-headline");
    this.speed = element("span", "lv-speed");
    this.speedNote = element("span", "lv-speed-note");
    this.headline.append(this.speed, this.speedNote);
    this.cause = element("div", "lv-cause");
    this.tiles = element("dl", "lv-tiles");
    this.values = TILES.map(([label, parts]) => this.#tile(label, parts));
    this.root.append(head, this.chips, this.headline, this.cause, this.tiles);
  }

  /**
   * @param {string} label
   * @param {Part[]} parts
   */
  #tile(label, parts) {
    const box = element("div");
    const value = element("dd");
    const spans = parts.map(() => element("span"));
    value.append(...spans);
    box.append(element("dt", "", label), value);
    this.tiles.append(box);
    return spans;
  }

  /**
   * Writes what the model says.
   * @param {RunModel} model
   * @param {string} color
   * @param {number} serverNow seconds since the epoch
   * @param {Compared | null} compared
   */
  refresh(model, color, serverNow, compared) {
    this.root.style.setProperty("--lv-run", color);
    if (model.goneReason !== null) this.#refreshGone(model.goneReason);
    else if (isKnown(model)) this.#refreshKnown(model, serverNow, compared);
  }

  /**
   * @param {KnownModel} model
   * @param {number} serverNow
   * @param {Compared | null} compared
   */
  #refreshKnown(model, serverNow, compared) {
    const { meta } = model;
    const isSilent = silence(model, serverNow) !== null;
    this.root.classList.remove("lv-waiting");
    this.root.classList.toggle("lv-failed", meta.state === "failed");
    this.root.classList.toggle("lv-unmeasured", model.isFinal && model.lastPointTime === null);
    this.root.setAttribute("aria-label", `Run ${meta.name}`);
    setText(this.name, meta.name);
    setText(this.chips, [meta.engine_title, ...meta.chips].filter(Boolean).join(" \u00b7 "));
    setText(this.state, stateText(model, serverNow));
    this.root.classList.toggle("lv-silent", isSilent);
    this.#refreshCause(meta, model.now.decode_tps?.why);
    writeValue(this.speed, model.now.decode_tps, plain("tok/s"), meta.absent.decode_tps);
    setText(this.speedNote, speedNote(model, isSilent ? null : compared));
    TILES.forEach(([, parts], row) => this.#refreshTile(model, parts, this.values[row]));
  }

  /**
   * @param {KnownModel} model
   * @param {Part[]} parts
   * @param {HTMLElement[]} spans
   */
  #refreshTile(model, parts, spans) {
    const { absent, ceiling } = model.meta;
    const reasons = parts.map(([name]) => absent[name]);
    const oneReason = parts[0][0].startsWith("gpu") && new Set(reasons).size === 1 ? reasons[0] : undefined;
    parts.forEach(([name, write], index) => {
      const node = spans[index];
      if (oneReason) setText(node, index ? "" : oneReason);
      else writeValue(node, model.now[name], write, reasons[index]);
      node.className = oneReason ? "lv-why" : "";
    });
    const unit = spans[0].querySelector(".lv-unit");
    if (parts[0][0] === "acceptance_length" && ceiling && unit) unit.textContent = `of ${ceiling}`;
  }

  /**
   * @param {LiveMeta} meta
   * @param {string | null | undefined} unmeasured why nothing was measured
   */
  #refreshCause({ cause, cause_line: line, state }, unmeasured) {
    const isUnmeasured = this.root.classList.contains("lv-unmeasured") && state !== "failed";
    this.cause.hidden = state !== "failed" && !isUnmeasured;
    if (this.cause.hidden || this.cause.childElementCount) return;
    if (isUnmeasured) this.cause.append(element("p", "lv-why", `Not measured: ${unmeasured ?? "no sample came"}.`));
    else this.cause.append(element("p", "", cause ?? "It ended without saying why."));
    if (!isUnmeasured && line && line !== cause) this.cause.append(element("code", "", line));
  }

  /** @param {string} reason */
  #refreshGone(reason) {
    this.root.classList.remove("lv-waiting");
    this.root.classList.add("lv-gone");
    setText(this.state, reason);
  }
}

/**
 * A number with its small unit, or a dash that tells its reason to pointer, keyboard and reader.
 * @param {HTMLElement} node
 * @param {Tile | undefined} tile
 * @param {Write} write
 * @param {string | undefined} absentReason
 */
function writeValue(node, tile, write, absentReason) {
  if (tile && tile.v !== null) {
    const [number, unit] = write(tile.v);
    const small = element("small", "lv-unit", unit);
    if (node.dataset.written === number + unit) return;
    node.dataset.written = number + unit;
    node.replaceChildren(number, "\u2009", small);
    return;
  }
  const why = absentReason ?? tile?.why ?? "no sample yet";
  if (node.dataset.written === why) return;
  node.dataset.written = why;
  const dash = element("span", "lv-dash", DASH);
  dash.tabIndex = 0;
  dash.dataset.why = why;
  dash.append(element("span", "lv-sr", ` unknown: ${why}`));
  node.replaceChildren(dash);
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
  const silent = silence(model, serverNow);
  if (silent !== null) return `no samples for ${clock(silent)}`;
  if (state === "starting") return `${phase ?? "starting"} ${clock(serverNow - (started ?? serverNow))}`;
  if (state === "finished" || state === "failed") return ready && ended ? `${state} after ${clock(ended - ready)}` : state;
  return ready ? `${state} ${clock(serverNow - ready)}` : state;
}

/**
 * @param {KnownModel} model
 * @param {Compared | null} compared
 */
function speedNote(model, compared) {
  const [mine, theirs] = [model.now.decode_tps?.v, compared?.model.now.decode_tps?.v];
  const basis = model.meta.tile_basis === "now" || !mine ? "" : model.meta.tile_basis;
  if (!compared || compared.model === model || !mine || !theirs) return basis;
  const said = compared.reason ? `not compared: ${compared.reason}` : `${threeDigits(mine / theirs)}\u00d7 ${compared.model.meta.name}`;
  return [said, basis].filter(Boolean).join(" \u00b7 ");
}
