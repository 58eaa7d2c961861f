import assert from "node:assert/strict";
import { test } from "node:test";

import { DASH, byteSize, clock, threeDigits } from "../../web/static/live/format.js";

test("a number has three significant digits and no exponent; an unknown one is a dash, and zero is zero", () => {
  const texts = [107.3, 25.04, 4.278, 0.03124, 0.00000312, 876006, -4.278, 0, null, undefined, NaN].map(threeDigits);
  assert.deepEqual(texts, ["107", "25.0", "4.28", "0.0312", "0.00000312", "876,006", "-4.28", "0", DASH, DASH, DASH]);
});

test("bytes have binary units", () => {
  assert.deepEqual([0, 1023, 1024, 1.3e9, 2 ** 60].map(byteSize), [["0", "B"], ["1,023", "B"], ["1.00", "KiB"], ["1.21", "GiB"], ["1,048,576", "TiB"]]);
});

test("a duration is formatted like a clock, with a minus before the start", () => {
  assert.deepEqual([0, 7, 134.4, 3734, -5, -0.2].map(clock), ["0:00", "0:07", "2:14", "1:02:14", "\u22120:05", "0:00"]);
});
