// A still chart's height on a logarithmic scale: where it can be, and how the address keeps it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { canBeLog, isLogIn, onLog, searchOnScale } from "../../web/static/still/scale.js";

const figure = (trace, layout = {}) => ({ data: [{ type: "scatter", y: [1, 20], ...trace }], layout: { yaxis: {}, yaxis2: {}, ...layout } });

test("points above 0 can be shown so, what begins at 0 or is no number cannot", () => {
  assert.ok(canBeLog(figure({})) && canBeLog(figure({ type: "box", y: [3, null, 4] })));
  for (const trace of [{ type: "bar" }, { type: "heatmap" }, { y: [0, 1] }, { y: [-1, 2] }, { y: ["fp8", "bf16"] }, { y: [null] }, { y: undefined }, { fill: "tozeroy" }])
    assert.equal(canBeLog(figure(trace)), false, JSON.stringify(trace));
  assert.equal(canBeLog(figure({}, { yaxis2: { type: "category" } })), false);
});

test("every height is on it, and what was said of a linear one is left out", () => {
  const { yaxis, yaxis2, xaxis, height } = onLog({ height: 280, xaxis: { range: [0, 1] }, yaxis: { range: [0, 9], dtick: 1, rangemode: "tozero", title: "t" }, yaxis2: { matches: "y" } });
  assert.deepEqual([yaxis.type, yaxis.range, yaxis.dtick, yaxis.rangemode, yaxis.title], ["log", undefined, undefined, "normal", "t"]);
  assert.deepEqual([yaxis2.type, yaxis2.matches, xaxis, height], ["log", "y", { range: [0, 1] }, 280]);
});

test("the address keeps it, of each chart under its own name", () => {
  const search = searchOnScale("?x=k", "a", true);
  assert.deepEqual([search, isLogIn(search, "a"), isLogIn(search, "b")], ["?x=k&scale-a=log", true, false]);
  assert.equal(searchOnScale(search, "a", false), "?x=k");
  assert.equal(searchOnScale("?scale-a=log", "a", false), "");
});
