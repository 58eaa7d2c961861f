// The Live page's body: lanes, charts on one time axis, log tails; mounted by web/live/component.py.

import { CHARTS, TimeChart } from "./charts.js";
import { Feed } from "./feed.js";
import { element, setText } from "./format.js";
import { Lane } from "./lanes.js";
import { LogTail } from "./logs.js";
import { RunModel } from "./model.js";
import { PositionChart } from "./position_chart.js";
import { Theme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { View } from "./view.js";

const DRAW_MS = 200;
const pages = new WeakMap(); // parent element -> LivePage: a rerun of the script meets the page it made

export function mount({ parentElement, data }) {
  if (!pages.has(parentElement)) pages.set(parentElement, new LivePage(parentElement, data));
  pages.get(parentElement).update(data);
  return () => {
    pages.get(parentElement)?.close();
    pages.delete(parentElement);
  };
}

function loadPlotly(assets) {
  window.pitwallPlotly ??= new Promise((resolve, reject) => {
    const script = element("script");
    script.src = `${assets}/plotly.min.js`;
    script.onload = resolve;
    script.onerror = () => reject(new Error("plotly.min.js did not load"));
    document.head.append(script);
  });
  return window.pitwallPlotly;
}

function afterPaint() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

class LivePage {
  #models = new Map();
  #theme = null;

  constructor(parent, data) {
    this.view = new View();
    this.mustReact = true;
    this.mustDrawPositions = true;
    this.isReady = false;
    this.root = element("div", "lv-live");
    this.toolbar = new Toolbar(this);
    this.laneRow = element("div", "lv-lanes");
    this.chartGrid = element("div", "lv-charts lv-waiting");
    this.absences = element("p", "lv-absences");
    this.logRow = element("div", "lv-logs");
    this.root.append(this.laneRow, this.toolbar.root, this.chartGrid, this.absences, this.logRow);
    parent.append(this.root);
    this.#makeCharts();
    this.resizing = new ResizeObserver(() => this.allCharts.forEach((chart) => chart.resize()));
    this.resizing.observe(this.root);
    this.ticking = setInterval(() => this.#refreshLanes(), 1000);
  }

  models() {
    return [...this.#models.values()];
  }

  theme() {
    return this.#theme;
  }

  /** Takes what the script says: {runs, colors, baseline, not_comparable, assets, base, palette, run_url}. */
  update(data) {
    this.data = data;
    this.#theme = new Theme(this.root, data.palette, data.colors);
    this.mustReact = true;
    if (this.models().map((model) => model.id).join() !== data.runs.join()) this.#watch(data.runs);
    this.#schedule();
  }

  close() {
    this.feed?.close();
    clearInterval(this.ticking);
    clearTimeout(this.drawing);
    this.resizing.disconnect();
    this.seeing.disconnect();
    if (this.isReady) this.allCharts.forEach((chart) => Plotly.purge(chart.frame.plot));
    this.root.remove();
  }

  onZoom(range) {
    this.view.zoom = range;
    this.toolbar.refresh();
    this.charts.forEach((chart) => chart.moveAxis());
    this.onMoment(this.view.moment);
  }

  /** The reader chose another window or another kind of time. */
  onView() {
    this.view.zoom = null;
    this.view.moment = null;
    this.mustReact = true;
    this.toolbar.refresh();
    this.#schedule();
  }

  onMoment(moment) {
    this.view.moment = moment;
    this.pointing ??= requestAnimationFrame(() => {
      this.pointing = null;
      this.toolbar.refresh();
      this.charts.forEach((chart) => chart.refreshReadout());
      const { moment: x } = this.view;
      for (const log of this.logs.values()) log.mark(x === null ? null : this.view.toTime(log.model, x));
    });
  }

  #watch(runIds) {
    this.feed?.close();
    this.#models = new Map(runIds.map((id) => [id, this.#models.get(id) ?? new RunModel(id)]));
    this.lanes = new Map(runIds.map((id) => [id, new Lane(id, this.data.run_url + encodeURIComponent(id))]));
    this.logs = new Map(this.models().map((model) => [model.id, new LogTail(this, model)]));
    this.laneRow.replaceChildren(...[...this.lanes.values()].map((lane) => lane.root));
    this.logRow.replaceChildren(...[...this.logs.values()].map((log) => log.root));
    this.root.classList.toggle("lv-many", runIds.length > 4);
    for (const log of this.logs.values()) log.refresh({ whole: true, log: [] });
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.feed = new Feed(this.data.base, this.#models, (model, changes) => this.#take(model, changes), (...status) => this.toolbar.setStatus(...status));
    this.#refreshLanes();
  }

  #makeCharts() {
    this.charts = CHARTS.map((spec) => new TimeChart(spec, this));
    this.positions = new PositionChart(this);
    this.allCharts = [...this.charts.slice(0, 2), this.positions, ...this.charts.slice(2)];
    this.chartGrid.append(...this.allCharts.map((chart) => chart.frame.root));
    this.seeing = new IntersectionObserver((entries) => entries.forEach((entry) => this.#see(entry)), { rootMargin: "200px" });
    this.allCharts.forEach((chart) => this.seeing.observe(chart.frame.plot));
  }

  #see({ target, isIntersecting }) {
    const chart = this.allCharts.find((one) => one.frame.plot === target);
    chart.isInSight = isIntersecting;
    if (isIntersecting && this.isReady && this.#theme) chart.react();
  }

  /** The numbers are on the page before the charts' library is even asked for. */
  #loadCharts() {
    this.loading ??= afterPaint()
      .then(() => loadPlotly(this.data.assets))
      .then(() => {
        this.isReady = true;
        this.#schedule();
      });
  }

  #take(model, changes) {
    if (!this.loading) this.#refreshLanes();
    this.#loadCharts();
    this.mustReact ||= changes.whole;
    this.mustDrawPositions ||= changes.positions;
    this.logs.get(model.id).refresh(changes);
    this.#schedule();
  }

  #schedule() {
    this.drawing ??= setTimeout(() => requestAnimationFrame(() => this.#draw()), Math.max(0, (this.drawnAt ?? 0) + DRAW_MS - performance.now()));
  }

  #draw() {
    this.drawing = null;
    this.drawnAt = performance.now();
    this.#refreshLanes();
    if (!this.isReady || !this.models().some((model) => model.meta)) return;
    if (this.mustReact) this.#arrange();
    if (this.mustReact) this.charts.forEach((chart) => chart.react());
    else this.charts.forEach((chart) => chart.extend());
    if (this.mustReact || this.mustDrawPositions) this.positions.react();
    this.mustReact = this.mustDrawPositions = false;
  }

  /** Takes charts that can have nothing off the page, and says which and why instead. */
  #arrange() {
    this.chartGrid.classList.remove("lv-waiting");
    const missing = [];
    for (const chart of this.allCharts) {
      const reason = chart.absence();
      chart.frame.root.hidden = reason !== null;
      if (reason !== null) missing.push(`${chart.frame.root.querySelector("h3").textContent} (${reason})`);
    }
    setText(this.absences, missing.length ? `Not known here: ${missing.join(", ")}.` : "");
  }

  #refreshLanes() {
    const baseline = this.#models.get(this.data.baseline);
    for (const [id, lane] of this.lanes) {
      const model = this.#models.get(id);
      const color = model.meta ? this.#theme.color(model) : this.#theme.muted;
      const compared = baseline?.meta ? { model: baseline, reason: this.data.not_comparable[id] } : null;
      lane.refresh(model, color, this.feed.serverNow, compared);
    }
  }
}
