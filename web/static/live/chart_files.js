// A chart as a file: PNG and SVG as it is drawn, with title and legend; CSV with the samples of the stretch shown.

/** @import { ChartSpec, Page } from "../../types/live_page.js" */
/** @import { Frame } from "./frame.js" */

import { element } from "./format.js";
import { isKnown } from "./model.js";

const FORMULA = /^[=+\-@\t\r]/; // a spreadsheet would run a cell that begins so
const [WIDTH, HEIGHT] = [1200, 500];
const MARGIN = { l: 60, r: 20, t: 50, b: 40 };

/** @typedef {{ title: string, name: string, frame: Frame, csv(): string }} Saved what a menu saves, and as which file */

/**
 * The menu that stands in the head of a chart over time.
 * @param {ChartSpec} spec
 * @param {Frame} frame
 * @param {Page} page
 */
export function fileMenu(spec, frame, page) {
  return menuOf({ title: spec.title, name: `pitwall-${spec.id}`, frame, csv: () => csvOf(spec, page) });
}

/** @param {Saved} saved */
export function menuOf(saved) {
  const menu = element("details", "lv-files");
  const summary = element("summary", "", "Save");
  summary.setAttribute("aria-label", `Save the chart ${saved.title}`);
  const kinds = element("div", "lv-kinds"); // over the chart: opened, it moves nothing
  menu.append(summary, kinds);
  kinds.append(
    choice("PNG", menu, () => saveImage("png", saved)),
    choice("SVG", menu, () => saveImage("svg", saved)),
    choice("CSV", menu, () => saveText(`${saved.name}.csv`, saved.csv())),
  );
  return menu;
}

/**
 * @param {string} title
 * @param {HTMLDetailsElement} menu
 * @param {() => void} save
 */
function choice(title, menu, save) {
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
 * @param {Saved} saved
 */
function saveImage(format, { title, name, frame }) {
  const { layout, data } = frame.plot;
  const ground = getComputedStyle(frame.root.closest(".lv-live") ?? frame.root).backgroundColor;
  const seen = new Set();
  const isKey = (/** @type {Plotly.Trace} */ trace) => trace.showlegend !== false && seen.size < seen.add(trace.name).size;
  const traces = [...(data ?? [])].reverse().map((trace) => ({ ...trace, showlegend: isKey(trace) })).reverse();
  const words = [title, frame.unit.textContent ? `(${frame.unit.textContent})` : ""].filter(Boolean).join(" ");
  const whole = { ...layout, ...placed(layout ?? {}), title: { text: words, font: { size: 15 } }, showlegend: true, paper_bgcolor: ground };
  const { width, height } = whole;
  frame.plotly().downloadImage({ data: traces, layout: whole }, { format, filename: name, width, height });
}

/**
 * The size of a saved picture, and what stands around its chart. Small charts have made room for the texts beside and
 * below them, which is kept; the legend comes after it.
 * @param {Partial<Plotly.Layout>} layout
 */
export function placed({ margin = {} }) {
  const [l, b] = [Math.max(MARGIN.l, margin.l ?? 0), Math.max(MARGIN.b, margin.b ?? 0)];
  const legend = b > MARGIN.b ? { orientation: "h", y: -b / (HEIGHT - MARGIN.t - MARGIN.b), yanchor: "top" } : { orientation: "h" };
  return { margin: { ...MARGIN, l, b }, legend, width: WIDTH, height: HEIGHT + b - MARGIN.b };
}

/**
 * One row a point that is drawn: a sample as it was measured, with how many it stands for and their mean.
 * @param {ChartSpec} spec
 * @param {Page} page
 */
export function csvOf(spec, page) {
  const { view } = page;
  const [from, to] = view.range(page.models());
  const rows = [["run_id", "name", "time", "since_ready_s", "series", "value", "excluded", "samples", "mean_of_samples"]];
  for (const model of view.shown(page.models()).filter(isKnown)) {
    for (const series of spec.lines) {
      const one = model.drawn(series);
      one?.t.forEach((time, index) => {
        const x = view.toX(model, time);
        if (x < from || x > to) return;
        const place = [model.id, model.meta.name, new Date(time * 1000).toISOString(), (time - model.anchor).toFixed(3), series];
        const marked = one.excluded[index] ? "1" : "0";
        rows.push([...place, textOf(one.v[index]), marked, String(one.count[index]), textOf(one.mean[index])]);
      });
    }
  }
  return csvText(rows);
}

/** @param {number | null} value */
function textOf(value) {
  return value === null ? "" : String(value);
}

/** @param {string[][]} rows */
export function csvText(rows) {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** @param {string} text */
function cell(text) {
  const safe = FORMULA.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
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
