// Saves a chart as a file: PNG or SVG as it is drawn, with a title and a legend, or CSV with the samples in the shown
// time range.

/** @import { ChartSpec, Page } from "../../types/live_page.js" */
/** @import { Frame } from "./frame.js" */

import { element } from "./format.js";
import { isKnown } from "./model.js";

const FORMULA_START = /^[=+\-@\t\r]/; // a spreadsheet would execute such a cell
const [WIDTH_PX, HEIGHT_PX] = [1200, 500];
const MARGIN = { l: 60, r: 20, t: 50, b: 40 };

/** @typedef {{ title: string, name: string, frame: Frame, csv(): string }} Download `name`: of the file */

/**
 * The download menu in the header of a time chart.
 * @param {ChartSpec} spec
 * @param {Frame} frame
 * @param {Page} page
 */
export function createTimeChartMenu(spec, frame, page) {
  return createDownloadMenu({ title: spec.title, name: `pitwall-${spec.id}`, frame, csv: () => timeChartCsv(spec, page) });
}

/** @param {Download} download */
export function createDownloadMenu(download) {
  const menu = element("details", "lv-files");
  const summary = element("summary", "", "Save");
  summary.setAttribute("aria-label", `Save the chart ${download.title}`);
  const buttons = element("div", "lv-kinds"); // drawn over the chart, so that opening it moves nothing
  menu.append(summary, buttons);
  buttons.append(
    createMenuButton("PNG", menu, () => saveImage("png", download)),
    createMenuButton("SVG", menu, () => saveImage("svg", download)),
    createMenuButton("CSV", menu, () => saveText(`${download.name}.csv`, download.csv())),
  );
  return menu;
}

/**
 * @param {string} title
 * @param {HTMLDetailsElement} menu
 * @param {() => void} save
 */
function createMenuButton(title, menu, save) {
  const button = element("button", "", title);
  button.type = "button";
  button.onclick = () => {
    menu.open = false;
    save();
  };
  return button;
}

/**
 * @param {"png" | "svg"} format
 * @param {Download} download
 */
function saveImage(format, { title, name, frame }) {
  const { layout, data } = frame.plot;
  const background = getComputedStyle(frame.root.closest(".lv-live") ?? frame.root).backgroundColor;
  const seenNames = new Set();
  const isInLegend = (/** @type {Plotly.Trace} */ trace) =>
    trace.showlegend !== false && seenNames.size < seenNames.add(trace.name).size;
  const topFirst = [...(data ?? [])].reverse(); // the topmost trace of a name represents it in the legend
  const traces = topFirst.map((trace) => ({ ...trace, showlegend: isInLegend(trace) })).reverse();
  const text = [title, frame.unit.textContent ? `(${frame.unit.textContent})` : ""].filter(Boolean).join(" ");
  const titled = { title: { text, font: { size: 15 } }, showlegend: true, paper_bgcolor: background };
  const imageLayout = { ...layout, ...imageGeometry(layout ?? {}), ...titled };
  const { width, height } = imageLayout;
  frame.plotly().downloadImage({ data: traces, layout: imageLayout }, { format, filename: name, width, height });
}

/**
 * The size, margins and legend position of a saved image. Larger margins, which small multiples have for the labels
 * beside and below them, are kept; the legend goes below them.
 * @param {Partial<Plotly.Layout>} layout
 */
export function imageGeometry({ margin = {} }) {
  const [l, b] = [Math.max(MARGIN.l, margin.l ?? 0), Math.max(MARGIN.b, margin.b ?? 0)];
  const belowLabels = { y: -b / (HEIGHT_PX - MARGIN.t - MARGIN.b), yanchor: "top" };
  const legend = { orientation: "h", ...(b > MARGIN.b ? belowLabels : {}) };
  return { margin: { ...MARGIN, l, b }, legend, width: WIDTH_PX, height: HEIGHT_PX + b - MARGIN.b };
}

/**
 * A CSV file with a row for each drawn point: its value, the number of samples behind it, and their mean.
 * @param {ChartSpec} spec
 * @param {Page} page
 */
export function timeChartCsv(spec, page) {
  const { view } = page;
  const [start, end] = view.range(page.models());
  const rows = [["run_id", "name", "time", "since_ready_s", "series", "value", "excluded", "samples", "mean_of_samples"]];
  for (const model of view.visibleRuns(page.models()).filter(isKnown)) {
    for (const name of spec.lines) {
      const series = model.drawnSeries(name);
      series?.t.forEach((time, index) => {
        const x = view.toX(model, time);
        if (x < start || x > end) return;
        const sinceReady = (time - model.anchor).toFixed(3);
        const keys = [model.id, model.meta.name, new Date(time * 1000).toISOString(), sinceReady, name];
        const isExcluded = series.excluded[index] ? "1" : "0";
        const samples = String(series.count[index]);
        rows.push([...keys, numberText(series.v[index]), isExcluded, samples, numberText(series.mean[index])]);
      });
    }
  }
  return csvText(rows);
}

/** @param {number | null} value */
function numberText(value) {
  return value === null ? "" : String(value);
}

/** @param {string[][]} rows */
export function csvText(rows) {
  return rows.map((row) => row.map(escapeCell).join(",")).join("\r\n") + "\r\n";
}

/** @param {string} text */
function escapeCell(text) {
  const safe = FORMULA_START.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * @param {string} name
 * @param {string} text
 */
function saveText(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
