import assert from "node:assert/strict";
import { test } from "node:test";

import { finishText, finishes } from "../../web/static/replay/lane.js";
import { Tape, laidOut } from "../../web/static/replay/tape.js";

const answer = (at_s, tokens, stream = 0) => ({ sent_s: 0, stream, at_s, tokens });

test("pieces of several streams stand in the order in which they came, and their tokens add up", () => {
  const tape = new Tape([answer([1, 3], [1, 4]), answer([2, 2.5], [2, 1], 1)]);
  assert.deepEqual(tape.pieces.map((piece) => [piece.at_s, piece.stream, piece.total]), [
    [1, 0, 1],
    [2, 1, 3],
    [2.5, 1, 4],
    [3, 0, 8],
  ]);
  assert.deepEqual([0, 1, 2.2, 3, 9].map((t) => tape.total(t)), [0, 1, 3, 8, 8]);
  assert.equal(tape.end_s, 3);
});

test("the rate is of the last second, not known before one has passed, and the mean from the end on", () => {
  const tape = new Tape([answer([0.5, 1.2, 1.4, 2], [1, 3, 5, 1])]);
  assert.equal(tape.rate(0.9), null);
  assert.equal(tape.rate(1.45), 9);
  assert.equal(tape.rate(2), 6, "nine tokens in the 1.5 s after the first");
  assert.equal(tape.rate(3.1), 6);
  assert.equal(new Tape([answer([1], [4])]).rate(3), null, "all at once shows no rate");
});

test("where the server counted no tokens pieces are counted, and nothing is called a token", () => {
  const tape = new Tape([answer([1], [7]), answer([2], null)]);
  assert.equal(tape.isCounted, false);
  assert.equal(tape.total(2), 2);
});

test("a run without times is empty and ends at once", () => {
  const tape = new Tape([]);
  assert.deepEqual([tape.end_s, tape.total(5), tape.come(5)], [0, 0, 0]);
});

test("a block is as wide as its tokens, never split over rows, and never wider than one", () => {
  const pieces = [3, 2, 9, 0, 1].map((tokens, at_s) => ({ at_s, tokens, stream: 0, total: 0 }));
  assert.deepEqual(laidOut(pieces, 4), [
    { row: 0, column: 0, width: 3 },
    { row: 1, column: 0, width: 2 },
    { row: 2, column: 0, width: 4 },
    { row: 3, column: 0, width: 1 },
    { row: 3, column: 1, width: 1 },
  ]);
});

test("each lane ends with its place and its gap to the first; a lane alone or without times has neither", () => {
  const ends_s = [8.05, 6.98, 6.98, 0];
  const order = finishes(ends_s);
  assert.deepEqual(order.slice(0, 3).map((finish, index) => finishText(ends_s[index], finish)), ["3rd, 8.05 s; +1.07 s", "1st, 6.98 s", "1st, 6.98 s"]);
  assert.equal(order[3], null);
  assert.equal(finishText(2, finishes([2])[0]), "done at 2.00 s");
});
