// One lane a run below the charts: what it runs with and all its numbers of now; and why it failed, for above them.

/** @import { KnownModel } from "../../types/live_page.js" */
/** @import { LiveNode } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */
/** @import { Compared } from "./strip.js" */
/** @import { Write } from "./tile_value.js" */

import { byteSize, element, setText, threeDigits } from "./format.js";
import { isKnown } from "./model.js";
import { isMeasured, loopText, speedNote } from "./strip.js";
import { plain, writeValue } from "./tile_value.js";

/** @typedef {[name: string, write: Write]} Part */

/** @type {Write} */
const count = (value) => [value.toLocaleString("en-US", { maximumFractionDigits: 1 }), ""];
/** @type {[label: string, parts: Part[], look?: string][]} */
const TILES = [
  ["Tokens/step", [["tokens_per_step", plain("")]]],
  ["Acceptance", [["acceptance_length", plain("")]]],
  ["Steps", [["steps_per_s", plain("/s")]]],
  ["Run / wait", [["requests_running", count], ["requests_waiting", count]], "lv-slashed"],
  ["KV cache", [["kv_usage_ratio", (value) => [threeDigits(value * 100), "%"]]]],
  ["Server's TTFT / ITL / E2E, ms", [["server_ttft_ms", plain("")], ["server_itl_ms", plain("")], ["server_e2e_ms", plain("")]], "lv-slashed lv-span3"],
  ["CPU", [["server_cpu_cores", plain("cores")]]],
  ["Memory", [["server_rss_bytes", byteSize]]],
  ["GPU", [["gpu_power_w", plain("W")], ["gpu_sm_clock_mhz", plain("MHz")]], "lv-span2"],
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
    this.cause = element("div", "lv-cause"); // not in the lane: the page shows it at its top
    this.cause.hidden = true;
    this.tiles = element("dl", "lv-tiles");
    this.values = TILES.map(([label, parts, look]) => this.#tile(label, parts, look));
    this.nodes = element("ul", "lv-nodes");
    this.root.append(head, this.tiles, this.nodes);
  }

  /**
   * @param {string} label
   * @param {Part[]} parts
   * @param {string} [look] classes
   */
  #tile(label, parts, look = "") {
    const box = element("div", look);
    const value = element("dd");
    const spans = parts.map(() => element("span"));
    value.append(...spans);
    box.append(element("dt", "", label), value);
    this.tiles.append(box);
    return spans;
  }

  /**
   * Writes what the model says; there is no lane of what waits or starts.
   * @param {RunModel} model
   * @param {string} label its name, without what all names begin with
   * @param {string} color
   * @param {Compared | null} compared
   */
  refresh(model, label, color, compared = null) {
    this.root.style.setProperty("--lv-run", color);
    const isShown = isKnown(model) && model.goneReason === null && isMeasured(model);
    this.root.hidden = !isShown;
    if (isShown) this.#refreshKnown(model, label, compared);
  }

  /**
   * @param {KnownModel} model
   * @param {string} label
   * @param {Compared | null} compared
   */
  #refreshKnown(model, label, compared) {
    const { meta } = model;
    this.root.classList.toggle("lv-unmeasured", model.isFinal && model.lastPointTime === null);
    this.root.setAttribute("aria-label", `Numbers of ${meta.name}`);
    setText(this.name, label);
    this.name.title = meta.name;
    setText(this.chips, [meta.engine_title, ...meta.chips].filter(Boolean).join(" \u00b7 "));
    this.root.classList.toggle("lv-loops", loopText(model) !== "");
    setText(this.note, speedNote(model, compared));
    this.#refreshCause(model);
    this.#refreshNodes(model);
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
    const words = hasFailed ? (cause ?? "It ended without giving a reason.") : `Not measured: ${now.decode_tps?.why ?? "no samples were received"}.`;
    this.cause.append(element("p", hasFailed ? "" : "lv-why", `${name}: ${words}`));
    if (hasFailed && line && line !== cause) this.cause.append(element("code", "", line));
  }
}

/**
 * Another machine of the run in one line; what is not known of it is left out.
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
