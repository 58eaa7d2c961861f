import assert from "node:assert/strict";
import { test } from "node:test";

import { finishText, rankFinishes } from "../../web/static/replay/lane.js";
import { Tape, arrangePieces } from "../../web/static/replay/tape.js";

const answer = (at_s, tokens, stream = 0) => ({ sent_s: 0, stream, at_s, tokens });

test("the pieces of several streams are ordered by arrival, and their tokens add up", () => {
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

test("the rate covers the last second, is unknown during the first one, and becomes the mean at the end", () => {
  const tape = new Tape([answer([0.5, 1.2, 1.4, 2], [1, 3, 5, 1])]);
  assert.equal(tape.rate(0.9), null);
  assert.equal(tape.rate(1.45), 9);
  assert.equal(tape.rate(2), 6, "nine tokens in the 1.5 s after the first");
  assert.equal(tape.rate(3.1), 6);
  assert.equal(new Tape([answer([1], [4])]).rate(3), null, "a single arrival time has no rate");
});

test("if a server did not count tokens, pieces are counted for the whole lane", () => {
  const tape = new Tape([answer([1], [7]), answer([2], null)]);
  assert.equal(tape.isCounted, false);
  assert.equal(tape.total(2), 2);
});

test("a run without times is empty and ends at 0", () => {
  const tape = new Tape([]);
  assert.deepEqual([tape.end_s, tape.total(5), tape.pieceCount(5)], [0, 0, 0]);
});

test("a block is as wide as its tokens, never split between rows, and never wider than a row", () => {
  const pieces = [3, 2, 9, 0, 1].map((tokens, at_s) => ({ at_s, tokens, stream: 0, total: 0 }));
  assert.deepEqual(arrangePieces(pieces, 4), [
    { row: 0, column: 0, width: 3 },
    { row: 1, column: 0, width: 2 },
    { row: 2, column: 0, width: 4 },
    { row: 3, column: 0, width: 1 },
    { row: 3, column: 1, width: 1 },
  ]);
});

test("each lane finishes with a place and its gap to the first; a single lane or one without times has neither", () => {
  const ends_s = [8.05, 6.98, 6.98, 0];
  const ranking = rankFinishes(ends_s);
  assert.deepEqual(ranking.slice(0, 3).map((finish, index) => finishText(ends_s[index], finish)), ["3rd, 8.05 s; +1.07 s", "1st, 6.98 s", "1st, 6.98 s"]);
  assert.equal(ranking[3], null);
  assert.equal(finishText(2, rankFinishes([2])[0]), "done at 2.00 s");
});
