// The Live page's body: a strip of runs, charts on one time axis, all numbers, log tails; mounted by web/live/component.py.

/** @import { Changes, LiveData, Page, Range } from "../../types/live_page.js" */

import { addressOf, readAddress } from "./address.js";
import { CHARTS, TimeChart } from "./charts.js";
import { Feed } from "./feed.js";
import { element, setText } from "./format.js";
import { Lane } from "./lanes.js";
import { LogTail } from "./logs.js";
import { RunModel, isKnown } from "./model.js";
import { PositionChart } from "./position_chart.js";
import { Chip, Strip } from "./strip.js";
import { Theme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { View } from "./view.js";

const DRAW_MS = 200;
/** @type {WeakMap<HTMLElement, LivePage>} */
const pages = new WeakMap(); // by parent element: a rerun of the script meets the page it made

/** @param {ComponentArgs<LiveData>} component */
export function mount({ parentElement, data }) {
  const page = pages.get(parentElement) ?? new LivePage(parentElement, data);
  pages.set(parentElement, page);
  page.update(data);
  return () => {
    page.close();
    pages.delete(parentElement);
  };
}

/** @param {string} assets the URL they are below */
function loadPlotly(assets) {
  window.pitwallPlotly ??= new Promise((resolve, reject) => {
    const script = element("script");
    script.src = `${assets}/plotly/plotly-basic.min.js`;
    script.onload = resolve;
    script.onerror = () => reject(new Error("plotly-basic.min.js did not load"));
    document.head.append(script);
  });
  return window.pitwallPlotly;
}

function afterPaint() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** @implements {Page} */
class LivePage {
  view = new View();
  #mustReact = true;
  #mustDrawPositions = true;
  #isReady = false; // plotly.js is there
  /** @type {Map<string, RunModel>} */
  #models = new Map();
  /** @type {Map<string, Chip>} */
  #chips = new Map();
  /** @type {Map<string, Lane>} */
  #lanes = new Map();
  /** @type {Map<string, LogTail>} */
  #logs = new Map();
  /** @type {Feed | null} */
  #feed = null;
  /** @type {Theme} */
  #theme;
  #drawnAt = 0;
  /** @type {number | null} */
  #drawing = null;
  /** @type {number | null} */
  #pointing = null;
  /** @type {Promise<void> | null} */
  #loading = null;

  /**
   * @param {HTMLElement} parent
   * @param {LiveData} data
   */
  constructor(parent, data) {
    this.data = data;
    readAddress(this.view, location.search);
    this.root = element("div", "lv-live");
    this.toolbar = new Toolbar(this);
    this.strip = new Strip();
    this.causes = element("div", "lv-causes");
    this.laneRow = element("div", "lv-lanes");
    this.chartGrid = element("div", "lv-charts lv-waiting");
    this.absences = element("p", "lv-absences");
    this.logRow = element("div", "lv-logs");
    this.root.append(this.strip.root, this.causes, this.toolbar.root, this.chartGrid, this.absences, this.laneRow, this.logRow);
    parent.append(this.root);
    this.#theme = new Theme(this.root, data.palette, data.colors);
    this.charts = CHARTS.map((spec) => new TimeChart(spec, this));
    this.positions = new PositionChart(this);
    this.allCharts = [...this.charts.slice(0, 2), this.positions, ...this.charts.slice(2)];
    this.chartGrid.append(...this.allCharts.map((chart) => chart.frame.root));
    this.seeing = new IntersectionObserver((entries) => entries.forEach((entry) => this.#see(entry)), { rootMargin: "200px" });
    this.allCharts.forEach((chart) => this.seeing.observe(chart.frame.plot));
    this.resizing = new ResizeObserver(() => this.allCharts.forEach((chart) => chart.resize()));
    this.resizing.observe(this.root);
    this.path = location.pathname;
    this.returning = () => this.#takeAddress();
    addEventListener("popstate", this.returning);
    this.ticking = setInterval(() => this.#tick(), 1000);
  }

  /** Streamlit writes the address anew from what it knows of it, where the script changes it. */
  #tick() {
    this.#remember();
    this.#refreshRuns();
  }

  models() {
    return [...this.#models.values()];
  }

  theme() {
    return this.#theme;
  }

  /**
   * Takes what the script says.
   * @param {LiveData} data
   */
  update(data) {
    this.data = data;
    this.#theme = new Theme(this.root, data.palette, data.colors);
    this.#mustReact = true;
    if (this.models().map((model) => model.id).join() !== data.runs.join()) this.#watch(data.runs);
    this.#schedule();
  }

  close() {
    this.#feed?.close();
    clearInterval(this.ticking);
    removeEventListener("popstate", this.returning);
    clearTimeout(this.#drawing ?? undefined);
    cancelAnimationFrame(this.#pointing ?? 0);
    this.resizing.disconnect();
    this.seeing.disconnect();
    if (this.#isReady) this.allCharts.forEach((chart) => Plotly.purge(chart.frame.plot));
    this.root.remove();
  }

  /** @param {Range | null} range */
  onZoom(range) {
    this.view.zoom = range;
    this.#remember();
    this.toolbar.refresh();
    this.charts.forEach((chart) => chart.moveAxis());
    this.onMoment(this.view.moment);
  }

  /** The reader chose another window or another kind of time. */
  onView() {
    this.view.zoom = null;
    this.view.moment = null;
    this.onStyle();
  }

  /** The reader chose how lines are drawn. */
  onStyle() {
    this.#remember();
    this.#mustReact = this.#mustDrawPositions = true;
    this.toolbar.refresh();
    this.#schedule();
  }

  /** @param {string[]} runIds which are not drawn */
  onHide(runIds) {
    this.view.hide(runIds, this.models());
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.onStyle();
  }

  /** The address says what is chosen, without an entry of its own in the history. */
  #remember() {
    const wanted = addressOf(this.view, location.search);
    if (location.pathname !== this.path || wanted === location.search) return;
    history.replaceState(history.state, "", `${location.pathname}${wanted}${location.hash}`);
  }

  /** Back or Forward: the entry's own choice counts. */
  #takeAddress() {
    if (location.pathname !== this.path) return;
    readAddress(this.view, location.search);
    this.onHide([...this.view.hidden]);
  }

  /** @param {number | null} moment */
  onMoment(moment) {
    this.view.moment = moment;
    if (this.#pointing !== null) return;
    this.#pointing = requestAnimationFrame(() => {
      this.#pointing = null;
      this.toolbar.refresh();
      this.charts.forEach((chart) => chart.refreshReadout());
      const { moment: x } = this.view;
      for (const log of this.#logs.values()) log.mark(x === null ? null : this.view.toTime(log.model, x));
    });
  }

  /** @param {string[]} runIds */
  #watch(runIds) {
    this.#feed?.close();
    this.#models = new Map(runIds.map((id) => [id, this.#models.get(id) ?? new RunModel(id)]));
    this.view.hide([...this.view.hidden], this.models());
    this.#chips = new Map(runIds.map((id) => [id, new Chip(this.data.names[id] ?? id, this.data.links[id] ?? this.data.run_url + encodeURIComponent(id))]));
    this.#lanes = new Map(runIds.map((id) => [id, new Lane()]));
    this.#logs = new Map(this.models().map((model) => [model.id, new LogTail(this, model, this.data.names[model.id] ?? model.id)]));
    this.#chips.forEach((chip, id) => chip.offer(id, this));
    this.strip.show(this.#chips.values());
    this.laneRow.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.root));
    this.causes.replaceChildren(...[...this.#lanes.values()].map((lane) => lane.cause));
    this.logRow.replaceChildren(...[...this.#logs.values()].map((log) => log.root));
    this.root.classList.toggle("lv-many", runIds.length > 4);
    for (const log of this.#logs.values()) log.refresh({ whole: true, log: [] });
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.#feed = new Feed(this.data.base, this.#models, (model, changes) => this.#take(model, changes), (status, reason) => this.toolbar.setStatus(status, reason));
    this.#refreshRuns();
  }

  /** @param {IntersectionObserverEntry} entry */
  #see({ target, isIntersecting }) {
    const chart = this.allCharts.find((one) => one.frame.plot === target);
    if (!chart) return;
    chart.isInSight = isIntersecting;
    if (isIntersecting && this.#isReady) chart.react();
  }

  /** The numbers are on the page before the charts' library is even asked for. */
  #loadCharts() {
    this.#loading ??= afterPaint()
      .then(() => loadPlotly(this.data.assets))
      .then(() => {
        this.#isReady = true;
        this.#schedule();
      });
  }

  /**
   * @param {RunModel} model
   * @param {Changes} changes
   */
  #take(model, changes) {
    if (!this.#loading) this.#refreshRuns();
    this.#loadCharts();
    this.#mustReact ||= changes.whole;
    this.#mustDrawPositions ||= changes.positions;
    this.#logs.get(model.id)?.refresh(changes);
    this.#schedule();
  }

  #schedule() {
    this.#drawing ??= setTimeout(() => requestAnimationFrame(() => this.#draw()), Math.max(0, this.#drawnAt + DRAW_MS - performance.now()));
  }

  #draw() {
    this.#drawing = null;
    this.#drawnAt = performance.now();
    this.#refreshRuns();
    if (!this.#isReady || !this.models().some((model) => model.meta)) return;
    if (this.#mustReact) this.#arrange();
    if (this.#mustReact) this.charts.forEach((chart) => chart.react());
    else this.charts.forEach((chart) => chart.extend());
    if (this.#mustReact || this.#mustDrawPositions) this.positions.react();
    this.#mustReact = this.#mustDrawPositions = false;
  }

  /** Takes charts that can have nothing off the page, and says which and why instead. */
  #arrange() {
    this.chartGrid.classList.remove("lv-waiting");
    const missing = [];
    for (const chart of this.allCharts) {
      const reason = chart.absence();
      chart.frame.root.hidden = reason !== null;
      chart.isInSight &&= reason === null; // the observer tells it only later
      if (reason !== null) missing.push(`${chart.frame.title} (${reason})`);
    }
    setText(this.absences, missing.length ? `Not known here: ${missing.join(", ")}.` : "");
  }

  #refreshRuns() {
    const baseline = this.#models.get(this.data.baseline);
    const now = this.#feed?.serverNow ?? Date.now() / 1000;
    for (const [id, model] of this.#models) {
      const color = isKnown(model) ? this.#theme.color(model) : this.#theme.muted;
      const compared = baseline && isKnown(baseline) ? { model: baseline, reason: this.data.not_comparable[id] } : null;
      this.#chips.get(id)?.tellHidden(this.view.hidden.has(id));
      this.#chips.get(id)?.refresh(model, color, now + model.ahead, compared);
      this.#lanes.get(id)?.refresh(model, color, compared);
    }
    this.strip.refresh(this.models());
  }
}
