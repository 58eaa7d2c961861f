// The charts over time: which there are, how a run is drawn in them, and the two ways to bring them up to date.

/** @import { ChartSpec, KnownModel, Page } from "../../types/live_page.js" */
/** @import { Points } from "./heights.js" */
/** @import { Line } from "./lines.js" */

import { bandTraces, bandsOf, beneath } from "./bands.js";
import { createTimeChartMenu } from "./chart_files.js";
import { DASH, element, setText, threeDigits } from "./format.js";
import { CONFIG, Frame, baseAxis, baseLayout, axisChanges, commonAbsence, resizePlot } from "./frame.js";
import { heights, logHeights, logTicks } from "./heights.js";
import { FlagLane } from "./flags.js";
import { LineNames, roomFor } from "./line_names.js";
import { held, linesOf, pointsOf, traceOf, withDashes } from "./lines.js";
import { isKnown } from "./model.js";
import { isTouchScreen } from "./zoom_buttons.js";

const GIB = 1 / 2 ** 30;
/** @type {Record<string, number | undefined>} */
const DIRECTIONS = { ArrowLeft: -1, ArrowRight: 1 };
const BY_MOUSE = "Drag to zoom, Shift-drag to pan, double-click to show all";
const LETTER_PX = 7.5; // of the read-out
const LEAST_NAMED_PX = 640; // a narrower chart has no room for names
const MOST_NAMED = 10; // lines: the names of more cover each other

/**
 * The first line of a chart is drawn solid, the second dotted.
 * @type {ChartSpec[]}
 */
export const CHARTS = [
  { id: "decode", title: "Decode speed", unit: "tok/s; grey is idle, mixed or warm-up", lines: ["decode_tps"], showsExcluded: true, isWide: true },
  { id: "tokens", title: "Acceptance length", unit: "tokens; dotted: tokens per step", lines: ["acceptance_length", "tokens_per_step"], hasCeiling: true },
  { id: "steps", title: "Decode steps", unit: "per second, summed over running requests", lines: ["steps_per_s"] },
  { id: "requests", title: "Requests running", unit: "dotted: waiting", lines: ["requests_running", "requests_waiting"], isCount: true },
  { id: "kv", title: "KV cache in use", unit: "%", lines: ["kv_usage_ratio"], scale: 100 },
  { id: "power", title: "GPU power", unit: "W", lines: ["gpu_power_w"] },
  { id: "sm_clock", title: "GPU clock", unit: "MHz", lines: ["gpu_sm_clock_mhz"] },
  { id: "cpu", title: "CPU of the server", unit: "cores; dotted: whole host", lines: ["server_cpu_cores", "host_cpu_cores"] },
  { id: "memory", title: "Memory of the server", unit: "GiB; dotted: whole host", lines: ["server_rss_bytes", "host_memory_used_bytes"], scale: GIB },
];

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
    this.frame.plot.setAttribute("aria-label", `${spec.title}. The left and right arrow keys move the marker, Escape removes it. ${isTouchScreen() ? "" : BY_MOUSE}`);
    const title = /** @type {HTMLElement} */ (this.frame.head.querySelector("h3"));
    if (!isTouchScreen()) title.title = BY_MOUSE;
    this.frame.head.append(createTimeChartMenu(spec, this.frame, page));
    this.flags = new FlagLane(page);
    this.lineNames = new LineNames();
    this.frame.readout.after(this.flags.root);
    this.frame.plot.after(this.lineNames.root);
    this.#listen();
  }

  /** Draws everything anew from the models; keeps the plot's node. */
  react() {
    this.#isStale = !this.isInSight;
    if (this.#isStale) return;
    const isFirst = !this.#isDrawn;
    this.#isDrawn = true;
    const { view } = this.page;
    this.#drawn = linesOf(this.spec, view.shown(this.page.models()), view.smoothSeconds > 0);
    const bands = bandsOf(this.spec, this.page);
    const lines = this.#drawn.map((one) => beneath(traceOf(one, this.spec, this.page), one, bands));
    const traces = [...lines, ...bands.flatMap(bandTraces)]; // behind the lines, whose places extend() knows
    Plotly.react(this.frame.plot, traces, this.#layout(traces), CONFIG);
    if (isFirst) this.#listenToPlotly();
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
      const { x, y } = withDashes(pointsOf(drawn, this.spec, this.page, drawn.points), /** @type {import("./lines.js").Places | undefined} */ (this.frame.plot.data?.[index]));
      points.x.push(x);
      points.y.push(y);
      drawn.points = held(drawn);
    });
    if (indices.length) {
      Object.assign(this.frame.plot.layout.xaxis, this.#axis());
      const fresh = points.x.map((x, index) => ({ x, y: points.y[index], meta: this.frame.plot.data?.[indices[index]].meta }));
      Object.assign(this.frame.plot.layout.yaxis, this.#heights([...(this.frame.plot.data ?? []), ...fresh])); // drawn by extendTraces, in one go with the points
      Plotly.extendTraces(this.frame.plot, points, indices);
    } else this.moveAxis();
    this.refreshReadout();
  }

  /** Moves the axes, and nothing else. */
  moveAxis() {
    this.#isStale ||= !this.isInSight;
    if (this.#isStale) return;
    const change = axisChanges(this.frame.plot.layout, { xaxis: this.#axis(), yaxis: this.#heights(this.frame.plot.data ?? []) });
    if (Object.keys(change).length) Plotly.relayout(this.frame.plot, change);
  }

  resize() {
    if (this.#isDrawn && this.isInSight) resizePlot(Plotly, this.frame.plot);
  }

  /** Whether no run of these can ever have a value here, and why: null, or the reasons. */
  absence() {
    return commonAbsence(this.page.models(), (model) => {
      const [name] = this.spec.lines;
      if (this.spec.lines.some((line) => model.series[line]?.v.some((value) => value !== null))) return null;
      return model.meta.absent[name] ?? (model.isFinal ? (model.now[name]?.why ?? "not measured") : null);
    });
  }

  /** Why nothing is drawn yet, or null where something is. What some run cannot have is no reason where another can. */
  #emptiness() {
    const shown = this.page.view.shown(this.page.models()).filter(isKnown);
    const able = shown.filter((model) => model.meta.absent[this.spec.lines[0]] === undefined);
    const models = able.length ? able : shown;
    if (models.some((model) => this.spec.lines.some((name) => model.series[name]?.v.some((value) => value !== null)))) return null;
    const [name] = this.spec.lines;
    return [...new Set(models.map((model) => model.meta.absent[name] ?? model.now[name]?.why ?? "no sample yet"))].join("; ");
  }

  /** The values at the marked moment, or the newest, in the runs' colours; the mark itself. */
  refreshReadout() {
    const models = this.page.view.shown(this.page.models()).filter(isKnown);
    const values = models.map((model) => this.#valueText(model));
    const named = models.map((model, index) => (values[index] ? `${this.page.label(model)} ${values[index]}` : ""));
    const isNamed = models.length > 1 && named.join("  ").length * LETTER_PX < this.frame.root.clientWidth;
    models.forEach((model, index) => {
      const node = this.#readoutNode(index);
      node.style.color = this.page.theme().color(model);
      setText(node, isNamed ? named[index] : values[index]);
      node.title = model.meta.name;
    });
    this.frame.showEmptyReason(this.#emptiness());
    this.#drawMoment(this.page.view.moment);
    this.flags.refresh(this.frame.plot._fullLayout?.xaxis);
    this.#nameLines();
  }

  /** The lines that are named at their ends: those of each arm, where the page knows of arms, else of each run. */
  #namedLines() {
    const models = this.page.view.shown(this.page.models()).filter(isKnown);
    const arms = this.page.arms?.() ?? [];
    const named = arms.length
      ? arms.map(({ name, runs }) => ({ name, models: models.filter((model) => runs.includes(model.id)) })).filter((arm) => arm.models.length)
      : models.map((model) => ({ name: this.page.label(model), models: [model] }));
    const hasRoom = this.spec.isWide && this.frame.plot.clientWidth >= LEAST_NAMED_PX;
    return hasRoom && named.length > 1 && named.length <= MOST_NAMED ? named : [];
  }

  #nameLines() {
    const layout = this.frame.plot._fullLayout;
    if (!layout) return;
    const { xaxis, yaxis } = layout;
    const ends = this.#namedLines().flatMap(({ name, models }) => {
      const places = models.flatMap((model) => this.#lastPlace(model, xaxis.range) ?? []);
      if (!places.length) return [];
      const height = places.reduce((sum, { y }) => sum + y, 0) / places.length;
      const end = Math.max(...places.map(({ x }) => x));
      return [{ name, color: this.page.theme().color(models[0]), x: xaxis._offset + xaxis.l2p(end), y: yaxis._offset + yaxis.l2p(this.#isLog ? Math.log10(height) : height) }];
    });
    this.lineNames.show(ends, yaxis._offset + yaxis._length);
  }

  /**
   * The last place of the run's first line that is in sight, grey or not.
   * @param {KnownModel} model
   * @param {[number, number]} range
   */
  #lastPlace(model, [from, to]) {
    const places = this.#drawn.flatMap((line, index) => {
      if (line.model !== model || line.rank || line.kind === "raw") return [];
      const { x = [], y = [] } = this.frame.plot.data?.[index] ?? {};
      const last = x.findLastIndex((at, place) => at !== null && at >= from && at <= to && y[place] !== null);
      return last < 0 ? [] : [{ x: Number(x[last]), y: Number(y[last]) }];
    });
    return places.sort((one, other) => one.x - other.x).at(-1);
  }

  /** @param {number} index */
  #readoutNode(index) {
    const { readout } = this.frame;
    return /** @type {HTMLElement} */ (readout.children[index] ?? readout.appendChild(element("span")));
  }

  /** @param {KnownModel} model */
  #valueText(model) {
    const { moment } = this.page.view;
    if (model.meta.state === "queued") return "";
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

  #axis() {
    const width = this.frame.plot.clientWidth - 60;
    const { view } = this.page;
    return view.axis(view.range(this.page.models()), width);
  }

  /** A count has zeros, which have no place on a logarithmic axis. */
  get #isLog() {
    return this.page.view.isLog && !this.spec.isCount;
  }

  /**
   * The height of the stretch that is shown, and of the ceilings: Plotly's own is that of all points.
   * @param {Points[]} lines
   */
  #heights(lines) {
    const shown = this.page.view.range(this.page.models());
    const least = Math.max(0, ...(this.spec.hasCeiling ? this.#limits() : []));
    const found = this.#isLog ? null : heights(lines, shown, least);
    this.#tellUnit(found?.above ? `${found.above} above, up to ${threeDigits(found.highest)}` : "");
    const range = this.#isLog ? logHeights(lines, shown, least) : found?.range;
    if (!range) return { autorange: true, tickmode: "auto" };
    const tickvals = this.#isLog ? logTicks(range) : [];
    return { autorange: false, range, tickvals, tickmode: tickvals.length > 1 ? "array" : "auto" };
  }

  /** @param {Plotly.Trace[]} traces */
  #layout(traces) {
    const theme = this.page.theme();
    const axis = baseAxis(theme);
    const base = baseLayout(this.frame.plot, theme);
    const named = this.#namedLines().map(({ name }) => name);
    return {
      ...base,
      margin: { ...base.margin, r: Math.max(base.margin.r, named.length ? roomFor(named) : 0) },
      hovermode: false,
      dragmode: isTouchScreen() ? false : "zoom",
      xaxis: { ...axis, tickmode: "array", autorange: false, ...this.#axis() },
      yaxis: { ...axis, type: this.#isLog ? "log" : "linear", rangemode: "tozero", fixedrange: true, nticks: 5, separatethousands: true, ...this.#heights(traces) },
      shapes: this.spec.hasCeiling ? this.#ceilings() : [],
    };
  }

  /** The most that each number of drafts allows. */
  #limits() {
    return [...new Set(this.page.view.shown(this.page.models()).map((model) => model.meta?.ceiling ?? 0).filter(Boolean))];
  }

  #ceilings() {
    const line = { color: this.page.theme().muted, width: 1, dash: "dash" };
    return this.#limits().map((height) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: height, y1: height, line }));
  }

  /**
   * What the dashed lines are stands in the head, where no line runs through it; what lies above the chart too.
   * @param {string} outliers
   */
  #tellUnit(outliers) {
    const limits = this.spec.hasCeiling ? this.#limits() : [];
    const ceilings = limits.length ? `dashed: at most ${limits.join(", ")}` : "";
    setText(this.frame.unit, [this.spec.unit, ceilings, outliers].filter(Boolean).join("; "));
  }

  /** @param {Record<string, number | undefined>} change */
  #takeZoom({ "xaxis.range[0]": from, "xaxis.range[1]": to }) {
    if (from !== undefined && to !== undefined) this.page.onZoom([from, to]);
  }

  /** Plotly keeps the browser's own dblclick for itself. */
  #listenToPlotly() {
    this.frame.plot.on("plotly_relayout", (change) => this.#takeZoom(change));
    this.frame.plot.on("plotly_doubleclick", () => this.page.onZoom(null));
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
