// One lane a run: who it is, how it does, and its numbers.

import { DASH, byteSize, clock, element, setText, threeDigits } from "./format.js";

const SILENT_SECONDS = 10; // a live run without samples for longer is said to be silent

const plain = (unit) => (value) => [threeDigits(value), unit];
const count = (value) => [value.toLocaleString("en-US", { maximumFractionDigits: 1 }), ""];
// Each tile: label and its values, as [tile name, how it is written].
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

  #tile(label, parts) {
    const box = element("div");
    const value = element("dd");
    const spans = parts.map(() => element("span"));
    value.append(...spans);
    box.append(element("dt", "", label), value);
    this.tiles.append(box);
    return spans;
  }

  /** Writes what the model says; `compared` is {model, reason} of the baseline, or null. */
  refresh(model, color, serverNow, compared) {
    this.root.style.setProperty("--lv-run", color);
    if (model.goneReason) return this.#refreshGone(model);
    if (!model.meta) return undefined;
    const { meta } = model;
    this.root.classList.remove("lv-waiting");
    this.root.classList.toggle("lv-failed", meta.state === "failed");
    this.root.classList.toggle("lv-unmeasured", model.isFinal && model.lastPointTime === null);
    this.root.setAttribute("aria-label", `Run ${meta.name}`);
    setText(this.name, meta.name);
    setText(this.chips, [meta.engine_title, ...meta.chips].filter(Boolean).join(" \u00b7 "));
    setText(this.state, stateText(model, serverNow));
    this.root.classList.toggle("lv-silent", isSilent(model, serverNow));
    this.#refreshCause(meta, model.now.decode_tps?.why);
    writeValue(this.speed, model.now.decode_tps, plain("tok/s"), meta.absent.decode_tps);
    setText(this.speedNote, speedNote(model, isSilent(model, serverNow) ? null : compared));
    TILES.forEach(([, parts], row) => this.#refreshTile(model, parts, this.values[row]));
    return undefined;
  }

  #refreshTile(model, parts, spans) {
    const { absent, ceiling } = model.meta;
    const reasons = parts.map(([name]) => absent[name]);
    const isOneReason = reasons.every((reason) => reason && reason === reasons[0]) && parts[0][0].startsWith("gpu");
    parts.forEach(([name, write], index) => {
      const node = spans[index];
      if (isOneReason) setText(node, index ? "" : reasons[0]);
      else writeValue(node, model.now[name], write, reasons[index]);
      node.className = isOneReason ? "lv-why" : "";
    });
    if (parts[0][0] === "acceptance_length" && ceiling && model.now.acceptance_length?.v != null) {
      spans[0].querySelector(".lv-unit").textContent = `of ${ceiling}`;
    }
  }

  #refreshCause({ cause, cause_line: line, state }, unmeasured) {
    const isUnmeasured = this.root.classList.contains("lv-unmeasured") && state !== "failed";
    this.cause.hidden = state !== "failed" && !isUnmeasured;
    if (this.cause.hidden || this.cause.childElementCount) return;
    if (isUnmeasured) return void this.cause.append(element("p", "lv-why", `Not measured: ${unmeasured ?? "no sample came"}.`));
    this.cause.append(element("p", "", cause ?? "It ended without saying why."));
    if (line && line !== cause) this.cause.append(element("code", "", line));
  }

  #refreshGone(model) {
    this.root.classList.remove("lv-waiting");
    this.root.classList.add("lv-gone");
    setText(this.state, model.goneReason);
  }
}

/** A number with its small unit, or a dash that tells its reason to pointer, keyboard and reader. */
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

function isSilent(model, serverNow) {
  const { state } = model.meta;
  const isServing = state === "ready" || state === "running";
  return isServing && model.lastPointTime !== null && serverNow - model.lastPointTime > SILENT_SECONDS;
}

function stateText(model, serverNow) {
  const { state, phase, started_t: started, ready_t: ready, ended_t: ended } = model.meta;
  if (isSilent(model, serverNow)) return `no samples for ${clock(serverNow - model.lastPointTime)}`;
  if (state === "starting") return `${phase ?? "starting"} ${clock(serverNow - (started ?? serverNow))}`;
  if (state === "finished" || state === "failed") return ready && ended ? `${state} after ${clock(ended - ready)}` : state;
  return ready ? `${state} ${clock(serverNow - ready)}` : state;
}

function speedNote(model, compared) {
  const [mine, theirs] = [model.now.decode_tps?.v, compared?.model.now.decode_tps?.v];
  const basis = model.meta.tile_basis === "now" || !mine ? "" : model.meta.tile_basis;
  if (!compared || compared.model === model || !mine || !theirs) return basis;
  const said = compared.reason ? `not compared: ${compared.reason}` : `${threeDigits(mine / theirs)}\u00d7 ${compared.model.meta.name}`;
  return [said, basis].filter(Boolean).join(" \u00b7 ");
}
