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

function drawn(page, spec = POWER) {
  const chart = new TimeChart(spec, page);
  chart.isInView = true;
  chart.react();
  return chart;
}

const choices = ({ zoom, windowSeconds, smoothSeconds, usesWallClock, isLog, hiddenIds }) => [zoom, windowSeconds, smoothSeconds, usesWallClock, isLog, [...hiddenIds]];

test("what is chosen goes into the address and comes back from it; what others keep there stays", () => {
  const view = new View();
  Object.assign(view, { zoom: [10.123456, 80], windowSeconds: 120, smoothSeconds: 30, usesWallClock: true, isLog: true, hiddenIds: new Set(["a", "b&c"]) });
  const said = searchOf(view, "?run=a&run=b%26c&from=1&scale=log");
  const again = new View();
  readSearch(again, said);
  assert.deepEqual(choices(again), [[10.12, 80], 120, 30, true, true, ["a", "b&c"]]);
  assert.deepEqual(new URLSearchParams(said).getAll("run"), ["a", "b&c"]);
  assert.equal(searchOf(new View(), said), "?run=a&run=b%26c");
  assert.equal(searchOf(new View(), ""), "");
});

test("an address that says nonsense chooses nothing", () => {
  for (const said of ["?from=9&to=1", "?from=&to=5", "?from=1", "?to=NaN&from=0", "?stretch=-5", "?smooth=x", "?stretch=1e308", "?smooth=1e12", "?from=-1e308&to=1e308", "?from=100000000000000000&to=100000000000000016", "?scale=cubic"]) {
    const view = new View();
    readSearch(view, said);
    assert.deepEqual(choices(view), choices(new View()), said);
  }
});

test("a mean is of the seconds before each point, as if each were alone, and a gap stays a gap", () => {
  const times = [0, 1, 2, 3, 4, 20];
  const values = [4, 2, null, 6, 0, 8];
  const counts = values.map(() => 1);
  const whole = trailingMeans(times, values, counts, 3, 0);
  assert.deepEqual(whole, [4, 3, null, 4, 3, 8]);
  for (let start = 1; start < times.length; start += 1) assert.deepEqual(trailingMeans(times, values, counts, 3, start), whole.slice(start));
});

test("a mean of less time than a number tells spreadOut is the value itself", () => {
  for (const start of [0, 1]) assert.deepEqual(trailingMeans([1.79e9, 1.79e9 + 1], [4, 2], [1, 1], 1e-9, start), [4, 2].slice(start));
});

test("the mean of a thinned series is that of its samples, not of the extremes that are drawn", () => {
  const thinned = { t: [1001, 1002], v: [300, 100], mean: [210, 110], count: [10, 30] };
  const page = pageOf(modelOf("a", { series: { gpu_power_w: thinned } }));
  page.view.smoothSeconds = 60;
  const lines = drawn(page, POWER).frame.plot.data.filter((trace) => trace.y?.length);
  assert.deepEqual(lines.map(({ y }) => y), [[300, 100], [210, 135]]);
  const cells = timeChartCsv(POWER, page).trimEnd().split("\r\n").slice(1).map((row) => row.split(",").slice(5));
  assert.deepEqual(cells, [["300", "0", "10", "210"], ["100", "0", "30", "110"]]);
});

test("a smoothed chart keeps what was measured, faint beneath, and grows as it would have been drawn", () => {
  const model = modelOf("a", { series: series("gpu_power_w", [1001, 1002], [300, 100]) });
  const page = pageOf(model);
  page.view.smoothSeconds = 10;
  const chart = drawn(page);
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1003], [200]) }));
  chart.extend();
  const lines = () => chart.frame.plot.data.map(({ y, opacity }) => [y, opacity]);
  assert.deepEqual(lines(), [[[300, 100, 200], 0.3], [[300, 200, 200], 1]]);
  const grown = lines();
  chart.react();
  assert.deepEqual(lines(), grown);
});

test("few outliers do not flatten the rest, and are told; a chart of few points shows all", () => {
  const line = (count, top) => [{ x: [...Array(count).keys()], y: [...Array(count - 1).fill(100), top] }];
  assert.deepEqual(yRange(line(200, 9000), [0, 300]), { range: [0, 318], above: 1, highest: 9000 });
  assert.deepEqual(yRange(line(200, 290), [0, 300]).above, 0);
  assert.deepEqual(yRange(line(50, 9000), [0, 300]), { range: [0, 9540], above: 0, highest: 9000 });
  assert.deepEqual(yRange(line(200, 9000), [0, 100]).highest, 100);
  assert.equal(yRange([{ x: [1], y: [0] }], [0, 2]), null);
});

test("the chart's head says how many points lie above it", () => {
  const times = [...Array(200).keys()].map((second) => 1001 + second);
  const chart = drawn(pageOf(modelOf("a", { series: series("gpu_power_w", times, times.map((_, index) => (index ? 100 : 5000))) })));
  assert.equal(chart.frame.unit.textContent, "W; 1 above, up to 5,000");
});

test("a measurement above is counted once, however it is drawn, and a mean is none", () => {
  const times = [...Array(400).keys()].map((second) => 1001 + second);
  const model = modelOf("a", { series: series("decode_tps", times, times.map((_, index) => (index % 200 ? 100 : 5000))) });
  const page = pageOf(model);
  const words = (spec) => drawn(page, spec).frame.unit.textContent.split("; ").at(-1);
  assert.equal(words(CHARTS[0]), "2 above, up to 5,000"); // a grey line holds all of them too
  page.view.smoothSeconds = 2;
  assert.equal(words(CHARTS[0]), "2 above, up to 5,000"); // and a faint one
});

test("a logarithmic axis goes from the lowest to the highest above 0", () => {
  const [low, high] = logYRange([{ x: [1, 2, 3], y: [0, 10, 1000] }], [0, 5]);
  assert.ok(low < 1 && low > 0.8 && high > 3 && high < 3.2);
  assert.equal(logYRange([{ x: [1], y: [0] }], [0, 5]), null);
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002], [10, 1000]) }));
  page.view.isLog = true;
  const { type, range } = drawn(page).frame.plot.layout.yaxis;
  assert.deepEqual([type, range.map((power) => Math.round(power))], ["log", [1, 3]]);
});

test("a hidden run is not drawn, told or measured by; hiding all would leave nothing and hides none", () => {
  const long = { series: series("gpu_power_w", [1001, 1500], [300, 310]) };
  const page = pageOf(modelOf("a", long), modelOf("b", { series: series("gpu_power_w", [1001, 1100], [200, 210]) }));
  page.view.hiddenIds = new Set(["a"]);
  const chart = drawn(page);
  assert.deepEqual(chart.frame.plot.data.map(({ name }) => name), ["b"]);
  assert.deepEqual(chart.frame.plot.layout.xaxis.range, [1, 100]);
  assert.equal(chart.frame.readout.textContent, "210");
  page.view.hiddenIds = new Set(["a", "b"]);
  chart.react();
  assert.equal(chart.frame.plot.data.length, 2);
});

const MARKS = [{ t: 1010, kind: "load", text: "ladder" }, { t: 1020, kind: "phase", text: "8 at once" }, { t: 1030, kind: "outage", text: "no answer for 4 s" }, { t: 1040, kind: "collapse", text: "" }];

test("loads, phases, outages and ends are flags in the run's colour, troubles in amber, and words at the moment", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1070], [1, 1]), marks: MARKS }, { ended_t: 1060, state: "finished" }));
  const seen = flagsOf(page, 1).map(({ x, texts, color, isProblem }) => [x, texts.join(), color, isProblem]);
  assert.deepEqual(seen, [[10, "load ladder begins", "color of a", false], [20, "phase 8 at once", "color of a", false], [30, "no answer for 4 s", "amber", true], [40, "an answer loops", "amber", true], [60, "finished", "color of a", false]]);
  assert.deepEqual([10, 20.2, 30, 25, 40, 60].map((moment) => markText(page, moment)), ["load ladder begins", "phase 8 at once", "no answer for 4 s", "", "an answer loops", "finished"]);
  page.view.usesWallClock = true;
  assert.equal(markText(page, 1000), "ready");
});

test("what happened at about one moment shares a flag, of no run's colour where it is several runs'", () => {
  const run = (/** @type {string} */ id, /** @type {number} */ late) => modelOf(id, { series: series("gpu_power_w", [1001, 2000], [1, 1]), marks: [{ t: 1100 + late, kind: "load", text: "ladder" }, { t: 1300 + late, kind: "throttle", text: "" }, { t: 1500 + 50 * late, kind: "phase", text: "2" }] });
  const page = pageOf(run("a", 0), run("b", 4));
  const { muted, doubt } = page.theme();
  assert.deepEqual(flagsOf(page, 20).map(({ x, color }) => [x, color]), [[100, muted], [300, doubt], [500, "color of a"], [700, "color of b"]]);
  assert.deepEqual(flagsOf(page, 20).map(({ texts }) => texts.join()).slice(0, 3), ["a, b: load ladder begins", "a, b: the hardware limits the GPU's clocks", "a: phase 2"]);
});

test("of a thousand marks each run has its share, the newest; a kind nobody knows is told by its text", () => {
  const marks = [...Array(900).keys()].map((index) => ({ t: 1001 + index, kind: "phase", text: `${index}` }));
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 2000], [1, 1]), marks }), modelOf("b", { marks }));
  assert.deepEqual(flagsOf(page, 0.5).map(({ texts }) => texts).at(-1), ["a, b: phase 899"]);
  assert.equal(flagsOf(page, 0.5).length, 500);
  const odd = pageOf(modelOf("a", { marks: [{ t: 1010, kind: "__proto__", text: "x" }, { t: 1010, kind: "constructor", text: "y" }] }));
  assert.equal(markText(odd, 10), "x; y");
});

/** An axis of a hundred pixels for as many seconds. */
const AXIS = { range: [0, 100], _offset: 0, _length: 100, l2p: (place) => place };

test("a flag tells what happened while it is pointed at or focused, and marks its moment on all charts", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1000, 1100], [1, 1]), marks: MARKS }));
  const moments = [];
  page.onMark = (moment) => moments.push(moment);
  const lane = new FlagLane(page);
  lane.root.hidden = false;
  lane.refresh(AXIS);
  const flags = () => [...lane.root.querySelectorAll("button")];
  assert.deepEqual(flags().map((flag) => flag.getAttribute("aria-label")), ["0:10: load ladder begins; phase 8 at once; no answer for 4 s", "0:40: an answer loops"]);
  const [, loops] = flags();
  loops.dispatchEvent(new document.defaultView.Event("focus"));
  assert.deepEqual([lane.text.hidden, lane.text.textContent], [false, "0:40\nan answer loops"]);
  lane.refresh(AXIS);
  assert.equal(flags()[1], loops, "it keeps the focus");
  loops.dispatchEvent(new document.defaultView.Event("blur"));
  assert.deepEqual([lane.text.hidden, moments], [true, [40, null]]);
});

test("a line's name stands at its end; names that would cover each other are moved apart", () => {
  const page = pageOf(modelOf("a", { series: series("decode_tps", [1001, 1100], [50, 100]) }), modelOf("b", { series: series("decode_tps", [1001, 1080], [40, 99]) }));
  const chart = drawn(page, CHARTS[0]);
  chart.frame.plot._fullLayout = { xaxis: AXIS, yaxis: { ...AXIS, l2p: (value) => 100 - value } };
  chart.refreshReadout();
  const names = [...chart.lineNames.root.children].map((node) => [node.textContent, node.style.transform]);
  assert.deepEqual(names, [["a", "translate(105px, 0px)"], ["b", "translate(85px, 15px)"]]);
});

test("names are moved apart within the chart", () => {
  const end = (/** @type {number} */ y) => ({ name: "", color: "", x: 0, y });
  assert.deepEqual(spreadOut([end(99), end(98), end(20)], 100).map(({ y }) => y), [20, 77.5, 92.5]);
});

test("a mark that comes redraws the chart", () => {
  const model = modelOf("a", {});
  assert.equal(model.apply(part("delta", 5, { marks: [{ t: 1010, kind: "load", text: "ladder" }] })).redrawAll, true);
  assert.equal(model.apply(part("delta", 6, {})).redrawAll, false);
  assert.equal(model.marks.length, 1);
});

test("the CSV has the points of the stretch shown as they were measured, and no cell that a spreadsheet would run", () => {
  const page = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002, 1003], [300, null, -5]) }, { name: '=1+"1"' }));
  Object.assign(page.view, { zoom: [1.5, 5], smoothSeconds: 30 });
  const rows = timeChartCsv(POWER, page).trimEnd().split("\r\n");
  assert.deepEqual(rows, [
    "run_id,name,time,since_ready_s,series,value,excluded,samples,mean_of_samples",
    `a,"'=1+""1""",1970-01-01T00:16:42.000Z,2.000,gpu_power_w,,0,0,`,
    `a,"'=1+""1""",1970-01-01T00:16:43.000Z,3.000,gpu_power_w,-5,0,1,-5`,
  ]);
});

test("a ceiling is seen above the values, on both scales", () => {
  const page = pageOf(modelOf("a", { series: series("acceptance_length", [1001, 1002], [2, 4]) }, { ceiling: 7 }));
  const spec = CHARTS.find((one) => one.hasCeiling);
  const tops = [false, true].map((isLog) => {
    page.view.isLog = isLog;
    const [, top] = drawn(page, spec).frame.plot.layout.yaxis.range;
    return isLog ? 10 ** top : top;
  });
  for (const top of tops) assert.ok(top > 7 && top < 8, String(top));
});

test("counts keep their zeros on a log scale, and the ticks of the others stand at 1, 2 and 5", () => {
  const page = pageOf(modelOf("a", { series: { ...series("requests_running", [1001, 1002], [0, 1]), ...series("gpu_power_w", [1001, 1002], [80, 300]) } }));
  page.view.isLog = true;
  assert.equal(drawn(page, CHARTS.find((one) => one.id === "requests")).frame.plot.layout.yaxis.type, "linear");
  assert.deepEqual(drawn(page).frame.plot.layout.yaxis.tickvals, [100, 200]);
  assert.deepEqual(logTicks([-2.1, 2]), [0.01, 0.1, 1, 10, 100]);
  const narrow = pageOf(modelOf("a", { series: series("gpu_power_w", [1001, 1002], [310, 330]) }));
  narrow.view.isLog = true;
  assert.equal(drawn(narrow).frame.plot.layout.yaxis.tickmode, "auto", "none of them lies within: Plotly chooses");
});
