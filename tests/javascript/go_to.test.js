// The address changes once the page's script is at rest, and not where somebody has gone elsewhere by then.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

Object.assign(globalThis, { location: {}, history: { pushState() {} }, addEventListener() {} });
const { mount } = await import("../../web/static/go_to.js");

const FROM = "http://pitwall.test/";
let timers, went, isAtRest;
let id = 0;

beforeEach(() => {
  timers = [];
  went = [];
  isAtRest = false;
  const goes = (word) => (_state, _title, url) => went.push(`${word} ${url}`);
  Object.assign(globalThis, {
    location: new URL(FROM),
    document: { querySelector: () => (isAtRest ? {} : null) },
    history: { pushState: goes("push"), replaceState: goes("replace") },
    dispatchEvent: () => undefined,
    PopStateEvent: class {},
  });
  globalThis.realTimeout ??= globalThis.setTimeout;
  globalThis.setTimeout = (call) => timers.push(call);
});

afterEach(() => {
  globalThis.setTimeout = globalThis.realTimeout;
});

/** @param {boolean} rests whether the script is at rest by then */
function look(rests) {
  isAtRest = rests;
  for (const call of timers.splice(0)) call();
  return went.join(", ");
}

const go = (address, replaces = false) => mount({ data: { id: String(++id), address, replaces } });

test("it waits for the script, and for the run that begins at once after it", () => {
  go("live?run=a");
  const seen = [look(false), look(true), look(false), look(true), look(true)];
  assert.deepEqual(seen, ["", "", "", "", `push ${FROM}live?run=a`]);
  assert.equal(timers.length, 0);
});

test("where Back is to pass the page over its address is replaced", () => {
  go("compare?run=a", true);
  look(true);
  assert.equal(look(true), `replace ${FROM}compare?run=a`);
});

test("somebody who has gone elsewhere stays there", () => {
  go("live?run=a");
  look(true);
  globalThis.location.href = `${FROM}runs`;
  assert.equal(look(true), "");
  assert.equal(timers.length, 0);
});

test("a page that only writes its own address is left all the same, once", () => {
  go("live?run=a");
  go("live?run=a");
  look(true);
  globalThis.location.href = `${FROM}?fold=queue`;
  globalThis.history.pushState = (_state, _title, url) => {
    went.push(String(url));
    globalThis.location.href = url.href;
  };
  assert.equal(look(true), `${FROM}live?run=a`);
});

test("a script that never rests is left after ten seconds", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  go("live?run=a");
  const seen = [look(false)];
  now = 9_900;
  seen.push(look(false));
  now = 10_100;
  assert.deepEqual([...seen, look(false)], ["", "", `push ${FROM}live?run=a`]);
});

test("a quick Back is not undone: a redirect that was followed is not followed again", () => {
  go("run?run=a");
  look(true);
  assert.equal(look(true), `push ${FROM}run?run=a`);
  mount({ data: { id: String(id), address: "run?run=a", replaces: false } });
  assert.equal([look(true), look(true)].at(-1), `push ${FROM}run?run=a`);
  assert.equal(timers.length, 0);
});
