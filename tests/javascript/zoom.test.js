import assert from "node:assert/strict";
import { test } from "node:test";

import { relayoutFor, changesRange, searchWithZoom, zoomIn, zoomOf } from "../../web/static/still/zoom.js";

const NOT_ZOOMED = { xaxis: null, yaxis: null };

test("the URL stores the zoom of each chart under its own name", () => {
  const zoom = { xaxis: ["2026-11-20 12:00:00.5", "2026-11-21"], yaxis: [-0.1, 2 / 3] };
  const search = searchWithZoom("?x=k&x=tp", "a", zoom);
  assert.deepEqual(zoomIn(search, "a"), { xaxis: zoom.xaxis, yaxis: [-0.1, 0.666666667] });
  assert.deepEqual(zoomIn(search, "b"), NOT_ZOOMED);
  assert.equal(searchWithZoom(searchWithZoom(search, "b", { xaxis: [1, 2], yaxis: null }), "a", null), "?x=k&x=tp&zoom-b=1_2__");
  assert.deepEqual(zoomIn("?zoom-b=1_2__", "b"), { xaxis: [1, 2], yaxis: null });
  assert.equal(searchWithZoom("?zoom-a=1_2_3_4", "a", NOT_ZOOMED), "");
});

test("an invalid zoom is ignored", () => {
  for (const zoom of ["", "1", "1_1", "a_b", "Infinity_1", "1_NaN_x_", "<b>_2026"]) {
    assert.deepEqual(zoomIn(`?zoom-a=${zoom}`, "a"), NOT_ZOOMED, zoom);
  }
});

test("an axis with its initial range is not zoomed, and resetting restores that range", () => {
  const initial = { xaxis: {}, yaxis: { range: [0, 1.02] } };
  assert.deepEqual(zoomOf({ xaxis: { autorange: true, range: [0, 9] }, yaxis: { range: [0, 1.02] } }, initial), NOT_ZOOMED);
  assert.deepEqual(zoomOf({ xaxis: { range: [2, 3] }, yaxis: { range: [0, 1.02] } }, initial), { xaxis: [2, 3], yaxis: null });
  assert.deepEqual(relayoutFor(NOT_ZOOMED, initial), { "xaxis.autorange": true, "yaxis.range": [0, 1.02] });
  assert.deepEqual(relayoutFor({ xaxis: [2, 3], yaxis: [4, 5] }, initial), { "xaxis.range": [2, 3], "yaxis.range": [4, 5] });
});

test("a resized window is not a zoom", () => {
  assert.equal(changesRange({ autosize: true }), false);
  for (const name of ["xaxis.range[0]", "yaxis3.autorange", "xaxis2.range"]) assert.ok(changesRange({ [name]: 1 }), name);
});
