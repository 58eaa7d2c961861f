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
const WHOLE = { series: series("gpu_power_w", [1000, 1010, 1020, 1030], [300, 310, 320, 330]) };

beforeEach(() => {
  openPage();
  mock.timers.reset();
  globalThis.Plotly = new PlotlyStandIn();
});

function pageOf(...models) {
  const page = { view: new View(), models: () => models, label: ({ meta }) => meta.name, theme: () => THEME, onMark: () => undefined, onView: () => undefined, onStyle: () => undefined, onZoom: () => undefined };
  return Object.assign(page, { onHide: (ids) => page.view.hide(ids, models) });
}

function modelOf(id, fields = WHOLE, meta = {}) {
  const model = new RunModel(id);
  model.apply(snapshot(fields, { name: id, ...meta }));
  return model;
}

/** In fetch's place: notes what is asked for, and answers with what the test says. */
function answers(...bodies) {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url);
    const body = bodies.shift();
    return { ok: body !== undefined, json: async () => ({ runs: body }), text: async () => "this link does not show it" };
  };
  return asked;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("what is drawn of a stretch is joined once, and again when a point or another stretch has come", () => {
  const model = modelOf("a", { series: series("gpu_power_w", [1001, 1010, 1020], [300, 310, 320]) });
  model.detail = { series: series("gpu_power_w", [1009, 1010], [1, 2]) };
  const first = model.drawnSeries("gpu_power_w");
  assert.equal(model.drawnSeries("gpu_power_w"), first);
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1030], [330]) }));
  assert.deepEqual(model.drawnSeries("gpu_power_w").t, [1001, 1009, 1010, 1020, 1030]);
  model.detail = { series: series("gpu_power_w", [1019, 1020], [3, 4]) };
  assert.deepEqual(model.drawnSeries("gpu_power_w").t, [1001, 1010, 1019, 1020, 1030]);
});

test("within the stretch that is looked at closely its detail is drawn, elsewhere the whole", () => {
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

test("what comes while a stretch is looked at closely is added once behind it", () => {
  const model = modelOf("a");
  model.detail = { series: series("gpu_power_w", [1029, 1030, 1031], [1, 2, 3]) };
  const chart = new TimeChart(POWER, pageOf(model));
  chart.isInView = true;
  chart.react();
  model.apply(part("delta", 5, { series: series("gpu_power_w", [1031, 1032], [3, 4]) }));
  chart.extend();
  assert.deepEqual(chart.frame.plot.data[0].x, [0, 10, 20, 29, 30, 31, 32]);
});

test("a zoom asks for the stretch of each run that is drawn, in its own time, once the reader rests", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const page = pageOf(modelOf("a"), modelOf("b", WHOLE, { ready_t: 900 }), modelOf("c"));
  page.view.hiddenIds = new Set(["c"]);
  const asked = answers([part("snapshot", 0, { series: series("gpu_power_w", [1010.5], [7]) })]);
  let changes = 0;
  const loader = new DetailLoader("/below", page, () => (changes += 1));
  for (const zoom of [[1, 2], [10, 20]]) loader.load((page.view.zoom = zoom));
  mock.timers.tick(1000);
  await settled();
  assert.deepEqual(asked, ["/below/series?run=a&from=1010&to=1020&run=b&from=910&to=920"]);
  assert.deepEqual([page.models()[0].drawnSeries("gpu_power_w").v, changes], [[300, 310, 7, 320, 330], 1]);
  loader.load((page.view.zoom = null));
  assert.deepEqual(page.models()[0].drawnSeries("gpu_power_w").v, [300, 310, 320, 330]);
});

test("an answer that comes after the reader went on, or none at all, changes nothing", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const page = pageOf(modelOf("a"));
  answers([part("snapshot", 0, { series: series("gpu_power_w", [1010.5], [7]) })], undefined);
  const loader = new DetailLoader("", page, () => assert.fail("nothing is to be drawn anew"));
  loader.load((page.view.zoom = [10, 20]));
  mock.timers.tick(1000);
  page.view.zoom = [11, 12];
  await settled();
  loader.load(page.view.zoom);
  mock.timers.tick(1000);
  await settled();
  assert.equal(page.models()[0].detail, null);
});

test("a refusal is told in the server's words", async () => {
  answers(undefined);
  await assert.rejects(fetchSeries("", [["a"]]), /this link does not show it/);
});

test("a chart's samples are those that are drawn", () => {
  const model = modelOf("a");
  model.detail = { series: series("gpu_power_w", [1010.5], [7]) };
  const page = pageOf(model);
  page.view.zoom = [10, 11];
  assert.deepEqual(timeChartCsv(POWER, page).trim().split("\r\n").slice(1).map((row) => row.split(",")[5]), ["310", "7"]);
});

test("the legend hides an arm's runs together, shows one arm alone, and all again", () => {
  const page = pageOf(modelOf("a"), modelOf("b"), modelOf("c"));
  const legend = new Legend();
  legend.show([{ name: "A", color: 0, runs: ["a", "b"] }, { name: "C", color: 1, runs: ["c"] }], page);
  const press = (name) => {
    legend.refresh(page);
    [...legend.root.querySelectorAll("button")].find((one) => one.getAttribute("aria-label") === name).onclick();
    return page.view.visibleRuns(page.models()).map((model) => model.id).join("");
  };
  const shown = ["Hide A in the charts", "Show A in the charts", "Show only A in the charts", "Show only C in the charts"].map(press);
  assert.deepEqual(shown, ["c", "abc", "ab", "c"]);
  legend.refresh(page);
  assert.deepEqual([...legend.root.children].map((key) => [key.style.getPropertyValue("--lv-run"), key.classList.contains("lv-off")]), [["blue", true], ["brown", false]]);
});

test("one arm alone needs no legend", () => {
  const legend = new Legend();
  legend.show([{ name: "A", color: 0, runs: ["a"] }], pageOf(modelOf("a")));
  assert.equal(legend.root.hidden, true);
});

test("where nothing goes on there is nothing to follow, and what failed is said", () => {
  const toolbar = new Toolbar(pageOf(modelOf("a")), false);
  assert.equal(toolbar.root.querySelectorAll("fieldset").length, 0);
  assert.equal(toolbar.followButton.textContent, "Reset zoom");
  const said = [["loaded"], ["refused", "The charts could not be loaded"]].map((status) => {
    toolbar.setStatus(...status);
    return [toolbar.status.hidden, toolbar.status.textContent];
  });
  assert.deepEqual(said, [[true, ""], [false, "The charts could not be loaded"]]);
});
