import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { CHARTS, TimeChart } from "../../web/static/live/charts.js";
import { resizePlot } from "../../web/static/live/frame.js";
import { DASH } from "../../web/static/live/format.js";
import { RunModel } from "../../web/static/live/model.js";
import { PositionChart, positionsCsv } from "../../web/static/live/position_chart.js";
import { View } from "../../web/static/live/view.js";
import { ZoomButtons, scaleRange } from "../../web/static/live/zoom_buttons.js";
import { part, series, snapshot } from "./messages.js";
import { PlotlyStandIn, openPage } from "./page_stand_in.js";

const THEME = { font: "Inter", muted: "#666", grid: "#ddd", excluded: "#aaa", color: (model) => `color of ${model.id}`, dash: () => "solid" };

beforeEach(() => {
  openPage();
  globalThis.Plotly = new PlotlyStandIn();
});

function pageOf(...models) {
  const page = { view: new View(), models: () => models, label: ({ meta }) => meta.name, theme: () => THEME, onZoom: () => undefined, onView: () => undefined };
  return Object.assign(page, { onMark: (x) => (page.view.markedX = x) });
}

function modelOf(id, fields, meta = {}) {
  const model = new RunModel(id);
  model.apply(snapshot(fields, { name: id, ...meta }));
  return model;
}

/** The chart of a page with this id. */
function chartOf(id, page, isInView = true) {
  const chart = new TimeChart(CHARTS.find((spec) => spec.id === id), page);
  chart.isInView = isInView;
  return chart;
}

const points = (chart) => chart.frame.plot.data.map(({ x, y }) => x.map((value, index) => [value, y[index]]));
const POWER = series("gpu_power_w", [1001, 1002], [300, 310]);
const MORE_POWER = { series: series("gpu_power_w", [1003], [320]) };

test("a chart that becomes visible between two updates draws each point once", () => {
  const model = modelOf("a", { series: POWER });
  const chart = chartOf("power", pageOf(model));
  chart.react();
  chart.isInView = false;
  model.apply(part("delta", 5, MORE_POWER));
  chart.isInView = true;
  chart.react(); // because it became visible
  chart.extend(); // the update that was already scheduled
  assert.deepEqual(points(chart), [[[1, 300], [2, 310], [3, 320]]]);
});

test("an invisible chart draws nothing, and the update after it became visible does not extend an outdated chart", () => {
  const model = modelOf("a", { series: POWER });
  const chart = chartOf("power", pageOf(model), false);
  chart.react();
  chart.extend();
  chart.moveAxes();
  assert.deepEqual(Plotly.calls, []);
  chart.isInView = true;
  chart.extend();
  assert.deepEqual(Plotly.calls, [], "the whole chart is drawn first");
  chart.react();
  assert.deepEqual(points(chart), [[[1, 300], [2, 310]]]);
});

test("points that arrive while a chart is off the screen are drawn when it becomes visible again", () => {
  const model = modelOf("a", { series: POWER });
  const chart = chartOf("power", pageOf(model));
  chart.react();
  chart.isInView = false;
  model.apply(part("delta", 5, MORE_POWER));
  chart.extend();
  assert.deepEqual(Plotly.calls, ["react"]);
  chart.isInView = true;
  chart.react();
  assert.deepEqual(points(chart), [[[1, 300], [2, 310], [3, 320]]]);
});

test("each update adds the new points of each run; without new points nothing is drawn", () => {
  const models = ["a", "b"].map((id) => modelOf(id, { series: POWER }));
  const chart = chartOf("power", pageOf(...models));
  chart.react();
  models[1].apply(part("delta", 5, MORE_POWER));
  chart.extend();
  chart.extend();
  assert.deepEqual(points(chart).map((line) => line.length), [2, 3]);
  assert.deepEqual(Plotly.calls, ["react", "extendTraces"]);
});

test("moving an axis passes only the changed settings to Plotly, which would recompute every point for a whole axis", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002, 1030, 1031], [300, 200, 900, 900]) }));
  const chart = chartOf("power", page);
  page.view.zoom = [1, 41];
  chart.react();
  for (const zoom of [[2, 42], [2, 42], [2, 22]]) {
    page.view.zoom = zoom;
    chart.moveAxes();
  }
  assert.deepEqual(Plotly.changes, [["xaxis.range"], ["xaxis.range", "xaxis.tickvals", "xaxis.ticktext", "yaxis.range"]]);
});

test("a gap that is too short for this resolution does not break a line; a longer gap or an unknown value does", () => {
  const values = series("decode_tps", [1001, 1002, 1003, 1004, 1005, 1006, 1007], [100, 10, null, 101, 11, 102, null], [0, 2, 2, 0, 1, 0, 0]);
  const chart = chartOf("decode", pageOf(modelOf("a", { series: values })));
  chart.react();
  assert.deepEqual(points(chart), [
    [[1, 100], [2, 10], [4, 101], [5, 11], [6, 102], [7, null]],
    [[1, 100], [4, 101], [5, null], [6, 102], [6.5, 102], [7, null]],
  ]);
});

test("a gap is drawn as a gap, and a zero as a zero", () => {
  const model = modelOf("a", { series: series("gpu_power_w", [1001, 1002, 1003], [300, null, 0]) });
  const chart = chartOf("power", pageOf(model));
  chart.react();
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1004, 1005], [null, 310]) }));
  chart.extend();
  assert.deepEqual(points(chart), [[[1, 300], [1.5, 300], [2, null], [3, 0], [3.5, 0], [4, null], [5, 310]]]);
});

test("a single value between two gaps is a dash to the next point, or to the previous one at the end of an ended run", () => {
  const given = { series: series("gpu_power_w", [1001, 1002, 1003, 1004], [null, 310, null, 320]) };
  const lines = [{}, { state: "finished" }].map((meta) => {
    const chart = chartOf("power", pageOf(modelOf("a", given, meta)));
    chart.react();
    return points(chart)[0];
  });
  assert.deepEqual(lines[0], [[1, null], [2, 310], [2.5, 310], [3, null], [4, 320]]);
  assert.deepEqual(lines[1], [[1, null], [2, 310], [2.5, 310], [3, null], [3.5, 320], [4, 320]]);
});

test("excluded values are grey below the run's main line, which has a gap there", () => {
  const model = modelOf("a", { series: series("decode_tps", [1001, 1002], [100, 10], [0, 1]) });
  const chart = chartOf("decode", pageOf(model));
  chart.react();
  model.apply(part("delta", 5, { series: series("decode_tps", [1003, 1004], [11, 101], [1, 0]) }));
  chart.extend();
  assert.deepEqual(points(chart), [[[1, 100], [2, 10], [3, 11], [4, 101]], [[1, 100], [1.5, 100], [2, null], [3, null], [4, 101]]]);
  assert.deepEqual(chart.frame.plot.data.map((trace) => trace.line.color), ["#aaa", "color of a"]);
});

test("the only value of an ended run is a point, since a line of one point is invisible", () => {
  const power = (values, meta) => chartOf("power", pageOf(modelOf("a", { series: series("gpu_power_w", values.map((_, n) => 1001 + n), values) }, meta)));
  const modes = [[[300], { state: "finished" }], [[300, 310], { state: "finished" }], [[300], {}]].map(([values, meta]) => {
    const chart = power(values, meta);
    chart.react();
    return chart.frame.plot.data.map(({ mode, marker }) => [mode, marker?.color]);
  });
  assert.deepEqual(modes, [[["markers", "color of a"]], [["lines", undefined]], [["lines", undefined]]]);
});

test("the second line of a chart is dotted, and an ended run is dashed if there is a live one", () => {
  const given = { series: { ...series("requests_running", [1001], [1]), ...series("requests_waiting", [1001], [2]) } };
  const chart = chartOf("requests", pageOf(modelOf("a", given), modelOf("b", given, { state: "finished" })));
  chart.react();
  assert.deepEqual(chart.frame.plot.data.map((trace) => trace.line.dash), ["solid", "dot", "dash", "dot"]);
  assert.deepEqual(chart.frame.plot.data.map((trace) => trace.opacity), [1, 1, 0.6, 0.6]);
});

test("lines and readout have the chart's unit", () => {
  const given = { ...series("kv_usage_ratio", [1001], [0.032]), ...series("server_rss_bytes", [1001], [3 * 2 ** 30]), ...series("requests_running", [1001], [1]) };
  const page = pageOf(modelOf("a", { series: given }));
  const shown = ["kv", "memory", "requests"].map((id) => {
    const chart = chartOf(id, page);
    chart.react();
    return [chart.frame.plot.data[0].y[0], chart.frame.readout.textContent, chart.frame.root.querySelector(".lv-unit").textContent];
  });
  assert.deepEqual(shown, [[3.2, "3.20", "%"], [3, "3.00", "GiB; dotted: whole host"], [1, "1", "dotted: waiting"]]);
});

test("the readout has the names with the latest values, or those at the marked time; an ended run has only the latter", () => {
  const given = { series: series("gpu_power_w", [1001, 1002], [300, 310]) };
  const page = pageOf(modelOf("a", given), modelOf("b", given, { state: "finished" }));
  const chart = chartOf("power", page);
  const readouts = [null, 1.5, -1].map((markedX) => {
    page.onMark(markedX);
    chart.react();
    return [...chart.frame.readout.children].map((node) => node.textContent);
  });
  assert.deepEqual(readouts, [["a 310", ""], ["a 300", "b 300"], [`a ${DASH}`, `b ${DASH}`]]);
});

test("an empty chart says whether it will stay empty or is only empty so far", () => {
  const withoutGpu = { absent: { gpu_power_w: "no NVIDIA driver" } };
  const waiting = modelOf("b", {});
  const reasons = [[modelOf("a", {}, withoutGpu)], [modelOf("a", {}, withoutGpu), waiting], [waiting], [modelOf("c", {}, { state: "finished" })]].map((models) => {
    const chart = chartOf("power", pageOf(...models));
    chart.react();
    return [chart.absence(), chart.frame.empty.hidden ? null : chart.frame.empty.textContent];
  });
  assert.deepEqual(reasons, [
    ["no NVIDIA driver", "no NVIDIA driver"],
    [null, "no sample yet"], // the other run may still get one
    [null, "no sample yet"],
    ["not measured", "no sample yet"],
  ]);
});

test("a series of nothing but gaps is an empty chart, until a value arrives", () => {
  const model = modelOf("a", { series: series("gpu_power_w", [1001], [null]) });
  const chart = chartOf("power", pageOf(model));
  chart.react();
  assert.equal(chart.frame.empty.hidden, false);
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1002], [300]) }));
  chart.extend();
  assert.equal(chart.frame.empty.hidden, true);
});

test("a queued run, of which nothing is known, does not hide the reasons of the others", () => {
  const absent = { absent: { gpu_power_w: "no NVIDIA driver" } };
  const chart = chartOf("power", pageOf(modelOf("a", {}, absent), modelOf("b", {}, { state: "queued" })));
  assert.equal(chart.absence(), "no NVIDIA driver");
});

test("a ceiling of the acceptance length is drawn once for all runs with the same one", () => {
  const given = { series: series("acceptance_length", [1001], [4.2]) };
  const models = [5, 5, null, 3].map((ceiling, index) => modelOf(String(index), given, { ceiling }));
  const chart = chartOf("tokens", pageOf(...models));
  chart.react();
  assert.deepEqual(chart.frame.plot.layout.shapes.filter((shape) => shape.xref === "paper").map((shape) => shape.y0), [5, 3]);
  assert.equal(chart.frame.unit.textContent, "tokens; dotted: tokens per step; dashed: at most 5, 3");
});

test("the y axis covers the zoomed time range, and everything again without a zoom", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002, 1030], [300, 200, 900]) }));
  const chart = chartOf("power", page);
  chart.react();
  const ranges = [[0, 10], [1.5, 10], [5, 10], null].map((zoom) => {
    page.view.zoom = zoom;
    chart.moveAxes();
    const { autorange, range } = chart.frame.plot.layout.yaxis;
    return autorange ? "all" : range.map(Math.round);
  });
  assert.deepEqual(ranges, [[0, 318], [0, 212], "all", [0, 954]]);
  page.view.zoom = [0, 10];
  chart.react();
  assert.deepEqual(chart.frame.plot.layout.yaxis.range.map(Math.round), [0, 318]);
});

test("the arrow keys move the mark, and Escape removes it", () => {
  const page = pageOf(modelOf("a", { series: POWER }));
  const { plot } = chartOf("power", page).frame;
  plot._fullLayout = { xaxis: { range: [0, 60] } };
  const marks = ["ArrowLeft", "ArrowLeft", "ArrowRight", "Escape"].map((key) => {
    plot.dispatchEvent(Object.assign(new document.defaultView.Event("keydown", { cancelable: true }), { key }));
    return page.view.markedX;
  });
  assert.deepEqual(marks, [59, 58, 59, null]);
});

test("the acceptance of each position is a bar per run, and part of the accessible name", () => {
  const drafting = modelOf("a", { per_position: { v: [0.81, 0.5], why: null } });
  const withoutDrafts = modelOf("b", { per_position: { v: null, why: "no draft" } }, { absent: { per_position: "speculation is off" } });
  const chart = new PositionChart(pageOf(drafting, withoutDrafts));
  chart.isInView = true;
  chart.react();
  assert.deepEqual(chart.frame.plot.data.map(({ type, x, y }) => [type, x, y]), [["bar", [1, 2], [81, 50]]]);
  assert.equal(chart.frame.plot.getAttribute("aria-label"), "a: 81 %, 50 %");
  assert.equal(chart.absence(), null);
  assert.equal(new PositionChart(pageOf(withoutDrafts)).absence(), "speculation is off");
  const fileTypes = [...chart.frame.head.querySelectorAll(".lv-files button")].map((button) => button.textContent);
  assert.deepEqual(fileTypes, ["PNG", "SVG", "CSV"]);
  assert.equal(positionsCsv([drafting, withoutDrafts]), "run_id,name,position,accepted_ratio\r\na,a,1,0.81\r\na,a,2,0.5\r\n");
});

test("on a touch screen, buttons zoom and move all charts; with a mouse they are hidden", () => {
  /** @type {[number, number] | null} */
  let zoom = null;
  const zoomBy = (factor) => (zoom = factor ? scaleRange(zoom ?? [0, 100], factor) : null);
  const moveBy = (fraction) => (zoom = scaleRange(zoom ?? [0, 100], 1, fraction));
  assert.equal(new ZoomButtons(zoomBy, moveBy).root.hidden, true);
  globalThis.matchMedia = () => ({ matches: true });
  const bar = new ZoomButtons(zoomBy, moveBy);
  const buttons = () => [...bar.root.querySelectorAll(".lv-pick")];
  assert.deepEqual(buttons().filter(({ disabled }) => disabled).length, 2, "also before the first refresh");
  const zooms = ["Zoom in", "Earlier", "Zoom out", "Later", "Show all"].map((name) => {
    buttons().find(({ textContent }) => textContent === name).onclick();
    bar.refresh(zoom !== null);
    return [zoom, buttons().filter(({ disabled }) => disabled).map(({ textContent }) => textContent)];
  });
  assert.deepEqual(zooms, [[[25, 75], []], [[0, 50], []], [[-25, 75], []], [[25, 125], []], [null, ["Earlier", "Later"]]]);
  const chart = chartOf("power", pageOf(modelOf("a", { series: series("gpu_power_w", [1000, 1100], [300, 310]) }, { state: "finished" })));
  chart.react();
  assert.equal(chart.frame.head.querySelectorAll(".lv-pick").length, 0, "the charts have no zoom buttons of their own");
  assert.equal(chart.frame.plot.layout.dragmode, false);
  assert.ok(!chart.frame.plot.getAttribute("aria-label").includes("Drag"));
});

test("a plot that was removed from the page is not resized", () => {
  const plot = document.createElement("div");
  resizePlot(Plotly, plot);
  assert.deepEqual(Plotly.calls, []);
  document.body.append(plot);
  resizePlot(Plotly, plot);
  assert.deepEqual(Plotly.calls, ["resize"]);
});
