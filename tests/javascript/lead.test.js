// What Streamlit adds to the history of the page that was left, once its address is that of the next page.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const SITE = "http://pitwall.test";
const listeners = {};
let entries = [];

const write = (url) => {
  globalThis.location = new URL(url, globalThis.location);
  return globalThis.location.href.slice(SITE.length);
};
Object.assign(globalThis, {
  location: new URL(SITE),
  history: {
    pushState: (_state, _title, url) => entries.push(write(url)),
    replaceState: (_state, _title, url) => entries.splice(-1, 1, write(url)),
  },
  addEventListener: (type, call) => (listeners[type] = call),
  dispatchEvent: () => undefined,
  PopStateEvent: class {},
});
const { lead } = await import("../../web/static/lead.js");
const { history } = globalThis;

beforeEach(() => {
  globalThis.location = new URL(`${SITE}/?find=a`);
  entries = ["/?find=a"];
  lead(new URL(`${SITE}/live?run=a`));
});

/** Streamlit's entry for a page, with the query that it has at that moment. */
const streamlitAdds = (path) => history.pushState({}, "", `${path}${globalThis.location.search}`);

test("a late message of the left page adds no entry", () => {
  streamlitAdds("/");
  assert.deepEqual(entries, ["/?find=a", "/live?run=a"]);
});

test("what somebody opens afterwards does", () => {
  listeners.pointerdown();
  streamlitAdds("/");
  assert.deepEqual(entries, ["/?find=a", "/live?run=a", "/?run=a"]);
});

test("so does another address, and the same one later", (context) => {
  history.pushState({}, "", "/live?run=b");
  history.pushState({}, "", "/?order=stream");
  context.mock.method(performance, "now", () => 1e9);
  history.pushState({}, "", "/?run=a");
  assert.deepEqual(entries.slice(2), ["/live?run=b", "/?order=stream", "/?run=a"]);
});

test("a page may lead to itself and write its address again", () => {
  lead(new URL(`${SITE}/live?run=c`));
  history.pushState({}, "", "/live?run=c");
  assert.deepEqual(entries.slice(2), ["/live?run=c", "/live?run=c"]);
});

test("after Back, nor does one of the page that Back has left", () => {
  write("/?find=a");
  listeners.popstate({ isTrusted: true });
  streamlitAdds("/live");
  lead(new URL(`${SITE}/live?run=b`));
  assert.deepEqual(entries.slice(2), ["/live?run=b"]);
});

test("where Back is to pass over a page its entry is replaced, and none is added", () => {
  lead(new URL(`${SITE}/compare?run=a`), true);
  streamlitAdds("/live");
  assert.deepEqual(entries, ["/?find=a", "/compare?run=a"]);
});
