import assert from "node:assert/strict";
import { test } from "node:test";

import { figureCsv } from "../../web/static/still/figure.js";

const point = (name, meta, showlegend) => ({ type: "scatter", name, x: [1], y: [2], meta, showlegend });

test("every point of small charts is in the file, with its chart; a line that is no series is not", () => {
  const told = figureCsv({ data: [point("fp8", "a &lt;b>", true), point("fp8", "c", false)], layout: {} });
  assert.deepEqual(told.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high,chart", "fp8,1,2,,,,,,a <b>", "fp8,1,2,,,,,,c"]);
  const one = figureCsv({ data: [point("fp8", undefined, true), point("step", undefined, false)], layout: {} });
  assert.deepEqual(one.trim().split("\r\n"), ["name,x,y,value,x_low,x_high,y_low,y_high", "fp8,1,2,,,,,"]);
});
