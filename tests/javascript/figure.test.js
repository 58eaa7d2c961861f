import assert from "node:assert/strict";
import { test } from "node:test";

import { placed } from "../../web/static/live/chart_files.js";
import { figureCsv, stations, within } from "../../web/static/still/figure.js";

const point = (name, meta, showlegend) => ({ type: "scatter", name, x: [1], y: [2], meta, showlegend });

test("every point of small charts is in the file, with its chart; a line that is no series is not", () => {
  const told = figureCsv({ data: [point("fp8", "a &lt;b>", true), point("fp8", "c", false)], layout: {} });
  assert.deepEqual(told.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high,chart", "fp8,1,2,,,,,,a <b>", "fp8,1,2,,,,,,c"]);
  const one = figureCsv({ data: [point("fp8", undefined, true), point("step", undefined, false)], layout: {} });
  assert.deepEqual(one.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high", "fp8,1,2,,,,,"]);
});

test("every cell of small maps is in the file, with its map", () => {
  const map = { type: "heatmap", x: ["0", "4"], y: ["a"], z: [[null, 7]], meta: "c", showlegend: false };
  const told = figureCsv({ data: [map, { ...map, z: [[5, null]], meta: "d" }], layout: {} });
  assert.deepEqual(told.trim().split("\r\n").slice(1), [",0,a,,,,,,c", ",4,a,7,,,,,c", ",0,a,5,,,,,d", ",4,a,,,,,,d"]);
});

test("the keyboard walks over points and over the cells of a map that hold something", () => {
  const map = { type: "heatmap", x: ["0", "4"], y: ["a &lt;b>"], z: [[null, 7]], customdata: [[[], ["here"]]], hovertext: [["", "7<br>2 starts"]] };
  const points = { type: "scatter", x: [1], y: [2], customdata: [["run-1"]], hovertext: ["one<br>2"] };
  const found = stations({ data: [points, map], layout: {} });
  assert.deepEqual(found, [{ says: ["run-1"], words: "one, 2" }, { says: ["here"], words: "4, a <b>: 7, 2 starts" }]);
  const small = [{ ...map, meta: "vLLM" }, { ...map, meta: "&lt;i>", customdata: [[["there"], []]], hovertext: [["5<br>1 start", ""]] }];
  const words = stations({ data: small, layout: {} }).map((one) => one.words);
  assert.deepEqual(words, ["vLLM, 4, a <b>: 7, 2 starts", "<i>, 0, a <b>: 5, 1 start"], "of small maps each says which it is on");
});

test("a picture keeps the room that small charts made for their texts, and its legend stands below them", () => {
  const one = placed({ margin: { l: 44, b: 40 } });
  assert.deepEqual([one.margin.l, one.margin.b, one.height, one.legend.y], [60, 40, 500, undefined]);
  const small = placed({ margin: { l: 136, b: 154 } });
  assert.deepEqual([small.margin.l, small.margin.b, small.height], [136, 154, 614]);
  const chart = small.height - small.margin.t - small.margin.b;
  assert.equal(-small.legend.y * chart, 154);
});

test("in a narrow place a map has no scale of colours beside it, which would take half of the place", () => {
  const map = { data: [], layout: { coloraxis: { colorscale: "Cividis" } } };
  assert.deepEqual([within(map, 360).layout.coloraxis, within(map, 900).layout], [{ colorscale: "Cividis", showscale: false }, map.layout]);
  assert.deepEqual(within({ data: [], layout: { height: 280 } }, 360).layout, { height: 280 });
});

test("the numbers of a map are as large as its cells have room for: their markup takes none", () => {
  const told = '<span style="color:#ffffff">150<br>3 starts</span>';
  const size = (columns, width, layout = {}) => {
    const map = { type: "heatmap", x: Array(columns).fill("4"), y: ["a", "b"], z: [[7]], text: [[told, ""]] };
    return within({ data: [map], layout: { height: 520, ...layout } }, width).data[0].textfont.size;
  };
  assert.deepEqual([size(4, 1200), size(4, 366), size(12, 366)], [12, 12, 7], "no smaller, it could not be read");
  assert.equal(size(4, 500, { xaxis: { domain: [0, 0.5] } }), 10, "of a small one");
  assert.equal(size(4, 366, { margin: { l: 140 } }), 11, "beside long names");
  assert.equal(size(2, 500, { height: 130, margin: { t: 40, b: 40 } }), 9, "nor higher than its row");
  const points = { data: [point("a", undefined, true)], layout: { height: 520 } };
  assert.equal(within(points, 366).data[0], points.data[0]);
});
