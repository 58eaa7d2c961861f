// A chart that stands still: drawn as the script says, on the ground that Streamlit shows; mounted by web/charts.py.

/** @import { StillData } from "../../types/still_chart.js" */
/** @typedef {ComponentArgs<StillData> & SentBack<object, { pressed: string[] }>} Component */

import { keepSearch } from "../live/address.js";
import { menuOf } from "../live/chart_files.js";
import { element, setText } from "../live/format.js";
import { CONFIG, Frame, fit } from "../live/frame.js";
import { loadPlotly } from "../live/plotly.js";
import { Theme } from "../live/theme.js";
import { ZoomButtons, isCoarse, stretched } from "../live/zoom_buttons.js";
import { figureCsv, onGround, stations, within } from "./figure.js";
import { canBeLog, isLogIn, onLog, searchOnScale } from "./scale.js";
import { changesFor, isOfAxes, searchWith, zoomIn, zoomOf } from "./zoom.js";

/** @type {Record<string, number | undefined>} */
const DIRECTIONS = { ArrowLeft: -1, ArrowRight: 1 };

/** @type {WeakMap<HTMLElement, StillChart>} */
const charts = new WeakMap(); // by parent element: a rerun of the script meets the chart it made

/** @param {Component} component */
export function mount(component) {
  const { parentElement } = component;
  const chart = charts.get(parentElement) ?? new StillChart(component);
  charts.set(parentElement, chart);
  chart.update(component);
  return () => {
    chart.close();
    charts.delete(parentElement);
  };
}

export class StillChart {
  /** @type {typeof Plotly | null} */
  #plotly = null;
  #station = -1; // the point that the keyboard has come to
  #drawn = "";
  #name = ""; // of what is drawn, in the address
  /** @type {StillData["figure"]["layout"] | null} */
  #layout = null; // as it was drawn, before a zoom

  /** @param {Component} component */
  constructor(component) {
    this.component = component;
    this.root = element("div", "lv-live lv-still");
    this.frame = new Frame("", "", "");
    this.frame.plotly = () => this.#plotly ?? Plotly;
    this.frame.readout.setAttribute("role", "status");
    const { plot, head, root } = this.frame;
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.addEventListener("keydown", (event) => this.#takeKey(event));
    plot.addEventListener("blur", () => this.#walkTo(-1));
    this.saved = { title: "", name: "", frame: this.frame, csv: () => figureCsv(this.component.data.figure) };
    this.log = element("button", "lv-pick", "Log");
    Object.assign(this.log, { type: "button", hidden: true, title: "Logarithmic y axis", onclick: () => this.#changeScale() });
    head.append(this.log, new ZoomButtons((factor) => this.#zoom(factor)).root, menuOf(this.saved));
    this.root.append(root);
    component.parentElement.append(this.root);
    this.resizing = new ResizeObserver(() => this.#plotly && fit(this.#plotly, plot));
    this.resizing.observe(this.root);
    this.path = location.pathname;
    this.returning = () => this.#return();
    addEventListener("popstate", this.returning);
  }

  /**
   * Takes what the script says; the page's ground may be another too.
   * @param {Component} component
   */
  async update(component) {
    this.component = component;
    const { data } = component;
    const { root, head, plot } = this.frame;
    Object.assign(this.saved, { title: data.title, name: data.file });
    setText(/** @type {HTMLElement} */ (head.querySelector("h3")), data.title);
    head.querySelector("summary")?.setAttribute("aria-label", `Save the chart ${data.title}`);
    plot.setAttribute("aria-label", data.about + (data.opens ? ". The left and right arrow keys move between points, Enter opens one." : ""));
    plot.style.cursor = data.opens ? "pointer" : "";
    const body = /** @type {HTMLElement} */ (root.querySelector(".lv-plot-body"));
    body.style.height = `${data.figure.layout.height}px`;
    this.#plotly ??= await loadPlotly(data.assets, data.bundle);
    if (this.component === component && this.root.isConnected) this.#draw(this.#plotly, data);
  }

  close() {
    removeEventListener("popstate", this.returning);
    this.resizing.disconnect();
    this.#plotly?.purge(this.frame.plot);
    this.root.remove();
  }

  /**
   * @param {typeof Plotly} plotly
   * @param {StillData} data
   */
  #draw(plotly, data) {
    const theme = new Theme(this.root, data.palette, {});
    const { data: traces, layout: linear } = within(onGround(data.figure, data.palette, theme.ground), this.root.clientWidth);
    this.log.hidden = !canBeLog(data.figure);
    const isLog = !this.log.hidden && isLogIn(location.search, data.name);
    this.log.setAttribute("aria-pressed", String(isLog));
    const layout = isLog ? onLog(linear) : linear;
    const told = JSON.stringify([traces, layout]);
    if (told === this.#drawn) return;
    const isFirst = !this.#drawn;
    this.#drawn = told;
    this.#layout = structuredClone(layout); // Plotly writes into what it draws
    const font = { .../** @type {object} */ (layout.font), family: theme.font };
    const drawn = /** @type {Plotly.Trace[]} */ (/** @type {unknown} */ (traces));
    plotly.react(this.frame.plot, drawn, { ...layout, font, dragmode: isCoarse() ? false : "zoom" }, { ...CONFIG, doubleClick: "reset" });
    if (isFirst) this.#listen();
    if (this.#name !== data.name) this.#forget(this.#name); // other axes were chosen
    this.#name = data.name;
    this.#takeAddress();
  }

  /** @param {string} name of a chart that is no longer drawn */
  #forget(name) {
    keepSearch(this.path, searchOnScale(searchWith(location.search, name, null), name, false));
  }

  /** To the other scale, of which a zoom of the height says nothing. */
  #changeScale() {
    const { name } = this.component.data;
    const zoom = { ...zoomIn(location.search, name), yaxis: null };
    keepSearch(this.path, searchOnScale(searchWith(location.search, name, zoom), name, !isLogIn(location.search, name)));
    if (this.#plotly) this.#draw(this.#plotly, this.component.data);
  }

  #listen() {
    const { plot } = this.frame;
    plot.on("plotly_click", ({ points }) => this.#press(points.flatMap(({ customdata }) => customdata ?? [])));
    plot.on("plotly_relayout", (change) => isOfAxes(change) && this.#remember());
  }

  /** The address says what is zoomed into. */
  #remember() {
    if (!this.frame.plot._fullLayout || !this.#layout) return;
    const zoom = zoomOf(this.frame.plot._fullLayout, this.#layout);
    keepSearch(this.path, searchWith(location.search, this.#name, zoom));
  }

  /** After Back and Forward. */
  #return() {
    if (location.pathname === this.path && this.#plotly) this.#draw(this.#plotly, this.component.data);
    this.#takeAddress();
  }

  /** What the address says counts. */
  #takeAddress() {
    const { plot } = this.frame;
    if (location.pathname !== this.path || !plot._fullLayout || !this.#plotly || !this.#layout) return;
    const layout = this.#layout;
    const wanted = zoomIn(location.search, this.#name);
    const isShown = searchWith("", "", wanted) === searchWith("", "", zoomOf(plot._fullLayout, layout));
    if (!isShown) this.#plotly.relayout(plot, changesFor(wanted, layout));
  }

  /** @param {unknown[]} says what the point or cell says of itself */
  #press(says) {
    if (this.component.data.opens && says.length) this.component.setTriggerValue("pressed", [...new Set(says.map(String))]);
  }

  /** @param {KeyboardEvent} event */
  #takeKey(event) {
    const points = stations(this.component.data.figure);
    const direction = DIRECTIONS[event.key];
    if (direction) this.#walkTo(Math.min(points.length - 1, Math.max(0, this.#station + direction)));
    else if (event.key === "Escape") this.#walkTo(-1);
    else if (event.key === "Enter" && this.#station >= 0) this.#press(points[this.#station].says);
    else return;
    event.preventDefault();
  }

  /** @param {number} place -1: nowhere */
  #walkTo(place) {
    this.#station = place;
    setText(this.frame.readout, stations(this.component.data.figure)[place]?.words ?? "");
  }

  /** @param {number} factor of what is shown; 0: all */
  #zoom(factor) {
    const axes = this.frame.plot._fullLayout;
    if (!axes || !this.#plotly) return;
    const change = { ...zoomed("xaxis", axes.xaxis, factor), ...zoomed("yaxis", axes.yaxis, factor) };
    this.#plotly.relayout(this.frame.plot, change);
  }
}

/**
 * @param {string} name
 * @param {Plotly.DrawnAxis} axis
 * @param {number} factor of what is shown; 0: all
 */
function zoomed(name, axis, factor) {
  if (!factor) return { [`${name}.autorange`]: true };
  const [from, to] = stretched([axis.r2l(axis.range[0]), axis.r2l(axis.range[1])], factor);
  return { [`${name}.range`]: [axis.l2r(from), axis.l2r(to)] };
}
