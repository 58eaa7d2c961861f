// The interval band of an arm's repeats: over runs, not over samples.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { bandTraces, bandsOf, intervalAt } from "../../web/static/live/bands.js";
import { CHARTS, TimeChart } from "../../web/static/live/charts.js";
import { RunModel } from "../../web/static/live/model.js";
import { View } from "../../web/static/live/view.js";
import { series, snapshot } from "./messages.js";
import { PlotlyStandIn, openPage } from "./page_stand_in.js";

const POWER = CHARTS.find((spec) => spec.id === "power");
const THEME = { font: "Inter", muted: "#666", grid: "#ddd", excluded: "#aaa", doubt: "amber", color: () => "blue", dash: () => "solid" };
const T = [12.706, 4.303];
const TIMES = [...Array(100).keys()].map((second) => 1001 + second);

beforeEach(() => {
  openPage();
  globalThis.Plotly = new PlotlyStandIn();
});

function modelOf(id, value) {
  const model = new RunModel(id);
  const part = snapshot({ series: series("gpu_power_w", TIMES, TIMES.map(() => value)) }, { id, name: id });
  model.apply({ ...part, run: id });
  return model;
}

function pageOf(values, arms) {
  const models = Object.entries(values).map(([id, value]) => modelOf(id, value));
  const named = arms.map((runs) => ({ name: runs[0], color: 0, runs }));
  return { view: new View(), models: () => models, label: ({ meta }) => meta.name, theme: () => THEME, arms: () => named, quantiles: () => T, onMark: () => undefined };
}

test("the interval is by Student's t over the runs: more samples per run do not narrow it", () => {
  const { mean, low, high } = intervalAt(5, [90, 110], T);
  assert.equal(mean, 100);
  assert.ok(Math.abs(high - (100 + 12.706 * 10)) < 1e-9 && low > 0, "it ends above 0, for logarithmic axes");
  const [{ intervals }] = bandsOf(POWER, pageOf({ a: 90, b: 110 }, [["a", "b"]]));
  for (const interval of intervals) assert.ok(Math.abs(interval.high - high) < 1e-9 && interval.mean === 100);
  assert.ok(intervals.length > 30);
});

test("a band over thinned runs averages all samples, not the remaining extremes", () => {
  const page = pageOf({ a: 90, b: 110 }, [["a", "b"]]);
  for (const model of page.models()) {
    const { v, mean, count } = model.series.gpu_power_w;
    v.forEach((value, index) => ([v[index], mean[index], count[index]] = [value + 400, index % 2 ? value + 6 : value - 2, index % 2 ? 1 : 3]));
  }
  const means = new Set(bandsOf(POWER, page)[0].intervals.map(({ mean }) => mean));
  assert.deepEqual([...means].sort((a, b) => a - b), [98, 100, 106]); // bins with points of three samples, of one, or both
});

test("a single run has no band, nor has any run on the wall clock, and a hidden repeat does not count", () => {
  assert.deepEqual(bandsOf(POWER, pageOf({ a: 90 }, [["a"]])), []);
  const page = pageOf({ a: 90, b: 100, c: 200 }, [["a", "b", "c"]]);
  page.view.hide(["c"], page.models());
  assert.equal(bandsOf(POWER, page)[0].intervals[0].mean, 95);
  page.view.usesWallClock = true;
  assert.deepEqual(bandsOf(POWER, page), []);
});

test("a chart draws the runs faintly, then the band and the mean, and a wide band does not extend the y axis", () => {
  const chart = new TimeChart(POWER, pageOf({ a: 90, b: 110 }, [["a", "b"]]));
  chart.isInView = true;
  chart.react();
  const { data, layout } = chart.frame.plot;
  assert.deepEqual(data.map(({ opacity, fill }) => [opacity, fill]), [[0.35, undefined], [0.35, undefined], [0.18, "toself"], [undefined, undefined]]);
  assert.ok(layout.yaxis.range[1] < 120);
});

test("a band is a closed outline", () => {
  const intervals = [{ x: 1, mean: 2, low: 1, high: 3 }, { x: 2, mean: 3, low: 2, high: 4 }];
  const [band] = bandTraces({ color: "blue", name: "a", runIds: new Set(), intervals });
  assert.deepEqual([band.x, band.y], [[1, 2, 2, 1], [3, 4, 2, 1]]);
});
