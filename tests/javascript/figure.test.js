import assert from "node:assert/strict";
import { test } from "node:test";

import { figureCsv, stations } from "../../web/static/still/figure.js";

const point = (name, meta, showlegend) => ({ type: "scatter", name, x: [1], y: [2], meta, showlegend });

test("every point of small charts is in the file, with its chart; a line that is no series is not", () => {
  const told = figureCsv({ data: [point("fp8", "a &lt;b>", true), point("fp8", "c", false)], layout: {} });
  assert.deepEqual(told.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high,chart", "fp8,1,2,,,,,,a <b>", "fp8,1,2,,,,,,c"]);
  const one = figureCsv({ data: [point("fp8", undefined, true), point("step", undefined, false)], layout: {} });
  assert.deepEqual(one.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high", "fp8,1,2,,,,,"]);
});

test("the keyboard walks over points and over the cells of a map that hold something", () => {
  const map = { type: "heatmap", x: ["0", "4"], y: ["a &lt;b>"], z: [[null, 7]], customdata: [[[], ["here"]]], text: [["", "7<br>2 starts"]] };
  const points = { type: "scatter", x: [1], y: [2], customdata: [["run-1"]], hovertext: ["one<br>2"] };
  const found = stations({ data: [points, map], layout: {} });
  assert.deepEqual(found, [{ says: ["run-1"], words: "one, 2" }, { says: ["here"], words: "4, a <b>: 7, 2 starts" }]);
});
