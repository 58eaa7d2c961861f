// Which history entries Streamlit may push after the URL has changed to another page's.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const SITE = "http://pitwall.test";
const listeners = {};
let entries = [];

const setLocation = (url) => {
  globalThis.location = new URL(url, globalThis.location);
  return globalThis.location.href.slice(SITE.length);
};
Object.assign(globalThis, {
  location: new URL(SITE),
  history: {
    pushState: (_state, _title, url) => entries.push(setLocation(url)),
    replaceState: (_state, _title, url) => entries.splice(-1, 1, setLocation(url)),
  },
  addEventListener: (type, listener) => (listeners[type] = listener),
  dispatchEvent: () => undefined,
  PopStateEvent: class {},
});
const { navigate } = await import("../../web/static/navigate.js");
const { history } = globalThis;

beforeEach(() => {
  globalThis.location = new URL(`${SITE}/?find=a`);
  entries = ["/?find=a"];
  navigate(new URL(`${SITE}/live?run=a`));
});

/** Streamlit pushes an entry for a path, with the query that the URL has at that moment. */
const streamlitPushes = (path) => history.pushState({}, "", `${path}${globalThis.location.search}`);

test("a late message from the previous page pushes no entry", () => {
  streamlitPushes("/");
  assert.deepEqual(entries, ["/?find=a", "/live?run=a"]);
});

test("the same URL is pushed after user input", () => {
  listeners.pointerdown();
  streamlitPushes("/");
  assert.deepEqual(entries, ["/?find=a", "/live?run=a", "/?run=a"]);
});

test("another URL is pushed, and the same URL after the blocking time", (context) => {
  history.pushState({}, "", "/live?run=b");
  history.pushState({}, "", "/?order=stream");
  context.mock.method(performance, "now", () => 1e9);
  history.pushState({}, "", "/?run=a");
  assert.deepEqual(entries.slice(2), ["/live?run=b", "/?order=stream", "/?run=a"]);
});

test("a page can navigate to itself and push its URL again", () => {
  navigate(new URL(`${SITE}/live?run=c`));
  history.pushState({}, "", "/live?run=c");
  assert.deepEqual(entries.slice(2), ["/live?run=c", "/live?run=c"]);
});

test("after Back, a late message from the page that was left pushes no entry", () => {
  setLocation("/?find=a");
  listeners.popstate({ isTrusted: true });
  streamlitPushes("/live");
  navigate(new URL(`${SITE}/live?run=b`));
  assert.deepEqual(entries.slice(2), ["/live?run=b"]);
});

test("with replaces, the current entry is replaced and none is pushed", () => {
  navigate(new URL(`${SITE}/compare?run=a`), true);
  streamlitPushes("/live");
  assert.deepEqual(entries, ["/?find=a", "/compare?run=a"]);
});
