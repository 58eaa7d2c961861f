// Charts on one time axis and what a reader chooses about them: of Live, and of the pages that show runs which have ended.

/** @import { BoardData, BoardHooks, ChartSpec, KnownModel, Page, Range } from "../../types/live_page.js" */
/** @import { RunModel } from "./model.js" */

import { searchOf, replaceSearch, readSearch } from "./address.js";
import { TimeChart } from "./charts.js";
import { Closer } from "./closer.js";
import { element, setText } from "./format.js";
import { isKnown } from "./model.js";
import { Paced } from "./paced.js";
import { loadPlotly } from "./plotly.js";
import { PositionChart } from "./position_chart.js";
import { Theme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { View } from "./view.js";
import { ZoomButtons, isTouchScreen, scaleRange } from "./zoom_buttons.js";

const DRAW_MS = 200;
const LATE_MS = 300; // later than this, numbers leave the browser time to load the charts' library before them
export const MANY = 4; // runs: more stand closer together

function afterPaint() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** @implements {Page} */
export class Board {
  view = new View();
  #mustReact = true;
  #mustDrawPositions = true;
  #isReady = false; // plotly.js is there
  /** @type {Map<string, RunModel>} */
  #models = new Map();
  /** @type {Theme} */
  #theme;
  #drawnAt = 0;
  /** @type {number | null} */
  #drawing = null;
  /** @type {number | null} */
  #pointing = null;
  #isLoading = false;
  #hasNumbers = false;
  /** @type {number | undefined} */
  #late;
  /** @type {HTMLElement | undefined} */
  #alone; // the chart that has a whole row

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
    this.zooms = new ZoomButtons((factor) => this.#stretch(factor), (part) => this.#stretch(1, part));
    this.zooms.root.classList.add("lv-zoom-bar");
    this.absences = element("p", "lv-absences");
    this.#theme = new Theme(root, data.palette, data.colors);
    this.closer = new Closer(data.base, this, () => this.onStyle());
    this.charts = specs.map((spec) => new TimeChart(spec, this));
    this.positions = hooks.isLive ? [new PositionChart(this)] : [];
    this.moving = new Paced((/** @type {TimeChart} */ chart) => chart.moveAxis());
    this.allCharts = [...this.charts.slice(0, 2), ...this.positions, ...this.charts.slice(2)];
    this.chartGrid.append(...this.allCharts.map((chart) => chart.frame.root));
    this.seeing = new IntersectionObserver((entries) => entries.forEach((entry) => this.#see(entry)), { rootMargin: "200px" });
    this.allCharts.forEach((chart) => this.seeing.observe(chart.frame.plot));
    this.resizing = new ResizeObserver(() => this.allCharts.forEach((chart) => chart.resize()));
    this.resizing.observe(root);
    this.path = location.pathname;
    this.returning = () => this.#takeAddress();
    addEventListener("popstate", this.returning);
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
   * The run's name, without what all runs' names begin with.
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
   * Takes what the script says.
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
  watch(models) {
    this.#models = models;
    this.view.hide([...this.view.hidden], this.models());
    this.root.classList.toggle("lv-many", models.size > MANY);
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.#late ??= setTimeout(() => this.#loadCharts(), LATE_MS);
  }

  /**
   * Something came.
   * @param {{ whole: boolean, positions: boolean }} changes
   */
  take(changes) {
    if (!this.#hasNumbers) this.hooks.refresh();
    this.#hasNumbers = true;
    this.#loadCharts();
    this.#mustReact ||= changes.whole;
    this.#mustDrawPositions ||= changes.positions;
    this.#schedule();
  }

  close() {
    this.closer.close();
    this.moving.drop();
    removeEventListener("popstate", this.returning);
    clearTimeout(this.#drawing ?? undefined);
    clearTimeout(this.#late);
    cancelAnimationFrame(this.#pointing ?? 0);
    this.resizing.disconnect();
    this.seeing.disconnect();
    if (this.#isReady) this.allCharts.forEach((chart) => Plotly.purge(chart.frame.plot));
    this.root.remove();
  }

  /**
   * @param {number} factor of what is shown; 0: all
   * @param {number} [part] of what is shown, by which it moves
   */
  #stretch(factor, part) {
    this.onZoom(factor ? scaleRange(this.view.range(this.models()), factor, part) : null);
  }

  /** What shows what is chosen. */
  #refreshChoices() {
    this.toolbar.refresh();
    this.zooms.refresh(this.view.zoom !== null);
  }

  /** @param {Range | null} range */
  onZoom(range) {
    this.view.zoom = range;
    this.remember();
    this.#refreshChoices();
    this.closer.look(range);
    if (range) this.moving.ask(this.charts);
    else this.onStyle(); // without the details
    this.onMoment(this.view.moment);
  }

  /** The reader chose another window or another kind of time. */
  onView() {
    this.view.zoom = null;
    this.view.moment = null;
    this.closer.look(null);
    this.onStyle();
  }

  /** The reader chose how lines are drawn. */
  onStyle() {
    this.remember();
    this.#mustReact = this.#mustDrawPositions = true;
    this.#refreshChoices();
    this.#schedule();
  }

  /** @param {string[]} runIds which are not drawn */
  onHide(runIds) {
    this.view.hide(runIds, this.models());
    this.allCharts.forEach((chart) => chart.frame.readout.replaceChildren());
    this.closer.look(this.view.zoom);
    this.onStyle();
  }

  /** The address says what is chosen, without an entry of its own in the history. */
  remember() {
    replaceSearch(this.path, searchOf(this.view, location.search));
  }

  /** Back or Forward: the entry's own choice counts. */
  #takeAddress() {
    if (location.pathname !== this.path) return;
    readSearch(this.view, location.search);
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
      this.hooks.point(this.view.moment);
    });
  }

  /** @param {IntersectionObserverEntry} entry */
  #see({ target, isIntersecting }) {
    const chart = this.allCharts.find((one) => one.frame.plot === target);
    if (!chart) return;
    chart.isInSight = isIntersecting;
    if (isIntersecting && this.#isReady) chart.react();
  }

  /** Numbers that come soon are on the page before the charts' library is requested. */
  #loadCharts() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    afterPaint()
      .then(() => loadPlotly(this.data.assets))
      .then(() => {
        this.#isReady = true;
        if (this.view.zoom) this.closer.look(this.view.zoom); // an address says so
        this.#schedule();
      });
  }

  /** The runs of a page come one by one, within moments: their charts are drawn once for all of them. */
  #schedule() {
    const isPartial = [...this.#models.values()].some((model) => !isKnown(model) && model.goneReason === null && model.awayReason === null);
    const pause = Math.max(isPartial ? DRAW_MS : 0, this.#drawnAt + DRAW_MS - performance.now());
    this.#drawing ??= setTimeout(() => requestAnimationFrame(() => this.#draw()), pause);
  }

  #draw() {
    this.#drawing = null;
    this.#drawnAt = performance.now();
    this.hooks.refresh();
    if (!this.models().some((model) => model.meta)) return;
    if (this.#mustReact) this.#arrange();
    if (!this.#isReady) return;
    this.chartGrid.classList.remove("lv-waiting");
    if (this.#mustReact) this.charts.forEach((chart) => chart.react());
    else this.charts.forEach((chart) => chart.extend());
    if (this.#mustReact || this.#mustDrawPositions) this.positions.forEach((chart) => chart.react());
    this.#mustReact = this.#mustDrawPositions = false;
  }

  /** Takes charts that can have nothing off the page, and says which and why instead; all if every run still waits. */
  #arrange() {
    const isWaiting = this.models().filter(isKnown).every((model) => model.meta.state === "queued");
    this.chartGrid.hidden = this.toolbar.root.hidden = this.absences.hidden = isWaiting;
    this.zooms.root.hidden = isWaiting || !isTouchScreen();
    /** @type {Map<string, string[]>} */
    const missing = new Map(); // what one reason keeps off the page stands together
    for (const chart of this.allCharts) {
      const reason = chart.absence();
      chart.frame.root.hidden = reason !== null;
      chart.isInSight &&= reason === null; // the observer tells it only later
      if (reason !== null) missing.set(reason, [...(missing.get(reason) ?? []), chart.frame.title]);
    }
    this.#fillColumns();
    const told = [...missing].map(([reason, titles]) => `${titles.join(", ")} (${reason})`);
    setText(this.absences, told.length ? `Not available: ${told.join("; ")}.` : "");
  }

  /** The first chart over time has the flags, and the last one the whole row where it would stand there alone. */
  #fillColumns() {
    const first = this.charts.find((chart) => !chart.frame.root.hidden);
    for (const chart of this.charts) chart.flags.root.hidden = chart !== first;
    const narrow = this.allCharts.map(({ frame }) => frame.root).filter((root) => !root.hidden && !root.classList.contains("lv-wide"));
    const alone = narrow.length % 2 ? narrow.at(-1) : undefined;
    if (alone === this.#alone) return;
    this.#alone?.classList.remove("lv-alone");
    alone?.classList.add("lv-alone");
    this.#alone = alone;
    this.allCharts.forEach((chart) => chart.resize());
  }
}
