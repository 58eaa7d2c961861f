// Work on many items is spread over animation frames; no item is lost, and none is processed twice for one request.

import assert from "node:assert/strict";
import { test } from "node:test";

import { PacedQueue } from "../../web/static/live/paced_queue.js";

/** A queue whose items take `cost` ms each, with a fake clock and frames that the test runs. */
function queueOf(cost) {
  const processed = [];
  const state = { now: 0, callback: null };
  const clock = {
    requestFrame: (callback) => {
      state.callback = callback;
      return 1;
    },
    now: () => state.now,
  };
  const queue = new PacedQueue((item) => {
    processed.push(item);
    state.now += cost;
  }, clock);
  const runFrame = () => {
    const { callback } = state;
    state.callback = null;
    callback?.();
    return processed.splice(0).join("");
  };
  return { queue, processed, state, runFrame };
}

test("cheap items are processed at once", () => {
  const { queue, processed, state } = queueOf(1);
  queue.add(["a", "b", "c"]);
  assert.deepEqual(processed, ["a", "b", "c"]);
  assert.equal(state.callback, null);
});

test("expensive items are spread over frames, in order", () => {
  const { queue, runFrame, processed } = queueOf(5);
  queue.add(["a", "b", "c", "d", "e"]);
  assert.equal(processed.splice(0).join(""), "ab");
  assert.deepEqual([runFrame(), runFrame(), runFrame()], ["cd", "e", ""]);
});

test("every item is processed even if all are added again before each frame", () => {
  const { queue, processed, runFrame } = queueOf(20);
  const order = [];
  for (let move = 0; move < 6; move += 1) {
    queue.add(["a", "b", "c"]);
    order.push(processed.splice(0).join("") + runFrame());
  }
  assert.equal(order.join(""), "abcabca");
});

test("an item that throws in a frame does not block items that are added later", () => {
  const { queue, processed, state, runFrame } = queueOf(20);
  const { process } = queue;
  queue.add(["a", "b", "c"]);
  queue.process = () => {
    throw new Error("broken for this test");
  };
  assert.throws(runFrame);
  queue.process = process;
  processed.length = 0;
  queue.add(["d"]);
  assert.deepEqual([processed.splice(0).join(""), state.callback === null], ["c", false]);
  assert.equal(runFrame(), "d");
});

test("items are not processed after the queue is cleared", () => {
  const { queue, processed, runFrame } = queueOf(20);
  queue.add(["a", "b", "c"]);
  queue.clear();
  assert.equal(runFrame(), "a");
  queue.add(["b"]);
  assert.deepEqual(processed, ["b"]);
});
