// A redirect changes the URL once the page's script is idle, unless the user has gone elsewhere by then.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

Object.assign(globalThis, { location: {}, history: { pushState() {} }, addEventListener() {} });
const { mount } = await import("../../web/static/redirect.js");

const FROM = "http://pitwall.test/";
let timers, changes, isIdle;
let id = 0;

beforeEach(() => {
  timers = [];
  changes = [];
  isIdle = false;
  const record = (kind) => (_state, _title, url) => changes.push(`${kind} ${url}`);
  Object.assign(globalThis, {
    location: new URL(FROM),
    document: { querySelector: () => (isIdle ? {} : null) },
    history: { pushState: record("push"), replaceState: record("replace") },
    dispatchEvent: () => undefined,
    PopStateEvent: class {},
  });
  globalThis.realTimeout ??= globalThis.setTimeout;
  globalThis.setTimeout = (callback) => timers.push(callback);
});

afterEach(() => {
  globalThis.setTimeout = globalThis.realTimeout;
});

/** @param {boolean} isScriptIdle */
function runTimers(isScriptIdle) {
  isIdle = isScriptIdle;
  for (const callback of timers.splice(0)) callback();
  return changes.join(", ");
}

const redirect = (address, replaces = false) => mount({ data: { id: String(++id), address, replaces } });

test("it waits for the script, and for a rerun that follows at once", () => {
  redirect("live?run=a");
  const urlChanges = [runTimers(false), runTimers(true), runTimers(false), runTimers(true), runTimers(true)];
  assert.deepEqual(urlChanges, ["", "", "", "", `push ${FROM}live?run=a`]);
  assert.equal(timers.length, 0);
});

test("with replaces, the history entry is replaced", () => {
  redirect("compare?run=a", true);
  runTimers(true);
  assert.equal(runTimers(true), `replace ${FROM}compare?run=a`);
});

test("a user who has gone elsewhere stays there", () => {
  redirect("live?run=a");
  runTimers(true);
  globalThis.location.href = `${FROM}runs`;
  assert.equal(runTimers(true), "");
  assert.equal(timers.length, 0);
});

test("a page that only changes its own query is still left, and only once", () => {
  redirect("live?run=a");
  redirect("live?run=a");
  runTimers(true);
  globalThis.location.href = `${FROM}?fold=queue`;
  globalThis.history.pushState = (_state, _title, url) => {
    changes.push(String(url));
    globalThis.location.href = url.href;
  };
  assert.equal(runTimers(true), `${FROM}live?run=a`);
});

test("a redirect gives up waiting for the script after ten seconds", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  redirect("live?run=a");
  const urlChanges = [runTimers(false)];
  now = 9_900;
  urlChanges.push(runTimers(false));
  now = 10_100;
  assert.deepEqual([...urlChanges, runTimers(false)], ["", "", `push ${FROM}live?run=a`]);
});

test("a quick Back is not undone: a redirect is followed only once", () => {
  redirect("run?run=a");
  runTimers(true);
  assert.equal(runTimers(true), `push ${FROM}run?run=a`);
  mount({ data: { id: String(id), address: "run?run=a", replaces: false } });
  assert.equal([runTimers(true), runTimers(true)].at(-1), `push ${FROM}run?run=a`);
  assert.equal(timers.length, 0);
});
