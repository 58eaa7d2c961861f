import assert from "node:assert/strict";
import { test } from "node:test";

import { imageGeometry } from "../../web/static/live/chart_files.js";
import { figureCsv, keyboardStops, fitToWidth } from "../../web/static/still/figure.js";

const point = (name, meta, showlegend) => ({ type: "scatter", name, x: [1], y: [2], meta, showlegend });

test("the CSV file has every point of small multiples with its chart, and no line that is not a series", () => {
  const csv = figureCsv({ data: [point("fp8", "a &lt;b>", true), point("fp8", "c", false)], layout: {} });
  assert.deepEqual(csv.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high,chart", "fp8,1,2,,,,,,a <b>", "fp8,1,2,,,,,,c"]);
  const single = figureCsv({ data: [point("fp8", undefined, true), point("step", undefined, false)], layout: {} });
  assert.deepEqual(single.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high", "fp8,1,2,,,,,"]);
});

test("the CSV file has every cell of small heat maps with its map", () => {
  const map = { type: "heatmap", x: ["0", "4"], y: ["a"], z: [[null, 7]], meta: "c", showlegend: false };
  const csv = figureCsv({ data: [map, { ...map, z: [[5, null]], meta: "d" }], layout: {} });
  assert.deepEqual(csv.trim().split("\r\n").slice(1), [",0,a,,,,,,c", ",4,a,7,,,,,c", ",0,a,5,,,,,d", ",4,a,,,,,,d"]);
});

test("the keyboard reaches the points, and the cells of a heat map that are not empty", () => {
  const map = { type: "heatmap", x: ["0", "4"], y: ["a &lt;b>"], z: [[null, 7]], customdata: [[[], ["here"]]], hovertext: [["", "7<br>2 starts"]] };
  const points = { type: "scatter", x: [1], y: [2], customdata: [["run-1"]], hovertext: ["one<br>2"] };
  const stops = keyboardStops({ data: [points, map], layout: {} });
  assert.deepEqual(stops, [{ targets: ["run-1"], text: "one, 2" }, { targets: ["here"], text: "4, a <b>: 7, 2 starts" }]);
  const small = [{ ...map, meta: "vLLM" }, { ...map, meta: "&lt;i>", customdata: [[["there"], []]], hovertext: [["5<br>1 start", ""]] }];
  const texts = keyboardStops({ data: small, layout: {} }).map(({ text }) => text);
  assert.deepEqual(texts, ["vLLM, 4, a <b>: 7, 2 starts", "<i>, 0, a <b>: 5, 1 start"], "each names its own heat map");
});

test("an image keeps the margins of small multiples and has its legend below their labels", () => {
  const single = imageGeometry({ margin: { l: 44, b: 40 } });
  assert.deepEqual([single.margin.l, single.margin.b, single.height, single.legend.y], [60, 40, 500, undefined]);
  const small = imageGeometry({ margin: { l: 136, b: 154 } });
  assert.deepEqual([small.margin.l, small.margin.b, small.height], [136, 154, 614]);
  const chart = small.height - small.margin.t - small.margin.b;
  assert.equal(-small.legend.y * chart, 154);
});

test("a narrow heat map has no colour scale, which would take half of its width", () => {
  const map = { data: [], layout: { coloraxis: { colorscale: "Cividis" } } };
  assert.deepEqual([fitToWidth(map, 360).layout.coloraxis, fitToWidth(map, 900).layout], [{ colorscale: "Cividis", showscale: false }, map.layout]);
  assert.deepEqual(fitToWidth({ data: [], layout: { height: 280 } }, 360).layout, { height: 280 });
});

test("the legend of a narrow chart is below it", () => {
  const points = { data: [point("a", undefined, true)], layout: { height: 520, legend: { title: { text: "k" } } } };
  assert.equal(fitToWidth(points, 900).layout, points.layout);
  const { legend } = fitToWidth(points, 360).layout;
  assert.deepEqual([legend.orientation, legend.y < 0, legend.title.text], ["h", true, "k"]);
});

test("the texts of a heat map are as large as its cells allow, and markup takes no room", () => {
  const markup = '<span style="color:#ffffff">150<br>3 starts</span>';
  const size = (columns, width, layout = {}) => {
    const map = { type: "heatmap", x: Array(columns).fill("4"), y: ["a", "b"], z: [[7]], text: [[markup, ""]] };
    return fitToWidth({ data: [map], layout: { height: 520, ...layout } }, width).data[0].textfont.size;
  };
  assert.deepEqual([size(4, 1200), size(4, 366), size(12, 366)], [12, 12, 7], "at least the smallest readable size");
  assert.equal(size(4, 500, { xaxis: { domain: [0, 0.5] } }), 10, "a heat map of half the width");
  assert.equal(size(4, 366, { margin: { l: 140 } }), 11, "with a wide margin for long labels");
  assert.equal(size(2, 500, { height: 130, margin: { t: 40, b: 40 } }), 9, "no higher than its row");
  const points = { data: [point("a", undefined, true)], layout: { height: 520 } };
  assert.equal(fitToWidth(points, 366).data[0], points.data[0]);
});
