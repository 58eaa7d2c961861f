import assert from "node:assert/strict";
import { test } from "node:test";

import { changesFor, isOfAxes, searchWith, zoomIn, zoomOf } from "../../web/static/still/zoom.js";

const NOTHING = { xaxis: null, yaxis: null };

test("what is shown of a chart comes back from the address, of each under its own name", () => {
  const zoom = { xaxis: ["2026-11-20 12:00:00.5", "2026-11-21"], yaxis: [-0.1, 2 / 3] };
  const search = searchWith("?x=k&x=tp", "a", zoom);
  assert.deepEqual(zoomIn(search, "a"), { xaxis: zoom.xaxis, yaxis: [-0.1, 0.666666667] });
  assert.deepEqual(zoomIn(search, "b"), NOTHING);
  assert.equal(searchWith(searchWith(search, "b", { xaxis: [1, 2], yaxis: null }), "a", null), "?x=k&x=tp&zoom-b=1_2__");
  assert.deepEqual(zoomIn("?zoom-b=1_2__", "b"), { xaxis: [1, 2], yaxis: null });
  assert.equal(searchWith("?zoom-a=1_2_3_4", "a", NOTHING), "");
});

test("what cannot be is passed over", () => {
  for (const said of ["", "1", "1_1", "a_b", "Infinity_1", "1_NaN_x_", "<b>_2026"]) assert.deepEqual(zoomIn(`?zoom-a=${said}`, "a"), NOTHING, said);
});

test("an axis as it was drawn first is whole, and is shown so again", () => {
  const first = { xaxis: {}, yaxis: { range: [0, 1.02] } };
  const drawn = (xaxis, yaxis) => ({ xaxis, yaxis });
  assert.deepEqual(zoomOf(drawn({ autorange: true, range: [0, 9] }, { range: [0, 1.02] }), first), NOTHING);
  assert.deepEqual(zoomOf(drawn({ range: [2, 3] }, { range: [0, 1.02] }), first), { xaxis: [2, 3], yaxis: null });
  assert.deepEqual(changesFor(NOTHING, first), { "xaxis.autorange": true, "yaxis.range": [0, 1.02] });
  assert.deepEqual(changesFor({ xaxis: [2, 3], yaxis: [4, 5] }, first), { "xaxis.range": [2, 3], "yaxis.range": [4, 5] });
});

test("another size of the window is no zoom", () => {
  assert.equal(isOfAxes({ autosize: true }), false);
  for (const name of ["xaxis.range[0]", "yaxis3.autorange", "xaxis2.range"]) assert.ok(isOfAxes({ [name]: 1 }), name);
});
