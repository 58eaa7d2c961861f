// The time charts: which ones there are, how runs are drawn in them, and two ways to update them: drawing everything
// again, or adding only the new points.

/** @import { ChartSpec, KnownModel, Page } from "../../types/live_page.js" */
/** @import { Line } from "./lines.js" */
/** @import { Points } from "./y_range.js" */

import { bandTraces, bandsOf, fadeBehindBand } from "./bands.js";
import { createTimeChartMenu } from "./chart_files.js";
import { DASH, element, setText, threeDigits } from "./format.js";
import { FlagLane } from "./flags.js";
import { CONFIG, Frame, axisChanges, baseAxis, baseLayout, commonAbsence, resizePlot } from "./frame.js";
import { LineNames, namesWidth } from "./line_names.js";
import { linesOf, pointCountOf, pointsOf, traceOf, withDashes } from "./lines.js";
import { isKnown } from "./model.js";
import { logTicks, logYRange, yRange } from "./y_range.js";
import { isTouchScreen } from "./zoom_buttons.js";

const GIB_PER_BYTE = 1 / 2 ** 30;
/** @type {Record<string, number | undefined>} */
const DIRECTIONS = { ArrowLeft: -1, ArrowRight: 1 };
const MOUSE_HELP = "Drag to zoom, Shift-drag to pan, double-click to show all";
const LETTER_PX = 7.5; // in the readout
const MIN_WIDTH_FOR_NAMES_PX = 640;
const MAX_NAMES = 10; // more names would overlap

/**
 * All time charts. The first line of a chart is drawn solid, the second dotted.
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
  { id: "memory", title: "Memory of the server", unit: "GiB; dotted: whole host", lines: ["server_rss_bytes", "host_memory_used_bytes"], scale: GIB_PER_BYTE },
];

export class TimeChart {
  isInView = false;
  #isStale = true;
  #isDrawn = false;
  /** @type {Line[]} */
  #lines = [];

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
    const keyHelp = "The left and right arrow keys move the marker, Escape removes it.";
    this.frame.plot.setAttribute("aria-label", `${spec.title}. ${keyHelp} ${isTouchScreen() ? "" : MOUSE_HELP}`);
    const title = /** @type {HTMLElement} */ (this.frame.head.querySelector("h3"));
    if (!isTouchScreen()) title.title = MOUSE_HELP;
    this.frame.head.append(createTimeChartMenu(spec, this.frame, page));
    this.flags = new FlagLane(page);
    this.lineNames = new LineNames();
    this.frame.readout.after(this.flags.root);
    this.frame.plot.after(this.lineNames.root);
    this.#listen();
  }

  /** Draws the whole chart from the models, in the existing plot element. */
  react() {
    this.#isStale = !this.isInView;
    if (this.#isStale) return;
    const isFirst = !this.#isDrawn;
    this.#isDrawn = true;
    const { view } = this.page;
    this.#lines = linesOf(this.spec, view.visibleRuns(this.page.models()), view.smoothSeconds > 0);
    const bands = bandsOf(this.spec, this.page);
    const lineTraces = this.#lines.map((line) => fadeBehindBand(traceOf(line, this.spec, this.page), line, bands));
    const traces = [...lineTraces, ...bands.flatMap(bandTraces)]; // lines first: extend() uses their indexes
    Plotly.react(this.frame.plot, traces, this.#layout(traces), CONFIG);
    if (isFirst) this.#listenToPlotly();
    this.refreshReadout();
  }

  /** Adds the points that arrived since the chart was last drawn. */
  extend() {
    if (!this.isInView || this.#isStale) {
      this.#isStale = true;
      return;
    }
    /** @type {{ x: Plotly.Point[][], y: Plotly.Point[][] }} */
    const points = { x: [], y: [] };
    /** @type {number[]} */
    const indexes = [];
    const { plot } = this.frame;
    this.#lines.forEach((line, index) => {
      if (pointCountOf(line) === line.pointCount) return;
      indexes.push(index);
      const drawnPoints = /** @type {import("./lines.js").Points | undefined} */ (plot.data?.[index]);
      const { x, y } = withDashes(pointsOf(line, this.spec, this.page, line.pointCount), drawnPoints);
      points.x.push(x);
      points.y.push(y);
      line.pointCount = pointCountOf(line);
    });
    if (indexes.length) {
      const newPoints = points.x.map((x, index) => ({ x, y: points.y[index], meta: plot.data?.[indexes[index]].meta }));
      // extendTraces draws these axes together with the points.
      Object.assign(plot.layout.xaxis, this.#xAxis());
      Object.assign(plot.layout.yaxis, this.#yAxis([...(plot.data ?? []), ...newPoints]));
      Plotly.extendTraces(plot, points, indexes);
    } else this.moveAxes();
    this.refreshReadout();
  }

  /** Updates only the axes. */
  moveAxes() {
    this.#isStale ||= !this.isInView;
    if (this.#isStale) return;
    const { plot } = this.frame;
    const change = axisChanges(plot.layout, { xaxis: this.#xAxis(), yaxis: this.#yAxis(plot.data ?? []) });
    if (Object.keys(change).length) Plotly.relayout(plot, change);
  }

  resize() {
    if (this.#isDrawn && this.isInView) resizePlot(Plotly, this.frame.plot);
  }

  /** Why no run can ever have a value in this chart; null if a run can. */
  absence() {
    return commonAbsence(this.page.models(), (model) => {
      const [name] = this.spec.lines;
      if (this.spec.lines.some((line) => model.series[line]?.v.some((value) => value !== null))) return null;
      return model.meta.absent[name] ?? (model.isFinal ? (model.now[name]?.why ?? "not measured") : null);
    });
  }

  /** Why the chart is still empty; null if it is not. Runs that can have values take precedence over other runs. */
  #emptyReason() {
    const [name] = this.spec.lines;
    const visible = this.page.view.visibleRuns(this.page.models()).filter(isKnown);
    const measurable = visible.filter((model) => model.meta.absent[name] === undefined);
    const models = measurable.length ? measurable : visible;
    const hasValues = (/** @type {KnownModel} */ model) =>
      this.spec.lines.some((line) => model.series[line]?.v.some((value) => value !== null));
    if (models.some(hasValues)) return null;
    return [...new Set(models.map((model) => model.meta.absent[name] ?? model.now[name]?.why ?? "no sample yet"))].join("; ");
  }

  /** Shows the values at the marked time, or the latest ones, in the runs' colours, and the mark itself. */
  refreshReadout() {
    const models = this.page.view.visibleRuns(this.page.models()).filter(isKnown);
    const values = models.map((model) => this.#valueText(model));
    const namedValues = values.map((value, index) => (value ? `${this.page.label(models[index])} ${value}` : ""));
    const hasRoom = namedValues.join("  ").length * LETTER_PX < this.frame.root.clientWidth;
    const texts = models.length > 1 && hasRoom ? namedValues : values;
    models.forEach((model, index) => {
      const node = this.#readoutNode(index);
      node.style.color = this.page.theme().color(model);
      setText(node, texts[index]);
      node.title = model.meta.name;
    });
    this.frame.showEmptyReason(this.#emptyReason());
    this.#drawMark(this.page.view.markedX);
    this.flags.refresh(this.frame.plot._fullLayout?.xaxis);
    this.#refreshLineNames();
  }

  /** The names to write at line ends, with their runs: the arms if the page has any, otherwise the single runs. */
  #lineLabels() {
    const models = this.page.view.visibleRuns(this.page.models()).filter(isKnown);
    const arms = (this.page.arms?.() ?? []).map(({ name, runs }) => ({
      name,
      models: models.filter((model) => runs.includes(model.id)),
    }));
    const labels = arms.length
      ? arms.filter((arm) => arm.models.length)
      : models.map((model) => ({ name: this.page.label(model), models: [model] }));
    const hasRoom = this.spec.isWide && this.frame.plot.clientWidth >= MIN_WIDTH_FOR_NAMES_PX;
    return hasRoom && labels.length > 1 && labels.length <= MAX_NAMES ? labels : [];
  }

  #refreshLineNames() {
    const layout = this.frame.plot._fullLayout;
    if (!layout) return;
    const { xaxis, yaxis } = layout;
    const ends = this.#lineLabels().flatMap(({ name, models }) => {
      const points = models.flatMap((model) => this.#lastPoint(model, xaxis.range) ?? []);
      if (!points.length) return [];
      const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length;
      const x = xaxis._offset + xaxis.l2p(Math.max(...points.map((point) => point.x)));
      const y = yaxis._offset + yaxis.l2p(this.#isLog ? Math.log10(meanY) : meanY);
      return [{ name, color: this.page.theme().color(models[0]), x, y }];
    });
    this.lineNames.show(ends, yaxis._offset + yaxis._length);
  }

  /**
   * The last visible point of the run's first line, excluded (grey) or not.
   * @param {KnownModel} model
   * @param {[number, number]} xRange
   */
  #lastPoint(model, [start, end]) {
    const points = this.#lines.flatMap((line, index) => {
      if (line.model !== model || line.rank || line.kind === "raw") return [];
      const { x: xs = [], y: ys = [] } = this.frame.plot.data?.[index] ?? {};
      const last = xs.findLastIndex((x, position) => x !== null && x >= start && x <= end && ys[position] !== null);
      return last < 0 ? [] : [{ x: Number(xs[last]), y: Number(ys[last]) }];
    });
    return points.sort((a, b) => a.x - b.x).at(-1);
  }

  /** @param {number} index */
  #readoutNode(index) {
    const { readout } = this.frame;
    return /** @type {HTMLElement} */ (readout.children[index] ?? readout.appendChild(element("span")));
  }

  /** @param {KnownModel} model */
  #valueText(model) {
    const { markedX } = this.page.view;
    if (model.meta.state === "queued") return "";
    if (model.isFinal && markedX === null) return ""; // the last value of an ended run does not characterize it
    const time = markedX === null ? model.lastPointTime : this.page.view.toTime(model, markedX);
    const value = time === null ? null : model.valueAt(this.spec.lines[0], time);
    if (value === null) return DASH;
    return this.spec.isCount ? String(value) : threeDigits(value * (this.spec.scale ?? 1));
  }

  /** @param {number | null} markedX */
  #drawMark(markedX) {
    const axis = this.frame.plot._fullLayout?.xaxis;
    this.frame.markLine.hidden = true;
    if (!axis || markedX === null || markedX < axis.range[0] || markedX > axis.range[1]) return;
    this.frame.markLine.hidden = false;
    this.frame.markLine.style.transform = `translateX(${axis._offset + axis.l2p(markedX)}px)`;
  }

  #xAxis() {
    const width = this.frame.plot.clientWidth - 60;
    const { view } = this.page;
    return view.axis(view.range(this.page.models()), width);
  }

  /** A count is never logarithmic: it has zeros, which a logarithmic axis cannot show. */
  get #isLog() {
    return this.page.view.isLog && !this.spec.isCount;
  }

  /**
   * The y axis for the values in the shown time range and for the ceilings; Plotly's own range covers all points.
   * @param {Points[]} lines
   */
  #yAxis(lines) {
    const xRange = this.page.view.range(this.page.models());
    const minTop = Math.max(0, ...(this.spec.hasCeiling ? this.#ceilings() : []));
    const linear = this.#isLog ? null : yRange(lines, xRange, minTop);
    this.#refreshUnit(linear?.above ? `${linear.above} above, up to ${threeDigits(linear.highest)}` : "");
    const range = this.#isLog ? logYRange(lines, xRange, minTop) : linear?.range;
    if (!range) return { autorange: true, tickmode: "auto" };
    const tickvals = this.#isLog ? logTicks(range) : [];
    return { autorange: false, range, tickvals, tickmode: tickvals.length > 1 ? "array" : "auto" };
  }

  /** @param {Plotly.Trace[]} traces */
  #layout(traces) {
    const theme = this.page.theme();
    const axis = baseAxis(theme);
    const base = baseLayout(this.frame.plot, theme);
    const names = this.#lineLabels().map(({ name }) => name);
    const yType = this.#isLog ? "log" : "linear";
    const yStyle = { rangemode: "tozero", fixedrange: true, nticks: 5, separatethousands: true };
    return {
      ...base,
      margin: { ...base.margin, r: Math.max(base.margin.r, names.length ? namesWidth(names) : 0) },
      hovermode: false,
      dragmode: isTouchScreen() ? false : "zoom",
      xaxis: { ...axis, tickmode: "array", autorange: false, ...this.#xAxis() },
      yaxis: { ...axis, type: yType, ...yStyle, ...this.#yAxis(traces) },
      shapes: this.spec.hasCeiling ? this.#ceilingLines() : [],
    };
  }

  /** The highest possible values of the visible runs, given their numbers of draft tokens. */
  #ceilings() {
    const models = this.page.view.visibleRuns(this.page.models());
    return [...new Set(models.map((model) => model.meta?.ceiling ?? 0).filter(Boolean))];
  }

  #ceilingLines() {
    const line = { color: this.page.theme().muted, width: 1, dash: "dash" };
    return this.#ceilings().map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line }));
  }

  /**
   * Writes the unit into the header, with the meaning of the dashed lines, which would be crossed by lines in the plot,
   * and with the outliers above the chart.
   * @param {string} outliers
   */
  #refreshUnit(outliers) {
    const ceilings = this.spec.hasCeiling ? this.#ceilings() : [];
    const dashedLines = ceilings.length ? `dashed: at most ${ceilings.join(", ")}` : "";
    setText(this.frame.unit, [this.spec.unit, dashedLines, outliers].filter(Boolean).join("; "));
  }

  /** @param {Record<string, number | undefined>} change */
  #handleRelayout({ "xaxis.range[0]": start, "xaxis.range[1]": end }) {
    if (start !== undefined && end !== undefined) this.page.onZoom([start, end]);
  }

  /** Plotly's own events, because it does not pass on the browser's dblclick. */
  #listenToPlotly() {
    this.frame.plot.on("plotly_relayout", (change) => this.#handleRelayout(change));
    this.frame.plot.on("plotly_doubleclick", () => this.page.onZoom(null));
  }

  #listen() {
    const { plot } = this.frame;
    plot.addEventListener("pointermove", (event) => {
      const axis = plot._fullLayout?.xaxis;
      if (!axis) return;
      const pixel = event.clientX - plot.getBoundingClientRect().left - axis._offset;
      if (pixel >= 0 && pixel <= axis._length) this.page.onMark(axis.p2l(pixel));
    });
    plot.addEventListener("pointerleave", () => this.page.onMark(null));
    plot.addEventListener("keydown", (event) => this.#handleKey(event));
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const axis = this.frame.plot._fullLayout?.xaxis;
    const direction = DIRECTIONS[event.key];
    if (event.key === "Escape") this.page.onMark(null);
    else if (direction && axis) {
      const [start, end] = axis.range;
      this.page.onMark((this.page.view.markedX ?? end) + (direction * (end - start)) / 60);
    } else return;
    event.preventDefault();
  }
}
