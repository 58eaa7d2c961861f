// The charts over time: which there are, how a run is drawn in them, and the two ways to bring them up to date.

/** @import { ChartSpec, KnownModel, Page } from "../../types/live_page.js" */
/** @typedef {{ model: KnownModel, series: string, rank: number, isGrey: boolean, points: number }} Line `points` of the series are drawn */

import { DASH, element, setText, threeDigits } from "./format.js";
import { CONFIG, Frame, baseAxis, baseLayout, commonAbsence } from "./frame.js";
import { isKnown } from "./model.js";

const GIB = 1 / 2 ** 30;
/** @type {Record<string, number | undefined>} */
const DIRECTIONS = { ArrowLeft: -1, ArrowRight: 1 };
const NAMED_RUNS = 5; // more names than that do not fit above a chart

/**
 * The first line of a chart is drawn solid, the second dotted.
 * @type {ChartSpec[]}
 */
export const CHARTS = [
  { id: "decode", title: "Decode speed", unit: "tok/s; grey is idle, mixed or warm-up", lines: ["decode_tps"], showsExcluded: true, isWide: true },
  { id: "tokens", title: "Acceptance length, and tokens per step dotted", unit: "tokens", lines: ["acceptance_length", "tokens_per_step"], hasCeiling: true },
  { id: "steps", title: "Request-steps", unit: "per second", lines: ["steps_per_s"] },
  { id: "requests", title: "Requests running, and waiting dotted", unit: "", lines: ["requests_running", "requests_waiting"], isCount: true },
  { id: "kv", title: "KV cache in use", unit: "%", lines: ["kv_usage_ratio"], scale: 100 },
  { id: "power", title: "GPU power", unit: "W", lines: ["gpu_power_w"] },
  { id: "sm_clock", title: "GPU clock", unit: "MHz", lines: ["gpu_sm_clock_mhz"] },
  { id: "cpu", title: "Processor: server, and whole host dotted", unit: "cores", lines: ["server_cpu_cores", "host_cpu_cores"] },
  { id: "memory", title: "Memory: server, and whole host dotted", unit: "GiB", lines: ["server_rss_bytes", "host_memory_used_bytes"], scale: GIB },
];

/** @param {Pick<Line, "model" | "series">} line */
function held({ model, series }) {
  return model.series[series]?.t.length ?? 0;
}

export class TimeChart {
  isInSight = false;
  #isStale = true;
  #isDrawn = false;
  /** @type {Line[]} */
  #drawn = [];

  /**
   * @param {ChartSpec} spec
   * @param {Page} page
   */
  constructor(spec, page) {
    this.spec = spec;
    this.page = page;
    this.frame = new Frame(spec.title, spec.unit, spec.isWide ? "lv-wide" : "");
    this.frame.plot.tabIndex = 0;
    this.frame.plot.setAttribute("role", "group");
    this.frame.plot.setAttribute("aria-label", `${spec.title}. Left and right move the marked moment, Escape clears it.`);
    this.#listen();
  }

  /** Draws everything anew from the models; keeps the plot's node. */
  react() {
    this.#isStale = !this.isInSight;
    if (this.#isStale) return;
    const isFirst = !this.#isDrawn;
    this.#isDrawn = true;
    this.#drawn = this.#lines();
    Plotly.react(this.frame.plot, this.#drawn.map((one) => this.#trace(one)), this.#layout(), CONFIG);
    if (isFirst) this.frame.plot.on("plotly_relayout", (change) => this.#takeZoom(change));
    this.refreshReadout();
  }

  /** Adds the points that came since it was last drawn. */
  extend() {
    if (!this.isInSight || this.#isStale) {
      this.#isStale = true;
      return;
    }
    /** @type {{ x: Plotly.Point[][], y: Plotly.Point[][] }} */
    const points = { x: [], y: [] };
    /** @type {number[]} */
    const indices = [];
    this.#drawn.forEach((drawn, index) => {
      if (held(drawn) === drawn.points) return;
      indices.push(index);
      points.x.push(this.#x(drawn, drawn.points));
      points.y.push(this.#y(drawn, drawn.points));
      drawn.points = held(drawn);
    });
    if (indices.length) {
      Object.assign(this.frame.plot.layout.xaxis, this.#axis()); // drawn by extendTraces, in one go with the points
      Plotly.extendTraces(this.frame.plot, points, indices);
    } else this.moveAxis();
    this.refreshReadout();
  }

  /** Moves the time axis, and nothing else. */
  moveAxis() {
    if (!this.isInSight || this.#isStale) this.#isStale = true;
    else Plotly.relayout(this.frame.plot, { xaxis: { ...this.frame.plot.layout.xaxis, ...this.#axis() } });
  }

  resize() {
    if (this.#isDrawn && this.isInSight) Plotly.Plots.resize(this.frame.plot);
  }

  /** Whether no run of these can ever have a value here, and why: null, or the reasons. */
  absence() {
    return commonAbsence(this.page.models(), (model) => {
      const [name] = this.spec.lines;
      if (this.spec.lines.some((line) => model.series[line]?.v.some((value) => value !== null))) return null;
      return model.meta.absent[name] ?? (model.isFinal ? (model.now[name]?.why ?? "not measured") : null);
    });
  }

  /** Why nothing is drawn yet, or null where something is. */
  #emptiness() {
    const models = this.page.models().filter(isKnown);
    if (models.some((model) => this.spec.lines.some((name) => model.series[name]?.v.some((value) => value !== null)))) return null;
    const [name] = this.spec.lines;
    return [...new Set(models.map((model) => model.meta.absent[name] ?? model.now[name]?.why ?? "no sample yet"))].join("; ");
  }

  /** The values at the marked moment, or the newest, in the runs' colours; the mark itself. */
  refreshReadout() {
    const models = this.page.models().filter(isKnown);
    const isNamed = this.spec.isWide && models.length <= NAMED_RUNS && this.frame.root.clientWidth > 640;
    models.forEach((model, index) => {
      const node = this.#readoutNode(index);
      node.style.color = this.page.theme().color(model);
      setText(node, [isNamed ? model.meta.name : "", this.#valueText(model)].filter(Boolean).join(" "));
      node.title = model.meta.name;
    });
    this.frame.tellEmpty(this.#emptiness());
    this.#drawMoment(this.page.view.moment);
  }

  /** @param {number} index */
  #readoutNode(index) {
    const { readout } = this.frame;
    return /** @type {HTMLElement} */ (readout.children[index] ?? readout.appendChild(element("span")));
  }

  /** @param {KnownModel} model */
  #valueText(model) {
    const { moment } = this.page.view;
    if (model.isFinal && moment === null) return ""; // its last value says nothing of it
    const at = moment === null ? model.lastPointTime : this.page.view.toTime(model, moment);
    const value = at === null ? null : model.valueAt(this.spec.lines[0], at);
    if (value === null) return DASH;
    return this.spec.isCount ? String(value) : threeDigits(value * (this.spec.scale ?? 1));
  }

  /** @param {number | null} moment */
  #drawMoment(moment) {
    const axis = this.frame.plot._fullLayout?.xaxis;
    this.frame.line.hidden = true;
    if (!axis || moment === null || moment < axis.range[0] || moment > axis.range[1]) return;
    this.frame.line.hidden = false;
    this.frame.line.style.transform = `translateX(${axis._offset + axis.l2p(moment)}px)`;
  }

  /** What is there to draw, bottom first. */
  #lines() {
    const models = this.page.models().filter(isKnown);
    return models.flatMap((model) => {
      const lines = this.spec.lines.map((series, rank) => ({ model, series, rank, isGrey: false, points: held({ model, series }) }));
      return this.spec.showsExcluded ? [{ ...lines[0], isGrey: true }, ...lines] : lines;
    });
  }

  /**
   * @param {Line} drawn
   * @returns {Plotly.Trace}
   */
  #trace(drawn) {
    const { model, rank, isGrey } = drawn;
    const theme = this.page.theme();
    const isGhost = model.isFinal && this.page.models().some((other) => !other.isFinal);
    const coloured = { color: theme.color(model), width: rank ? 1.2 : 1.8, dash: rank ? "dot" : isGhost ? "dash" : "solid" };
    return {
      type: "scatter",
      mode: "lines",
      name: model.meta.name,
      x: this.#x(drawn, 0),
      y: this.#y(drawn, 0),
      opacity: isGhost ? 0.6 : 1,
      line: isGrey ? { color: theme.excluded, width: 1 } : coloured,
      hoverinfo: "skip",
    };
  }

  /**
   * @param {Line} line
   * @param {number} start the first of its points
   */
  #x({ model, series }, start) {
    return (model.series[series]?.t ?? []).slice(start).map((time) => this.page.view.toX(model, time));
  }

  /**
   * @param {Line} line
   * @param {number} start the first of its points
   */
  #y({ model, series, isGrey }, start) {
    const one = model.series[series] ?? { t: [], v: [], excluded: [] };
    const scale = this.spec.scale ?? 1;
    const hides = this.spec.showsExcluded && !isGrey;
    return one.v.slice(start).map((value, index) => (value === null || (hides && one.excluded[start + index]) ? null : value * scale));
  }

  #axis() {
    const width = this.frame.plot.clientWidth - 60;
    return this.page.view.axis(this.page.view.range(this.page.models()), width);
  }

  #layout() {
    const theme = this.page.theme();
    const axis = baseAxis(theme);
    return {
      ...baseLayout(this.frame.plot, theme),
      hovermode: false,
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      xaxis: { ...axis, tickmode: "array", autorange: false, ...this.#axis() },
      yaxis: { ...axis, rangemode: "tozero", fixedrange: true, nticks: 5, separatethousands: true },
      shapes: this.spec.hasCeiling ? this.#ceilings() : [],
      annotations: this.spec.hasCeiling ? this.#ceilings().map((shape) => this.#ceilingLabel(shape)) : [],
    };
  }

  #ceilings() {
    const heights = new Set(this.page.models().map((model) => model.meta?.ceiling ?? 0).filter(Boolean));
    return [...heights].map((height) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: height, y1: height, line: { color: this.page.theme().muted, width: 1, dash: "dash" } }));
  }

  /** @param {{ y0: number }} shape */
  #ceilingLabel({ y0 }) {
    return { xref: "paper", x: 1, xanchor: "right", y: y0, yanchor: "top", showarrow: false, text: `at most ${y0}: k drafts + 1`, font: { size: 11, color: this.page.theme().muted } };
  }

  /** @param {Record<string, number | undefined>} change */
  #takeZoom({ "xaxis.range[0]": from, "xaxis.range[1]": to }) {
    if (from !== undefined && to !== undefined) this.page.onZoom([from, to]);
  }

  #listen() {
    const { plot } = this.frame;
    plot.addEventListener("pointermove", (event) => {
      const axis = plot._fullLayout?.xaxis;
      if (!axis) return;
      const pixel = event.clientX - plot.getBoundingClientRect().left - axis._offset;
      if (pixel >= 0 && pixel <= axis._length) this.page.onMoment(axis.p2l(pixel));
    });
    plot.addEventListener("pointerleave", () => this.page.onMoment(null));
    plot.addEventListener("dblclick", () => this.page.onZoom(null));
    plot.addEventListener("keydown", (event) => this.#takeKey(event));
  }

  /** @param {KeyboardEvent} event */
  #takeKey(event) {
    const axis = this.frame.plot._fullLayout?.xaxis;
    const direction = DIRECTIONS[event.key];
    if (event.key === "Escape") this.page.onMoment(null);
    else if (direction && axis) this.page.onMoment((this.page.view.moment ?? axis.range[1]) + (direction * (axis.range[1] - axis.range[0])) / 60);
    else return;
    event.preventDefault();
  }
}
