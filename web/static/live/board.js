// The charts that share a time axis, with the user's choices for them. The Live page uses it, and so do the pages that
// show ended runs.

/** @import { BoardData, BoardHooks, ChartSpec, KnownModel, Page, Range } from "../../types/live_page.js" */
/** @import { RunModel } from "./model.js" */

import { searchOf, replaceSearch, readSearch } from "./address.js";
import { TimeChart } from "./charts.js";
import { DetailLoader } from "./detail_loader.js";
import { element, setText } from "./format.js";
import { isAwaited, isKnown } from "./model.js";
import { PacedQueue } from "./paced_queue.js";
import { loadPlotly } from "./plotly.js";
import { PositionChart } from "./position_chart.js";
import { Theme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { View } from "./view.js";
import { ZoomButtons, isTouchScreen, scaleRange } from "./zoom_buttons.js";

const DRAW_EVERY_MS = 200;
const LOAD_PLOTLY_AFTER_MS = 300; // if no numbers have arrived by then, plotly.js is loaded before them
export const MANY_RUNS = 4; // more runs are shown closer together

/** Resolves once the browser has painted. */
function afterPaint() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** @implements {Page} */
export class Board {
  view = new View();
  #mustReact = true;
  #mustDrawPositions = true;
  #isReady = false; // whether plotly.js has been loaded
  /** @type {Map<string, RunModel>} */
  #models = new Map();
  /** @type {Theme} */
  #theme;
  #lastDrawTime = 0;
  /** @type {number | null} */
  #drawTimer = null;
  /** @type {number | null} */
  #markFrame = null; // the animation frame that will show the mark
  #isLoading = false;
  #hasNumbers = false;
  /** @type {number | undefined} */
  #loadTimer;
  /** @type {HTMLElement | undefined} */
  #fullRowChart;

  /**
   * @param {HTMLElement} root
   * @param {BoardData} data
   * @param {ChartSpec[]} specs
   * @param {BoardHooks} hooks
   */
  constructor(root, data, specs, hooks) {
    this.data = data;
    this.root = root;
    this.hooks = hooks;
    readSearch(this.view, location.search);
    this.toolbar = new Toolbar(this, hooks.isLive);
    this.chartGrid = element("div", "lv-charts lv-waiting");
    this.zoomButtons = new ZoomButtons((factor) => this.#zoomBy(factor), (fraction) => this.#zoomBy(1, fraction));
    this.zoomButtons.root.classList.add("lv-zoom-bar");
    this.absences = element("p", "lv-absences");
    this.#theme = new Theme(root, data.palette, data.colors);
    this.detailLoader = new DetailLoader(data.base, this, () => this.onStyle());
    this.charts = specs.map((spec) => new TimeChart(spec, this));
    this.positionCharts = hooks.isLive ? [new PositionChart(this)] : [];
    this.axisQueue = new PacedQueue((/** @type {TimeChart} */ chart) => chart.moveAxes());
    this.allCharts = [...this.charts.slice(0, 2), ...this.positionCharts, ...this.charts.slice(2)];
    this.chartGrid.append(...this.allCharts.map((chart) => chart.frame.root));
    const handleEntries = (/** @type {IntersectionObserverEntry[]} */ entries) =>
      entries.forEach((entry) => this.#handleVisibility(entry));
    this.visibilityObserver = new IntersectionObserver(handleEntries, { rootMargin: "200px" });
    this.allCharts.forEach((chart) => this.visibilityObserver.observe(chart.frame.plot));
    this.resizeObserver = new ResizeObserver(() => this.allCharts.forEach((chart) => chart.resize()));
    this.resizeObserver.observe(root);
    this.path = location.pathname;
    this.handlePopState = () => this.#restoreFromUrl();
    addEventListener("popstate", this.handlePopState);
  }

  models() {
    return [...this.#models.values()];
  }

  theme() {
    return this.#theme;
  }

  arms() {
    return this.data.legend ?? [];
  }

  /**
   * The run's name without the beginning that all runs' names share.
   * @param {KnownModel} model
   */
  label({ id, meta }) {
    const { names, labels } = this.data;
    return names?.[id] === meta.name ? (labels?.[id] ?? meta.name) : meta.name;
  }

  quantiles() {
    return this.data.quantiles ?? [];
  }

  /**
   * Shows the script's new data.
   * @param {BoardData} data
   */
  update(data) {
    this.data = data;
    this.#theme = new Theme(this.root, data.palette, data.colors);
    this.#mustReact = true;
    this.#schedule();
  }

  /**
   * Draws these runs from now on.
   * @param {Map<string, RunModel>} models
   */
  setModels(models) {
    this.#models = models;
    this.view.hide([...this.view.hiddenIds], this.models());
    this.root.classList.toggle("lv-many", models.size > MANY_RUNS);
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.#loadTimer ??= setTimeout(() => this.#loadPlotly(), LOAD_PLOTLY_AFTER_MS);
  }

  /**
   * Draws what a message has changed.
   * @param {{ redrawAll: boolean, positions: boolean }} changes
   */
  handleChanges(changes) {
    if (!this.#hasNumbers) this.hooks.refresh();
    this.#hasNumbers = true;
    this.#loadPlotly();
    this.#mustReact ||= changes.redrawAll;
    this.#mustDrawPositions ||= changes.positions;
    this.#schedule();
  }

  close() {
    this.detailLoader.close();
    this.axisQueue.clear();
    removeEventListener("popstate", this.handlePopState);
    clearTimeout(this.#drawTimer ?? undefined);
    clearTimeout(this.#loadTimer);
    cancelAnimationFrame(this.#markFrame ?? 0);
    this.resizeObserver.disconnect();
    this.visibilityObserver.disconnect();
    if (this.#isReady) this.allCharts.forEach((chart) => Plotly.purge(chart.frame.plot));
    this.root.remove();
  }

  /**
   * @param {number} factor of the shown range; 0: show all
   * @param {number} [fraction] of the shown range, by which it moves
   */
  #zoomBy(factor, fraction) {
    this.onZoom(factor ? scaleRange(this.view.range(this.models()), factor, fraction) : null);
  }

  #refreshControls() {
    this.toolbar.refresh();
    this.zoomButtons.refresh(this.view.zoom !== null);
  }

  /** @param {Range | null} range */
  onZoom(range) {
    this.view.zoom = range;
    this.saveToUrl();
    this.#refreshControls();
    this.detailLoader.load(range);
    if (range) this.axisQueue.add(this.charts);
    else this.onStyle(); // draws the charts without the detail
    this.onMark(this.view.markedX);
  }

  /** Handles another choice of time window or time axis. */
  onView() {
    this.view.zoom = null;
    this.view.markedX = null;
    this.detailLoader.load(null);
    this.onStyle();
  }

  /** Handles another choice of how lines are drawn. */
  onStyle() {
    this.saveToUrl();
    this.#mustReact = this.#mustDrawPositions = true;
    this.#refreshControls();
    this.#schedule();
  }

  /** @param {string[]} runIds of all runs to hide */
  onHide(runIds) {
    this.view.hide(runIds, this.models());
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.detailLoader.load(this.view.zoom);
    this.onStyle();
  }

  /** Writes the user's choices into the URL, without a new history entry. */
  saveToUrl() {
    replaceSearch(this.path, searchOf(this.view, location.search));
  }

  /** Applies the choices of a history entry after Back or Forward. */
  #restoreFromUrl() {
    if (location.pathname !== this.path) return;
    readSearch(this.view, location.search);
    this.onHide([...this.view.hiddenIds]);
  }

  /** @param {number | null} markedX */
  onMark(markedX) {
    this.view.markedX = markedX;
    if (this.#markFrame !== null) return;
    this.#markFrame = requestAnimationFrame(() => {
      this.#markFrame = null;
      this.toolbar.refresh();
      this.charts.forEach((chart) => chart.refreshReadout());
      this.hooks.onMark(this.view.markedX);
    });
  }

  /** @param {IntersectionObserverEntry} entry */
  #handleVisibility({ target, isIntersecting }) {
    const chart = this.allCharts.find(({ frame }) => frame.plot === target);
    if (!chart) return;
    chart.isInView = isIntersecting;
    if (isIntersecting && this.#isReady) chart.react();
  }

  /** Loads plotly.js, after the next paint so that numbers which have arrived are shown first. */
  #loadPlotly() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    afterPaint()
      .then(() => loadPlotly(this.data.assets))
      .then(() => {
        this.#isReady = true;
        if (this.view.zoom) this.detailLoader.load(this.view.zoom); // from the URL
        this.#schedule();
      });
  }

  /** Schedules a drawing. The data of a page's runs arrive one after another; a short delay draws them all at once. */
  #schedule() {
    const minDelay = this.models().some(isAwaited) ? DRAW_EVERY_MS : 0;
    const delay = Math.max(minDelay, this.#lastDrawTime + DRAW_EVERY_MS - performance.now());
    this.#drawTimer ??= setTimeout(() => requestAnimationFrame(() => this.#draw()), delay);
  }

  #draw() {
    this.#drawTimer = null;
    this.#lastDrawTime = performance.now();
    this.hooks.refresh();
    if (!this.models().some((model) => model.meta)) return;
    if (this.#mustReact) this.#arrange();
    if (!this.#isReady) return;
    this.chartGrid.classList.remove("lv-waiting");
    if (this.#mustReact) this.charts.forEach((chart) => chart.react());
    else this.charts.forEach((chart) => chart.extend());
    if (this.#mustReact || this.#mustDrawPositions) this.positionCharts.forEach((chart) => chart.react());
    this.#mustReact = this.#mustDrawPositions = false;
  }

  /** Hides charts that cannot have any values, and tells which and why instead; hides all while every run is queued. */
  #arrange() {
    const areAllQueued = this.models().filter(isKnown).every((model) => model.meta.state === "queued");
    this.chartGrid.hidden = this.toolbar.root.hidden = this.absences.hidden = areAllQueued;
    this.zoomButtons.root.hidden = areAllQueued || !isTouchScreen();
    /** @type {Map<string, string[]>} */
    const titlesByReason = new Map();
    for (const chart of this.allCharts) {
      const reason = chart.absence();
      chart.frame.root.hidden = reason !== null;
      chart.isInView &&= reason === null; // the observer reports it only later
      if (reason !== null) titlesByReason.set(reason, [...(titlesByReason.get(reason) ?? []), chart.frame.title]);
    }
    this.#arrangeColumns();
    const texts = [...titlesByReason].map(([reason, titles]) => `${titles.join(", ")} (${reason})`);
    setText(this.absences, texts.length ? `Not available: ${texts.join("; ")}.` : "");
  }

  /** Shows the flags above the first time chart, and gives the last chart a full row if it would be alone in it. */
  #arrangeColumns() {
    const first = this.charts.find((chart) => !chart.frame.root.hidden);
    for (const chart of this.charts) chart.flags.root.hidden = chart !== first;
    const roots = this.allCharts.map(({ frame }) => frame.root);
    const narrow = roots.filter((root) => !root.hidden && !root.classList.contains("lv-wide"));
    const single = narrow.length % 2 ? narrow.at(-1) : undefined;
    if (single === this.#fullRowChart) return;
    this.#fullRowChart?.classList.remove("lv-alone");
    single?.classList.add("lv-alone");
    this.#fullRowChart = single;
    this.allCharts.forEach((chart) => chart.resize());
  }
}
