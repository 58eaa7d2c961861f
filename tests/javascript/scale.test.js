// The logarithmic scale of a still chart: which figures allow it, and how the URL stores it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { canBeLog, isLogIn, withLogAxes, searchWithScale } from "../../web/static/still/scale.js";

const figure = (trace, layout = {}) => ({ data: [{ type: "scatter", y: [1, 20], ...trace }], layout: { yaxis: {}, yaxis2: {}, ...layout } });

test("a logarithmic scale is offered for points above 0, not for what starts at 0 or is not a number", () => {
  assert.ok(canBeLog(figure({})) && canBeLog(figure({ type: "box", y: [3, null, 4] })));
  for (const trace of [{ type: "bar" }, { type: "heatmap" }, { y: [0, 1] }, { y: [-1, 2] }, { y: ["fp8", "bf16"] }, { y: [null] }, { y: undefined }, { fill: "tozeroy" }])
    assert.equal(canBeLog(figure(trace)), false, JSON.stringify(trace));
  assert.equal(canBeLog(figure({}, { yaxis2: { type: "category" } })), false);
});

test("every y axis is made logarithmic, without its linear range and ticks", () => {
  const { yaxis, yaxis2, xaxis, height } = withLogAxes({ height: 280, xaxis: { range: [0, 1] }, yaxis: { range: [0, 9], dtick: 1, rangemode: "tozero", title: "t" }, yaxis2: { matches: "y" } });
  assert.deepEqual([yaxis.type, yaxis.range, yaxis.dtick, yaxis.rangemode, yaxis.title], ["log", undefined, undefined, "normal", "t"]);
  assert.deepEqual([yaxis2.type, yaxis2.matches, xaxis, height], ["log", "y", { range: [0, 1] }, 280]);
});

test("the URL stores the scale of each chart under its own name", () => {
  const search = searchWithScale("?x=k", "a", true);
  assert.deepEqual([search, isLogIn(search, "a"), isLogIn(search, "b")], ["?x=k&scale-a=log", true, false]);
  assert.equal(searchWithScale(search, "a", false), "?x=k");
  assert.equal(searchWithScale("?scale-a=log", "a", false), "");
});
