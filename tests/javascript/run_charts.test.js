import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { timeChartCsv } from "../../web/static/live/chart_files.js";
import { CHARTS, TimeChart } from "../../web/static/live/charts.js";
import { DetailLoader, fetchSeries } from "../../web/static/live/detail_loader.js";
import { Legend } from "../../web/static/live/legend.js";
import { RunModel } from "../../web/static/live/model.js";
import { Toolbar } from "../../web/static/live/toolbar.js";
import { View } from "../../web/static/live/view.js";
import { part, series, snapshot } from "./messages.js";
import { PlotlyStandIn, openPage } from "./page_stand_in.js";

const POWER = CHARTS.find((spec) => spec.id === "power");
const THEME = { font: "Inter", muted: "#666", grid: "#ddd", excluded: "#aaa", runs: ["blue", "brown"], color: (model) => `color of ${model.id}`, dash: () => "solid" };
const OVERVIEW = { series: series("gpu_power_w", [1000, 1010, 1020, 1030], [300, 310, 320, 330]) };

beforeEach(() => {
  openPage();
  mock.timers.reset();
  globalThis.Plotly = new PlotlyStandIn();
});

function pageOf(...models) {
  const page = { view: new View(), models: () => models, label: ({ meta }) => meta.name, theme: () => THEME, onMark: () => undefined, onView: () => undefined, onStyle: () => undefined, onZoom: () => undefined };
  return Object.assign(page, { onHide: (ids) => page.view.hide(ids, models) });
}

function modelOf(id, fields = OVERVIEW, meta = {}) {
  const model = new RunModel(id);
  model.apply(snapshot(fields, { name: id, ...meta }));
  return model;
}

/** Replaces fetch by a stand-in that records the URLs and responds with these bodies, or with an error for undefined. */
function stubFetch(...bodies) {
  const urls = [];
  globalThis.fetch = async (url) => {
    urls.push(url);
    const body = bodies.shift();
    return { ok: body !== undefined, json: async () => ({ runs: body }), text: async () => "this link does not show it" };
  };
  return urls;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("detail is merged once, and again after a new point or another detail", () => {
  const model = modelOf("a", { series: series("gpu_power_w", [1001, 1010, 1020], [300, 310, 320]) });
  model.detail = { series: series("gpu_power_w", [1009, 1010], [1, 2]) };
  const first = model.drawnSeries("gpu_power_w");
  assert.equal(model.drawnSeries("gpu_power_w"), first);
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1030], [330]) }));
  assert.deepEqual(model.drawnSeries("gpu_power_w").t, [1001, 1009, 1010, 1020, 1030]);
  model.detail = { series: series("gpu_power_w", [1019, 1020], [3, 4]) };
  assert.deepEqual(model.drawnSeries("gpu_power_w").t, [1001, 1010, 1019, 1020, 1030]);
});

test("the zoomed range is drawn in detail, the rest from the overview", () => {
  const model = modelOf("a");
  model.detail = { series: series("gpu_power_w", [1009, 1010, 1011], [1, 2, 3]) };
  const { t, v, excluded, mean, count } = model.drawnSeries("gpu_power_w");
  assert.deepEqual([t, v, excluded], [[1000, 1009, 1010, 1011, 1020, 1030], [300, 1, 2, 3, 320, 330], [0, 0, 0, 0, 0, 0]]);
  assert.deepEqual([mean, count], [v, [1, 1, 1, 1, 1, 1]]);
  assert.equal(model.valueAt("gpu_power_w", 1011), 3);
  assert.equal(model.drawnSeries("decode_tps"), undefined);
  model.detail = { series: series("gpu_power_w", [], []) };
  assert.equal(model.drawnSeries("gpu_power_w"), model.series.gpu_power_w);
});

test("points that arrive while a range is zoomed are added once", () => {
  const model = modelOf("a");
  model.detail = { series: series("gpu_power_w", [1029, 1030, 1031], [1, 2, 3]) };
  const chart = new TimeChart(POWER, pageOf(model));
  chart.isInView = true;
  chart.react();
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1031, 1032], [3, 4]) }));
  chart.extend();
  assert.deepEqual(chart.frame.plot.data[0].x, [0, 10, 20, 29, 30, 31, 32]);
});

test("a zoom requests the range of each visible run, in the run's own time, after the user has stopped zooming", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const page = pageOf(modelOf("a"), modelOf("b", OVERVIEW, { ready_t: 900 }), modelOf("c"));
  page.view.hiddenIds = new Set(["c"]);
  const urls = stubFetch([part("snapshot", 0, { series: series("gpu_power_w", [1010.5], [7]) })]);
  let changes = 0;
  const loader = new DetailLoader("/below", page, () => (changes += 1));
  for (const zoom of [[1, 2], [10, 20]]) loader.load((page.view.zoom = zoom));
  mock.timers.tick(1000);
  await settled();
  assert.deepEqual(urls, ["/below/series?run=a&from=1010&to=1020&run=b&from=910&to=920"]);
  assert.deepEqual([page.models()[0].drawnSeries("gpu_power_w").v, changes], [[300, 310, 7, 320, 330], 1]);
  loader.load((page.view.zoom = null));
  assert.deepEqual(page.models()[0].drawnSeries("gpu_power_w").v, [300, 310, 320, 330]);
});

test("a response for an earlier zoom, or a failed request, changes nothing", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const page = pageOf(modelOf("a"));
  stubFetch([part("snapshot", 0, { series: series("gpu_power_w", [1010.5], [7]) })], undefined);
  const loader = new DetailLoader("", page, () => assert.fail("nothing may be redrawn"));
  loader.load((page.view.zoom = [10, 20]));
  mock.timers.tick(1000);
  page.view.zoom = [11, 12];
  await settled();
  loader.load(page.view.zoom);
  mock.timers.tick(1000);
  await settled();
  assert.equal(page.models()[0].detail, null);
});

test("an error has the server's reason", async () => {
  stubFetch(undefined);
  await assert.rejects(fetchSeries("", [["a"]]), /this link does not show it/);
});

test("the CSV file of a chart has the points that are drawn", () => {
  const model = modelOf("a");
  model.detail = { series: series("gpu_power_w", [1010.5], [7]) };
  const page = pageOf(model);
  page.view.zoom = [10, 11];
  assert.deepEqual(timeChartCsv(POWER, page).trim().split("\r\n").slice(1).map((row) => row.split(",")[5]), ["310", "7"]);
});

test("the legend hides the runs of an arm together, shows only one arm, and shows all again", () => {
  const page = pageOf(modelOf("a"), modelOf("b"), modelOf("c"));
  const legend = new Legend();
  legend.show([{ name: "A", color: 0, runs: ["a", "b"] }, { name: "C", color: 1, runs: ["c"] }], page);
  const press = (label) => {
    legend.refresh(page);
    [...legend.root.querySelectorAll("button")].find((button) => button.getAttribute("aria-label") === label).onclick();
    return page.view.visibleRuns(page.models()).map((model) => model.id).join("");
  };
  const visible = ["Hide A in the charts", "Show A in the charts", "Show only A in the charts", "Show only C in the charts"].map(press);
  assert.deepEqual(visible, ["c", "abc", "ab", "c"]);
  legend.refresh(page);
  assert.deepEqual([...legend.root.children].map((key) => [key.style.getPropertyValue("--lv-run"), key.classList.contains("lv-off")]), [["blue", true], ["brown", false]]);
});

test("a single arm has no legend", () => {
  const legend = new Legend();
  legend.show([{ name: "A", color: 0, runs: ["a"] }], pageOf(modelOf("a")));
  assert.equal(legend.root.hidden, true);
});

test("without live runs the toolbar offers no following, and it shows errors", () => {
  const toolbar = new Toolbar(pageOf(modelOf("a")), false);
  assert.equal(toolbar.root.querySelectorAll("fieldset").length, 0);
  assert.equal(toolbar.followButton.textContent, "Reset zoom");
  const statuses = [["loaded"], ["refused", "The charts could not be loaded"]].map((status) => {
    toolbar.setStatus(...status);
    return [toolbar.status.hidden, toolbar.status.textContent];
  });
  assert.deepEqual(statuses, [[true, ""], [false, "The charts could not be loaded"]]);
});
