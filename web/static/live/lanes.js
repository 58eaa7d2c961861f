// A lane for each run below the charts: its configuration and all its current numbers. For a failed run it also has the
// cause, which the page shows at its top.

/** @import { KnownModel } from "../../types/live_page.js" */
/** @import { LiveNode } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */
/** @import { Baseline } from "./strip.js" */
/** @import { Format } from "./tile_value.js" */

import { byteSize, element, setText, threeDigits } from "./format.js";
import { isKnown } from "./model.js";
import { isMeasured, loopText, speedNote } from "./strip.js";
import { withUnit, writeValue } from "./tile_value.js";

/** @typedef {[name: string, format: Format]} TilePart */

/** @type {Format} */
const formatCount = (value) => [value.toLocaleString("en-US", { maximumFractionDigits: 1 }), ""];
/** @type {[label: string, parts: TilePart[], className?: string][]} */
const TILES = [
  ["Tokens/step", [["tokens_per_step", withUnit("")]]],
  ["Acceptance", [["acceptance_length", withUnit("")]]],
  ["Steps", [["steps_per_s", withUnit("/s")]]],
  ["Run / wait", [["requests_running", formatCount], ["requests_waiting", formatCount]], "lv-slashed"],
  ["KV cache", [["kv_usage_ratio", (value) => [threeDigits(value * 100), "%"]]]],
  ["Server's TTFT / ITL / E2E, ms", [["server_ttft_ms", withUnit("")], ["server_itl_ms", withUnit("")], ["server_e2e_ms", withUnit("")]], "lv-slashed lv-span3"],
  ["CPU", [["server_cpu_cores", withUnit("cores")]]],
  ["Memory", [["server_rss_bytes", byteSize]]],
  ["GPU", [["gpu_power_w", withUnit("W")], ["gpu_sm_clock_mhz", withUnit("MHz")]], "lv-span2"],
];

export class Lane {
  constructor() {
    this.root = element("article", "lv-lane");
    this.root.hidden = true;
    this.name = element("h3", "lv-lane-name");
    this.chips = element("p", "lv-chips");
    this.note = element("p", "lv-chips lv-note");
    const head = element("header");
    head.append(element("span", "lv-swatch"), this.name, this.chips, this.note);
    this.cause = element("div", "lv-cause"); // outside the lane: the page shows it at its top
    this.cause.hidden = true;
    this.tiles = element("dl", "lv-tiles");
    this.values = TILES.map(([label, parts, className]) => this.#addTile(label, parts, className));
    this.nodes = element("ul", "lv-nodes");
    this.root.append(head, this.tiles, this.nodes);
  }

  /**
   * @param {string} label
   * @param {TilePart[]} parts
   * @param {string} [className]
   * @returns {HTMLElement[]} one element for each value
   */
  #addTile(label, parts, className = "") {
    const box = element("div", className);
    const value = element("dd");
    const spans = parts.map(() => element("span"));
    value.append(...spans);
    box.append(element("dt", "", label), value);
    this.tiles.append(box);
    return spans;
  }

  /**
   * Updates the lane from the model; it is hidden while the run is queued or starting.
   * @param {RunModel} model
   * @param {string} label the run's name without the beginning that all names share
   * @param {string} color
   * @param {Baseline | null} baseline
   */
  refresh(model, label, color, baseline = null) {
    this.root.style.setProperty("--lv-run", color);
    const isShown = isKnown(model) && model.goneReason === null && isMeasured(model);
    this.root.hidden = !isShown;
    if (isShown) this.#refreshKnown(model, label, baseline);
  }

  /**
   * @param {KnownModel} model
   * @param {string} label
   * @param {Baseline | null} baseline
   */
  #refreshKnown(model, label, baseline) {
    const { meta } = model;
    this.root.classList.toggle("lv-unmeasured", model.isFinal && model.lastPointTime === null);
    this.root.setAttribute("aria-label", `Numbers of ${meta.name}`);
    setText(this.name, label);
    this.name.title = meta.name;
    setText(this.chips, [meta.engine_title, ...meta.chips].filter(Boolean).join(" \u00b7 "));
    this.root.classList.toggle("lv-loops", loopText(model) !== "");
    setText(this.note, speedNote(model, baseline));
    this.#refreshCause(model);
    this.#refreshNodes(model);
    TILES.forEach(([, parts], row) => this.#refreshTile(model, parts, this.values[row]));
  }

  /**
   * @param {KnownModel} model
   * @param {TilePart[]} parts
   * @param {HTMLElement[]} spans
   */
  #refreshTile(model, parts, spans) {
    const { absent, ceiling } = model.meta;
    const reasons = parts.map(([name]) => absent[name]);
    const commonReason = parts[0][0].startsWith("gpu") && new Set(reasons).size === 1 ? reasons[0] : undefined;
    parts.forEach(([name, format], index) => {
      const node = spans[index];
      if (commonReason) setText(node, index ? "" : commonReason);
      else writeValue(node, model.now[name], format, reasons[index]);
      node.className = commonReason ? "lv-why" : "";
    });
    const unit = spans[0].querySelector(".lv-unit");
    if (parts[0][0] === "acceptance_length" && ceiling && unit) unit.textContent = `of ${ceiling}`;
  }

  /** @param {KnownModel} model */
  #refreshNodes({ nodes }) {
    this.nodes.hidden = !nodes.length;
    while (this.nodes.childElementCount < nodes.length) this.nodes.append(element("li"));
    while (this.nodes.childElementCount > nodes.length) this.nodes.lastElementChild?.remove();
    nodes.forEach((node, index) => setText(/** @type {HTMLElement} */ (this.nodes.children[index]), nodeText(node)));
  }

  /** @param {KnownModel} model */
  #refreshCause({ meta: { name, cause, cause_line: line, state }, now }) {
    const hasFailed = state === "failed";
    this.cause.hidden = !hasFailed && !this.root.classList.contains("lv-unmeasured");
    if (this.cause.hidden || this.cause.childElementCount) return;
    const failure = cause ?? "It ended without giving a reason.";
    const text = hasFailed ? failure : `Not measured: ${now.decode_tps?.why ?? "no samples were received"}.`;
    this.cause.append(element("p", hasFailed ? "" : "lv-why", `${name}: ${text}`));
    if (hasFailed && line && line !== cause) this.cause.append(element("code", "", line));
  }
}

/**
 * Another machine of the run in one line; unknown numbers are left out.
 * @param {LiveNode} node
 */
export function nodeText(node) {
  const gpus = node.gpu_count ? `${node.gpu_count} GPU${node.gpu_count > 1 ? "s" : ""}` : "no GPU found";
  const parts = [`also on ${node.title}: ${gpus}`];
  if (node.gpu_power_w !== null) parts.push(`${threeDigits(node.gpu_power_w)} W`);
  if (node.gpu_sm_clock_mhz !== null) parts.push(`${threeDigits(node.gpu_sm_clock_mhz)} MHz`);
  if (node.cpu_cores !== null) parts.push(`CPU ${threeDigits(node.cpu_cores)} of ${node.cores} cores`);
  if (node.memory_used_bytes !== null) parts.push(`memory ${byteSize(node.memory_used_bytes).join(" ")}`);
  return parts.join(" \u00b7 ");
}
