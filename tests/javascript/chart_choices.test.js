import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { searchOf, readSearch } from "../../web/static/live/address.js";
import { timeChartCsv } from "../../web/static/live/chart_files.js";
import { CHARTS, TimeChart } from "../../web/static/live/charts.js";
import { FlagLane } from "../../web/static/live/flags.js";
import { yRange, logYRange, logTicks } from "../../web/static/live/y_range.js";
import { spreadOut } from "../../web/static/live/line_names.js";
import { flagsOf, markText } from "../../web/static/live/marks.js";
import { RunModel } from "../../web/static/live/model.js";
import { trailingMeans } from "../../web/static/live/smoothing.js";
import { View } from "../../web/static/live/view.js";
import { part, series, snapshot } from "./messages.js";
import { PlotlyStandIn, openPage } from "./page_stand_in.js";

const THEME = { font: "Inter", muted: "#666", grid: "#ddd", excluded: "#aaa", doubt: "amber", color: (model) => `color of ${model.id}`, dash: () => "solid" };
const POWER = CHARTS.find((spec) => spec.id === "power");

beforeEach(() => {
  openPage();
  globalThis.Plotly = new PlotlyStandIn();
});

function pageOf(...models) {
  return { view: new View(), models: () => models, label: ({ meta }) => meta.name, theme: () => THEME, onMark: () => undefined };
}

function modelOf(id, fields, meta = {}) {
  const model = new RunModel(id);
  model.apply(snapshot(fields, { name: id, ...meta }));
  return model;
}

function drawChart(page, spec = POWER) {
  const chart = new TimeChart(spec, page);
  chart.isInView = true;
  chart.react();
  return chart;
}

const choices = ({ zoom, windowSeconds, smoothSeconds, usesWallClock, isLog, hiddenIds }) => [zoom, windowSeconds, smoothSeconds, usesWallClock, isLog, [...hiddenIds]];

test("the URL stores the user's choices and restores them; other parameters stay", () => {
  const view = new View();
  Object.assign(view, { zoom: [10.123456, 80], windowSeconds: 120, smoothSeconds: 30, usesWallClock: true, isLog: true, hiddenIds: new Set(["a", "b&c"]) });
  const search = searchOf(view, "?run=a&run=b%26c&from=1&scale=log");
  const restored = new View();
  readSearch(restored, search);
  assert.deepEqual(choices(restored), [[10.12, 80], 120, 30, true, true, ["a", "b&c"]]);
  assert.deepEqual(new URLSearchParams(search).getAll("run"), ["a", "b&c"]);
  assert.equal(searchOf(new View(), search), "?run=a&run=b%26c");
  assert.equal(searchOf(new View(), ""), "");
});

test("invalid choices in the URL are ignored", () => {
  for (const search of ["?from=9&to=1", "?from=&to=5", "?from=1", "?to=NaN&from=0", "?stretch=-5", "?smooth=x", "?stretch=1e308", "?smooth=1e12", "?from=-1e308&to=1e308", "?from=100000000000000000&to=100000000000000016", "?scale=cubic"]) {
    const view = new View();
    readSearch(view, search);
    assert.deepEqual(choices(view), choices(new View()), search);
  }
});

test("a moving mean covers the seconds before each point, from any start point on, and a gap stays a gap", () => {
  const times = [0, 1, 2, 3, 4, 20];
  const values = [4, 2, null, 6, 0, 8];
  const counts = values.map(() => 1);
  const means = trailingMeans(times, values, counts, 3, 0);
  assert.deepEqual(means, [4, 3, null, 4, 3, 8]);
  for (let start = 1; start < times.length; start += 1) assert.deepEqual(trailingMeans(times, values, counts, 3, start), means.slice(start));
});

test("a moving mean over less time than a number can represent is the value itself", () => {
  for (const start of [0, 1]) assert.deepEqual(trailingMeans([1.79e9, 1.79e9 + 1], [4, 2], [1, 1], 1e-9, start), [4, 2].slice(start));
});

test("a moving mean of a thinned series averages its samples, not the drawn extremes", () => {
  const thinned = { t: [1001, 1002], v: [300, 100], mean: [210, 110], count: [10, 30] };
  const page = pageOf(modelOf("a", { series: { gpu_power_w: thinned } }));
  page.view.smoothSeconds = 60;
  const lines = drawChart(page, POWER).frame.plot.data.filter((trace) => trace.y?.length);
  assert.deepEqual(lines.map(({ y }) => y), [[300, 100], [210, 135]]);
  const cells = timeChartCsv(POWER, page).trimEnd().split("\r\n").slice(1).map((row) => row.split(",").slice(5));
  assert.deepEqual(cells, [["300", "0", "10", "210"], ["100", "0", "30", "110"]]);
});

test("a smoothed chart keeps the measured values as a faint line, and extending it gives the same as redrawing it", () => {
  const model = modelOf("a", { series: series("gpu_power_w", [1001, 1002], [300, 100]) });
  const page = pageOf(model);
  page.view.smoothSeconds = 10;
  const chart = drawChart(page);
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1003], [200]) }));
  chart.extend();
  const lines = () => chart.frame.plot.data.map(({ y, opacity }) => [y, opacity]);
  assert.deepEqual(lines(), [[[300, 100, 200], 0.3], [[300, 200, 200], 1]]);
  const extended = lines();
  chart.react();
  assert.deepEqual(lines(), extended);
});

test("a few outliers do not flatten the rest, and are counted; a chart with few points shows all of them", () => {
  const line = (count, top) => [{ x: [...Array(count).keys()], y: [...Array(count - 1).fill(100), top] }];
  assert.deepEqual(yRange(line(200, 9000), [0, 300]), { range: [0, 318], above: 1, highest: 9000 });
  assert.deepEqual(yRange(line(200, 290), [0, 300]).above, 0);
  assert.deepEqual(yRange(line(50, 9000), [0, 300]), { range: [0, 9540], above: 0, highest: 9000 });
  assert.deepEqual(yRange(line(200, 9000), [0, 100]).highest, 100);
  assert.equal(yRange([{ x: [1], y: [0] }], [0, 2]), null);
});

test("the chart's header has the number of points above the chart", () => {
  const times = [...Array(200).keys()].map((second) => 1001 + second);
  const chart = drawChart(pageOf(modelOf("a", { series: series("gpu_power_w", times, times.map((_, index) => (index ? 100 : 5000))) })));
  assert.equal(chart.frame.unit.textContent, "W; 1 above, up to 5,000");
});

test("a measurement above the chart is counted once, however it is drawn, and a mean is not counted", () => {
  const times = [...Array(400).keys()].map((second) => 1001 + second);
  const model = modelOf("a", { series: series("decode_tps", times, times.map((_, index) => (index % 200 ? 100 : 5000))) });
  const page = pageOf(model);
  const outliers = (spec) => drawChart(page, spec).frame.unit.textContent.split("; ").at(-1);
  assert.equal(outliers(CHARTS[0]), "2 above, up to 5,000"); // although the grey line has them as well
  page.view.smoothSeconds = 2;
  assert.equal(outliers(CHARTS[0]), "2 above, up to 5,000"); // and the faint line too
});

test("a logarithmic axis covers the lowest to the highest value above 0", () => {
  const [low, high] = logYRange([{ x: [1, 2, 3], y: [0, 10, 1000] }], [0, 5]);
  assert.ok(low < 1 && low > 0.8 && high > 3 && high < 3.2);
  assert.equal(logYRange([{ x: [1], y: [0] }], [0, 5]), null);
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002], [10, 1000]) }));
  page.view.isLog = true;
  const { type, range } = drawChart(page).frame.plot.layout.yaxis;
  assert.deepEqual([type, range.map((power) => Math.round(power))], ["log", [1, 3]]);
});

test("a hidden run affects neither the lines, nor the readout, nor the axis; hiding all runs hides none", () => {
  const longRun = { series: series("gpu_power_w", [1001, 1500], [300, 310]) };
  const page = pageOf(modelOf("a", longRun), modelOf("b", { series: series("gpu_power_w", [1001, 1100], [200, 210]) }));
  page.view.hiddenIds = new Set(["a"]);
  const chart = drawChart(page);
  assert.deepEqual(chart.frame.plot.data.map(({ name }) => name), ["b"]);
  assert.deepEqual(chart.frame.plot.layout.xaxis.range, [1, 100]);
  assert.equal(chart.frame.readout.textContent, "210");
  page.view.hiddenIds = new Set(["a", "b"]);
  chart.react();
  assert.equal(chart.frame.plot.data.length, 2);
});

const MARKS = [{ t: 1010, kind: "load", text: "ladder" }, { t: 1020, kind: "phase", text: "8 at once" }, { t: 1030, kind: "outage", text: "no answer for 4 s" }, { t: 1040, kind: "collapse", text: "" }];

test("loads, phases, outages and ends are flags in the run's colour, or amber for problems, and texts at the marked time", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1070], [1, 1]), marks: MARKS }, { ended_t: 1060, state: "finished" }));
  const flags = flagsOf(page, 1).map(({ x, texts, color, isProblem }) => [x, texts.join(), color, isProblem]);
  assert.deepEqual(flags, [[10, "load ladder begins", "color of a", false], [20, "phase 8 at once", "color of a", false], [30, "no answer for 4 s", "amber", true], [40, "an answer loops", "amber", true], [60, "finished", "color of a", false]]);
  assert.deepEqual([10, 20.2, 30, 25, 40, 60].map((x) => markText(page, x)), ["load ladder begins", "phase 8 at once", "no answer for 4 s", "", "an answer loops", "finished"]);
  page.view.usesWallClock = true;
  assert.equal(markText(page, 1000), "ready");
});

test("events at about the same time share a flag, in a neutral colour if they are of several runs", () => {
  const run = (/** @type {string} */ id, /** @type {number} */ delay) => modelOf(id, { series: series("gpu_power_w", [1001, 2000], [1, 1]), marks: [{ t: 1100 + delay, kind: "load", text: "ladder" }, { t: 1300 + delay, kind: "throttle", text: "" }, { t: 1500 + 50 * delay, kind: "phase", text: "2" }] });
  const page = pageOf(run("a", 0), run("b", 4));
  const { muted, doubt } = page.theme();
  assert.deepEqual(flagsOf(page, 20).map(({ x, color }) => [x, color]), [[100, muted], [300, doubt], [500, "color of a"], [700, "color of b"]]);
  assert.deepEqual(flagsOf(page, 20).map(({ texts }) => texts.join()).slice(0, 3), ["a, b: load ladder begins", "a, b: the hardware limits the GPU's clocks", "a: phase 2"]);
});

test("each run gets an equal share of the thousand marks, its newest ones; an unknown kind is shown by its text", () => {
  const marks = [...Array(900).keys()].map((index) => ({ t: 1001 + index, kind: "phase", text: `${index}` }));
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 2000], [1, 1]), marks }), modelOf("b", { marks }));
  assert.deepEqual(flagsOf(page, 0.5).map(({ texts }) => texts).at(-1), ["a, b: phase 899"]);
  assert.equal(flagsOf(page, 0.5).length, 500);
  const unknown = pageOf(modelOf("a", { marks: [{ t: 1010, kind: "__proto__", text: "x" }, { t: 1010, kind: "constructor", text: "y" }] }));
  assert.equal(markText(unknown, 10), "x; y");
});

/** An axis of a hundred pixels for a hundred seconds. */
const AXIS = { range: [0, 100], _offset: 0, _length: 100, l2p: (x) => x };

test("a hovered or focused flag shows what happened, and marks its time in all charts", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1000, 1100], [1, 1]), marks: MARKS }));
  const marks = [];
  page.onMark = (markedX) => marks.push(markedX);
  const lane = new FlagLane(page);
  lane.root.hidden = false;
  lane.refresh(AXIS);
  const flags = () => [...lane.root.querySelectorAll("button")];
  assert.deepEqual(flags().map((flag) => flag.getAttribute("aria-label")), ["0:10: load ladder begins; phase 8 at once; no answer for 4 s", "0:40: an answer loops"]);
  const [, loops] = flags();
  loops.dispatchEvent(new document.defaultView.Event("focus"));
  assert.deepEqual([lane.text.hidden, lane.text.textContent], [false, "0:40\nan answer loops"]);
  lane.refresh(AXIS);
  assert.equal(flags()[1], loops, "the button is kept, and with it the focus");
  loops.dispatchEvent(new document.defaultView.Event("blur"));
  assert.deepEqual([lane.text.hidden, marks], [true, [40, null]]);
});

test("the name of a line is at its end, and overlapping names are moved apart", () => {
  const page = pageOf(modelOf("a", { series: series("decode_tps", [1001, 1100], [50, 100]) }), modelOf("b", { series: series("decode_tps", [1001, 1080], [40, 99]) }));
  const chart = drawChart(page, CHARTS[0]);
  chart.frame.plot._fullLayout = { xaxis: AXIS, yaxis: { ...AXIS, l2p: (value) => 100 - value } };
  chart.refreshReadout();
  const names = [...chart.lineNames.root.children].map((node) => [node.textContent, node.style.transform]);
  assert.deepEqual(names, [["a", "translate(105px, 0px)"], ["b", "translate(85px, 15px)"]]);
});

test("names are moved apart only within the chart", () => {
  const end = (/** @type {number} */ y) => ({ name: "", color: "", x: 0, y });
  assert.deepEqual(spreadOut([end(99), end(98), end(20)], 100).map(({ y }) => y), [20, 77.5, 92.5]);
});

test("a new mark redraws the chart", () => {
  const model = modelOf("a", {});
  assert.equal(model.apply(part("delta", 5, { marks: [{ t: 1010, kind: "load", text: "ladder" }] })).redrawAll, true);
  assert.equal(model.apply(part("delta", 6, {})).redrawAll, false);
  assert.equal(model.marks.length, 1);
});

test("the CSV file has the measured points of the shown range, and no cell that a spreadsheet would execute", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002, 1003], [300, null, -5]) }, { name: '=1+"1"' }));
  Object.assign(page.view, { zoom: [1.5, 5], smoothSeconds: 30 });
  const rows = timeChartCsv(POWER, page).trimEnd().split("\r\n");
  assert.deepEqual(rows, [
    "run_id,name,time,since_ready_s,series,value,excluded,samples,mean_of_samples",
    `a,"'=1+""1""",1970-01-01T00:16:42.000Z,2.000,gpu_power_w,,0,0,`,
    `a,"'=1+""1""",1970-01-01T00:16:43.000Z,3.000,gpu_power_w,-5,0,1,-5`,
  ]);
});

test("a ceiling above the values is visible, on both scales", () => {
  const page = pageOf(modelOf("a", { series: series("acceptance_length", [1001, 1002], [2, 4]) }, { ceiling: 7 }));
  const spec = CHARTS.find(({ hasCeiling }) => hasCeiling);
  const tops = [false, true].map((isLog) => {
    page.view.isLog = isLog;
    const [, top] = drawChart(page, spec).frame.plot.layout.yaxis.range;
    return isLog ? 10 ** top : top;
  });
  for (const top of tops) assert.ok(top > 7 && top < 8, String(top));
});

test("counts stay linear on a log scale because of their zeros; the ticks of the others are at 1, 2 and 5", () => {
  const page = pageOf(modelOf("a", { series: { ...series("requests_running", [1001, 1002], [0, 1]), ...series("gpu_power_w", [1001, 1002], [80, 300]) } }));
  page.view.isLog = true;
  assert.equal(drawChart(page, CHARTS.find(({ id }) => id === "requests")).frame.plot.layout.yaxis.type, "linear");
  assert.deepEqual(drawChart(page).frame.plot.layout.yaxis.tickvals, [100, 200]);
  assert.deepEqual(logTicks([-2.1, 2]), [0.01, 0.1, 1, 10, 100]);
  const narrow = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002], [310, 330]) }));
  narrow.view.isLog = true;
  assert.equal(drawChart(narrow).frame.plot.layout.yaxis.tickmode, "auto", "none of them is in the range, so Plotly chooses");
});
