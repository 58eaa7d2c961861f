// Charts that all move are moved a few a frame, none is forgotten and none is moved twice for one move.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Paced } from "../../web/static/live/paced.js";

/** A clock of which each piece of work takes `cost` ms, and frames that the test lets come. */
function paced(cost) {
  const done = [];
  const state = { now: 0, next: null };
  const clock = {
    frame: (call) => {
      state.next = call;
      return 1;
    },
    now: () => state.now,
  };
  const turns = new Paced((item) => {
    done.push(item);
    state.now += cost;
  }, clock);
  const frame = () => {
    const { next } = state;
    state.next = null;
    next?.();
    return done.splice(0).join("");
  };
  return { turns, done, state, frame };
}

test("what is cheap is done at once", () => {
  const { turns, done, state } = paced(1);
  turns.ask(["a", "b", "c"]);
  assert.deepEqual(done, ["a", "b", "c"]);
  assert.equal(state.next, null);
});

test("what is dear is spread over the frames, in order", () => {
  const { turns, frame, done } = paced(5);
  turns.ask(["a", "b", "c", "d", "e"]);
  assert.equal(done.splice(0).join(""), "ab");
  assert.deepEqual([frame(), frame(), frame()], ["cd", "e", ""]);
});

test("under a hand that goes on moving each gets its turn", () => {
  const { turns, done, frame } = paced(20);
  const seen = [];
  for (let move = 0; move < 6; move += 1) {
    turns.ask(["a", "b", "c"]);
    seen.push(done.splice(0).join("") + frame());
  }
  assert.equal(seen.join(""), "abcabca");
});

test("one that fails in a frame holds up none that is asked for later", () => {
  const { turns, done, state, frame } = paced(20);
  const { work } = turns;
  turns.ask(["a", "b", "c"]);
  turns.work = () => {
    throw new Error("broken for this test");
  };
  assert.throws(frame);
  turns.work = work;
  done.length = 0;
  turns.ask(["d"]);
  assert.deepEqual([done.splice(0).join(""), state.next === null], ["c", false]);
  assert.equal(frame(), "d");
});

test("what is not wanted any more is not done", () => {
  const { turns, done, frame } = paced(20);
  turns.ask(["a", "b", "c"]);
  turns.drop();
  assert.equal(frame(), "a");
  turns.ask(["b"]);
  assert.deepEqual(done, ["b"]);
});
