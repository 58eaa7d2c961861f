// Draws a still chart, one that shows a figure from the page's Python script and does not update by itself, in the
// colour scheme of Streamlit's theme; mounted by web/charts.py.

/** @import { StillData } from "../../types/still_chart.js" */
/** @typedef {ComponentArgs<StillData> & ValueSetters<object, { pressed: string[] }>} Component */

import { replaceSearch } from "../live/address.js";
import { createDownloadMenu } from "../live/chart_files.js";
import { element, setText } from "../live/format.js";
import { CONFIG, Frame, resizePlot } from "../live/frame.js";
import { loadPlotly } from "../live/plotly.js";
import { Theme } from "../live/theme.js";
import { ZoomButtons, isTouchScreen, scaleRange } from "../live/zoom_buttons.js";
import { figureCsv, fitToWidth, inScheme, keyboardStops } from "./figure.js";
import { canBeLog, isLogIn, searchWithScale, withLogAxes } from "./scale.js";
import { changesRange, relayoutFor, searchWithZoom, zoomIn, zoomOf } from "./zoom.js";

/** @type {Record<string, number | undefined>} */
const DIRECTIONS = { ArrowLeft: -1, ArrowRight: 1 };

/** @type {WeakMap<HTMLElement, StillChart>} */
const charts = new WeakMap(); // by parent element: a rerun of the script updates the chart it created

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
  #stopIndex = -1; // of the point that the keyboard has reached; -1: none
  #drawnJson = "";
  #name = ""; // of the drawn chart, in the URL
  /** @type {StillData["figure"]["layout"] | null} */
  #initialLayout = null; // before any zoom

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
    plot.addEventListener("keydown", (event) => this.#handleKey(event));
    plot.addEventListener("blur", () => this.#moveTo(-1));
    this.download = { title: "", name: "", frame: this.frame, csv: () => figureCsv(this.component.data.figure) };
    this.logButton = element("button", "lv-pick", "Log");
    const onclick = () => this.#toggleScale();
    Object.assign(this.logButton, { type: "button", hidden: true, title: "Logarithmic y axis", onclick });
    head.append(this.logButton, new ZoomButtons((factor) => this.#zoom(factor)).root, createDownloadMenu(this.download));
    this.root.append(root);
    component.parentElement.append(this.root);
    this.resizeObserver = new ResizeObserver(() => this.#plotly && resizePlot(this.#plotly, plot));
    this.resizeObserver.observe(this.root);
    this.path = location.pathname;
    this.handlePopState = () => this.#restoreFromUrl();
    addEventListener("popstate", this.handlePopState);
  }

  /**
   * Shows the script's new data; the page's colour scheme may have changed as well.
   * @param {Component} component
   */
  async update(component) {
    this.component = component;
    const { data } = component;
    const { root, head, plot } = this.frame;
    Object.assign(this.download, { title: data.title, name: data.file });
    setText(/** @type {HTMLElement} */ (head.querySelector("h3")), data.title);
    head.querySelector("summary")?.setAttribute("aria-label", `Save the chart ${data.title}`);
    const keyHelp = data.opens ? ". The left and right arrow keys move between points, Enter opens one." : "";
    plot.setAttribute("aria-label", data.about + keyHelp);
    plot.style.cursor = data.opens ? "pointer" : "";
    const body = /** @type {HTMLElement} */ (root.querySelector(".lv-plot-body"));
    body.style.height = `${data.figure.layout.height}px`;
    this.#plotly ??= await loadPlotly(data.assets, data.bundle);
    if (this.component === component && this.root.isConnected) this.#draw(this.#plotly, data);
  }

  close() {
    removeEventListener("popstate", this.handlePopState);
    this.resizeObserver.disconnect();
    this.#plotly?.purge(this.frame.plot);
    this.root.remove();
  }

  /**
   * @param {typeof Plotly} plotly
   * @param {StillData} data
   */
  #draw(plotly, data) {
    const theme = new Theme(this.root, data.palette, {});
    const figure = inScheme(data.figure, data.palette, theme.scheme);
    const { data: traces, layout: linearLayout } = fitToWidth(figure, this.root.clientWidth);
    this.logButton.hidden = !canBeLog(data.figure);
    const isLog = !this.logButton.hidden && isLogIn(location.search, data.name);
    this.logButton.setAttribute("aria-pressed", String(isLog));
    const layout = isLog ? withLogAxes(linearLayout) : linearLayout;
    const json = JSON.stringify([traces, layout]);
    if (json === this.#drawnJson) return;
    const isFirst = !this.#drawnJson;
    this.#drawnJson = json;
    this.#initialLayout = structuredClone(layout); // Plotly changes the layout that it is given
    const font = { .../** @type {object} */ (layout.font), family: theme.font };
    const plotlyTraces = /** @type {Plotly.Trace[]} */ (/** @type {unknown} */ (traces));
    const plotlyLayout = { ...layout, font, dragmode: isTouchScreen() ? false : "zoom" };
    plotly.react(this.frame.plot, plotlyTraces, plotlyLayout, { ...CONFIG, doubleClick: "reset" });
    if (isFirst) this.#listenToPlotly();
    if (this.#name !== data.name) this.#removeFromUrl(this.#name); // the user chose other axes
    this.#name = data.name;
    this.#applyUrlZoom();
  }

  /** @param {string} name of a chart that is no longer drawn */
  #removeFromUrl(name) {
    replaceSearch(this.path, searchWithScale(searchWithZoom(location.search, name, null), name, false));
  }

  /** Switches the y axes to the other scale and resets their zoom, which is meaningless on it. */
  #toggleScale() {
    const { name } = this.component.data;
    const zoom = { ...zoomIn(location.search, name), yaxis: null };
    const search = searchWithZoom(location.search, name, zoom);
    replaceSearch(this.path, searchWithScale(search, name, !isLogIn(location.search, name)));
    if (this.#plotly) this.#draw(this.#plotly, this.component.data);
  }

  #listenToPlotly() {
    const { plot } = this.frame;
    plot.on("plotly_click", ({ points }) => this.#press(points.flatMap(({ customdata }) => customdata ?? [])));
    plot.on("plotly_relayout", (change) => changesRange(change) && this.#saveZoom());
  }

  /** Writes the zoom into the URL. */
  #saveZoom() {
    if (!this.frame.plot._fullLayout || !this.#initialLayout) return;
    const zoom = zoomOf(this.frame.plot._fullLayout, this.#initialLayout);
    replaceSearch(this.path, searchWithZoom(location.search, this.#name, zoom));
  }

  /** Shows the scale and the zoom of the URL after Back and Forward. */
  #restoreFromUrl() {
    if (location.pathname === this.path && this.#plotly) this.#draw(this.#plotly, this.component.data);
    this.#applyUrlZoom();
  }

  #applyUrlZoom() {
    const { plot } = this.frame;
    if (location.pathname !== this.path || !plot._fullLayout || !this.#plotly || !this.#initialLayout) return;
    const zoom = zoomIn(location.search, this.#name);
    const shownZoom = zoomOf(plot._fullLayout, this.#initialLayout);
    const isShown = searchWithZoom("", "", zoom) === searchWithZoom("", "", shownZoom);
    if (!isShown) this.#plotly.relayout(plot, relayoutFor(zoom, this.#initialLayout));
  }

  /** @param {unknown[]} targets the custom data of the pressed point or cell */
  #press(targets) {
    if (!this.component.data.opens || !targets.length) return;
    this.component.setTriggerValue("pressed", [...new Set(targets.map(String))]);
  }

  /** @param {KeyboardEvent} event */
  #handleKey(event) {
    const stops = keyboardStops(this.component.data.figure);
    const direction = DIRECTIONS[event.key];
    if (direction) this.#moveTo(Math.min(stops.length - 1, Math.max(0, this.#stopIndex + direction)));
    else if (event.key === "Escape") this.#moveTo(-1);
    else if (event.key === "Enter" && this.#stopIndex >= 0) this.#press(stops[this.#stopIndex].targets);
    else return;
    event.preventDefault();
  }

  /** @param {number} index of a keyboard stop; -1: none */
  #moveTo(index) {
    this.#stopIndex = index;
    setText(this.frame.readout, keyboardStops(this.component.data.figure)[index]?.text ?? "");
  }

  /** @param {number} factor of the shown ranges; 0: reset the zoom */
  #zoom(factor) {
    const axes = this.frame.plot._fullLayout;
    if (!axes || !this.#plotly) return;
    const change = { ...zoomChange("xaxis", axes.xaxis, factor), ...zoomChange("yaxis", axes.yaxis, factor) };
    this.#plotly.relayout(this.frame.plot, change);
  }
}

/**
 * The argument for Plotly's relayout that zooms an axis.
 * @param {string} name
 * @param {Plotly.DrawnAxis} axis
 * @param {number} factor of the shown range; 0: reset the zoom
 */
function zoomChange(name, axis, factor) {
  if (!factor) return { [`${name}.autorange`]: true };
  const [start, end] = scaleRange([axis.r2l(axis.range[0]), axis.r2l(axis.range[1])], factor);
  return { [`${name}.range`]: [axis.l2r(start), axis.l2r(end)] };
}
