import assert from "node:assert/strict";
import { test } from "node:test";

import { RunModel } from "../../web/static/live/model.js";
import { META, RUN, line, part, series, snapshot } from "./messages.js";

function modelOf(...messages) {
  const model = new RunModel(RUN);
  messages.forEach((message) => model.apply(message));
  return model;
}

test("a snapshot replaces all data; later messages add to it", () => {
  const model = modelOf(
    snapshot({ series: series("decode_tps", [1, 2], [10, 20]), log: [line(0)], now: { decode_tps: { v: 20, why: null } } }),
    snapshot({ series: series("steps_per_s", [5], [7]), log: [line(3)] }),
    part("delta", 5, { series: series("steps_per_s", [6], [8]), log: [line(9)], now: { steps_per_s: { v: 8, why: null } } }),
  );
  assert.deepEqual(model.series, { steps_per_s: { t: [5, 6], v: [7, 8], excluded: [0, 0], mean: [7, 8], count: [1, 1] } });
  assert.deepEqual(model.log.map(({ at }) => at), [3, 9]);
  assert.deepEqual(Object.keys(model.now), ["steps_per_s"]);
  assert.deepEqual([model.seq, model.cursor, model.lastPointTime], [5, "after 5", 6]);
});

test("points and lines that a backfill repeats are added once", () => {
  const model = modelOf(snapshot({ series: series("decode_tps", [1, 2, 3], [10, 20, 30]), log: [line(0), line(9)] }));
  const changes = model.apply(part("backfill", 12, { series: series("decode_tps", [2, 3, 4], [20, 30, 40]), log: [line(9), line(20)] }));
  assert.deepEqual(model.series.decode_tps, { t: [1, 2, 3, 4], v: [10, 20, 30, 40], excluded: [0, 0, 0, 0], mean: [10, 20, 30, 40], count: [1, 1, 1, 1] });
  assert.deepEqual(changes.log.map(({ at }) => at), [20]);
  assert.equal(changes.redrawAll, false);
});

test("a gap stays null, and excluded values are marked", () => {
  const model = modelOf(snapshot({ series: series("decode_tps", [1, 2, 3], [10, null, 0], [0, 1, 1]) }));
  assert.deepEqual(model.series.decode_tps, { t: [1, 2, 3], v: [10, null, 0], excluded: [0, 1, 1], mean: [10, null, 0], count: [1, 0, 1] });
});

test("only the next delta follows a message; a backfill sets a new sequence number", () => {
  const model = modelOf(snapshot());
  assert.deepEqual([4, 5, 6].map((seq) => model.follows(part("delta", seq))), [false, true, false]);
  model.apply(part("backfill", 12));
  assert.deepEqual([5, 13].map((seq) => model.follows(part("delta", seq))), [false, true]);
  assert.ok(model.follows(part("backfill", 3)) && model.follows(snapshot()));
});

test("a run that no longer exists has a reason, until there is data of it again", () => {
  const model = modelOf({ type: "gone", run: RUN, server_t: 1, reason: "no run has this id" });
  assert.equal(model.goneReason, "no run has this id");
  assert.equal(model.meta, null);
  model.apply(snapshot());
  assert.equal(model.goneReason, null);
});

test("a value holds until the next one, but not across a gap and not for ever", () => {
  const model = modelOf(snapshot({ series: series("decode_tps", [100, 101, 102, 103], [1, 2, null, 4]) }));
  const valueAt = (time) => model.valueAt("decode_tps", time);
  assert.deepEqual([99.9, 100, 101.9, 102.5, 103, 118, 118.1].map(valueAt), [null, 1, 2, null, 4, 4, null]);
  assert.equal(model.valueAt("gpu_power_w", 100), null);
});

test("in a series with wide spacing a value holds for three times the spacing", () => {
  const model = modelOf(snapshot({ series: series("decode_tps", [0, 100, 200, 300], [1, 2, 3, 4]) }));
  assert.deepEqual([199, 525, 526].map((time) => model.valueAt("decode_tps", time)), [2, 4, null]);
});

test("a run's own time starts when it was ready, otherwise started, otherwise created", () => {
  const anchors = [{}, { ready_t: null }, { ready_t: null, started_t: null }].map((meta) => modelOf(snapshot({}, meta)).anchor);
  assert.deepEqual(anchors, [1000, 995, 990]);
});

test("new metadata of a run redraws everything", () => {
  const model = modelOf(snapshot());
  assert.equal(model.apply(part("delta", 5)).redrawAll, false);
  assert.equal(model.apply(part("delta", 6, { meta: { ...META, state: "finished" } })).redrawAll, true);
  assert.ok(model.isFinal);
  assert.equal(model.apply(part("delta", 7, { per_position: { v: [0.8], why: null } })).positions, true);
});

test("at most 300 log lines are kept, and too many points are detected", () => {
  const numbers = Array.from({ length: 4000 }, (_, index) => index);
  const model = modelOf(snapshot({ log: numbers.map((number) => line(number)), series: series("decode_tps", numbers, numbers) }));
  assert.deepEqual([model.log.length, model.log[0].at], [300, 3700]);
  assert.equal(model.hasTooManyPoints, false);
  model.apply(part("delta", 5, { log: [line(4000)] }));
  assert.deepEqual([model.log.length, model.log[0].at], [300, 3701]);
  model.apply(part("delta", 6, { series: series("decode_tps", [4000], [1]) }));
  assert.equal(model.hasTooManyPoints, true);
});

test("a run of another Pitwall is away until new data arrives, and keeps its data meanwhile", () => {
  const model = modelOf(snapshot({ series: series("decode_tps", [1], [10]) }));
  model.apply({ type: "away", run: RUN, server_t: 1101, reason: "box-2: it does not answer" });
  assert.equal(model.awayReason, "box-2: it does not answer");
  assert.deepEqual([model.seq, model.series.decode_tps.v], [4, [10]]);
  model.apply(part("delta", 5));
  assert.equal(model.awayReason, null);
});

test("a run has the latest list of its other machines, and a snapshot without a list clears it", () => {
  const node = { title: "w", t: 1, gpu_count: 2, gpu_power_w: 500, gpu_sm_clock_mhz: null, cpu_cores: null, cores: 8, memory_used_bytes: null };
  const model = modelOf(snapshot({ nodes: [node] }), part("delta", 5));
  assert.deepEqual(model.nodes, [node]);
  model.apply(snapshot());
  assert.deepEqual(model.nodes, []);
});

test("a cancelled run has ended", () => {
  const hasEnded = (state) => modelOf(snapshot({ meta: { ...META, state } })).isFinal;
  assert.deepEqual(["queued", "running", "finished", "failed", "cancelled"].map(hasEnded), [false, false, true, true, true]);
});
