import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { Feed } from "../../web/static/live/feed.js";
import { RunModel } from "../../web/static/live/model.js";
import { RUN, part, series, snapshot } from "./messages.js";
import { SocketStandIn } from "./page_stand_in.js";

const HELLO = { type: "hello", server_t: 1100, beat_s: 5, is_storing: true };
const BEAT = { type: "beat", server_t: 1105, is_storing: true };
let feeds = [];

beforeEach(() => {
  SocketStandIn.made = [];
  feeds = [];
  Object.assign(globalThis, { WebSocket: SocketStandIn, window: new EventTarget(), location: new URL("https://here.test/pit/live?run=a") });
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  mock.method(Math, "random", () => 0.5); // pauses are neither shortened nor prolonged
});

afterEach(() => {
  feeds.forEach((feed) => feed.close());
  mock.timers.reset();
  mock.restoreAll();
});

/** A feed of these runs, with what it told: {feed, models, statuses, changes}. */
function feedOf(...ids) {
  const told = { models: new Map(ids.map((id) => [id, new RunModel(id)])), statuses: [], changes: [] };
  told.feed = new Feed("/pit", told.models, (model, changes) => told.changes.push([model.id, changes]), (...status) => told.statuses.push(status.join(": ")));
  feeds.push(told.feed);
  return told;
}

/** The same once the server has greeted it and sent what there is. */
function liveFeed() {
  const told = feedOf(RUN);
  SocketStandIn.last.acceptedByServer();
  SocketStandIn.last.saidByServer(HELLO);
  SocketStandIn.last.saidByServer(snapshot({ series: series("decode_tps", [1, 2], [10, 20]) }));
  return told;
}

test("it asks this server for its runs, and says that it has nothing yet", () => {
  const { statuses } = feedOf("a", "b/c");
  const { last } = SocketStandIn;
  assert.equal(last.url.href, "wss://here.test/pit/ws/live?run=a&run=b%2Fc");
  last.acceptedByServer();
  assert.deepEqual(last.sent, [{}]);
  assert.deepEqual(statuses, ["connecting"]);
});

test("what is sent of a run reaches its model; of another run nothing does", () => {
  const { models, changes, feed } = liveFeed();
  SocketStandIn.last.saidByServer({ ...part("delta", 5), run: "another" });
  assert.deepEqual(changes.map(([id, { redrawAll }]) => [id, redrawAll]), [[RUN, true]]);
  assert.deepEqual(models.get(RUN).series.decode_tps.v, [10, 20]);
  assert.equal(feed.serverNow, 1100);
});

test("a server that stores nothing is told until it says otherwise or something new comes", () => {
  const { statuses } = feedOf(RUN);
  const said = [{ ...HELLO, is_storing: false }, snapshot(), { ...BEAT, is_storing: false }, part("delta", 5), BEAT];
  SocketStandIn.last.acceptedByServer();
  const told = said.map((message) => (SocketStandIn.last.saidByServer(message), statuses.at(-1)));
  assert.deepEqual(told, ["stuck", "stuck", "stuck", "live", "live"]);
});

test("it is live once a run has answered, not when the server has greeted", () => {
  const { statuses } = feedOf(RUN);
  SocketStandIn.last.acceptedByServer();
  const told = [HELLO, BEAT, snapshot()].map((message) => (SocketStandIn.last.saidByServer(message), statuses.at(-1)));
  assert.deepEqual(told, ["connecting", "connecting", "live"]);
});

test("a line that breaks is taken up again with what it has", () => {
  const { statuses } = liveFeed();
  SocketStandIn.last.closedByServer();
  assert.equal(statuses.at(-1), "reconnecting");
  assert.equal(SocketStandIn.made.length, 1, "not before a pause");
  mock.timers.tick(500);
  assert.equal(SocketStandIn.made.length, 2);
  SocketStandIn.last.acceptedByServer();
  assert.deepEqual(SocketStandIn.last.sent, [{ [RUN]: "after 4" }]);
});

/** For how many milliseconds it waits before it tries again, each time the server is not there. */
function pauses(tries) {
  return Array.from({ length: tries }, () => {
    const { length } = SocketStandIn.made;
    SocketStandIn.last.closedByServer();
    let waited = 0;
    for (; SocketStandIn.made.length === length && waited < 60_000; waited += 125) mock.timers.tick(125);
    return waited;
  });
}

test("the pauses double up to ten seconds and start anew once the server has greeted", () => {
  feedOf(RUN);
  assert.deepEqual(pauses(7), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  SocketStandIn.last.acceptedByServer();
  assert.deepEqual(pauses(1), [10_000], "a line that opens and says nothing is no sign of life");
  SocketStandIn.last.acceptedByServer();
  SocketStandIn.last.saidByServer(HELLO);
  assert.deepEqual(pauses(2), [500, 1000]);
});

test("browsers do not come back all at once: a pause is up to a quarter shorter or longer", () => {
  const waited = [0, 0.9999].map((random) => {
    Math.random.mock.mockImplementation(() => random);
    feedOf(RUN);
    return pauses(1)[0];
  });
  assert.deepEqual(waited, [375, 625]);
});

test("a line that says nothing for two beats is dead", () => {
  const { statuses } = liveFeed();
  const silent = SocketStandIn.last;
  mock.timers.tick(11_000);
  silent.saidByServer(BEAT);
  mock.timers.tick(11_999);
  assert.equal(silent.closed, false);
  mock.timers.tick(1);
  assert.equal(silent.closed, true);
  assert.equal(statuses.at(-1), "reconnecting");
  mock.timers.tick(500);
  assert.notEqual(SocketStandIn.last, silent);
});

test("what the server refuses for good is told and not tried again", () => {
  const { statuses } = feedOf(RUN);
  SocketStandIn.last.closedByServer(1008, "name 1 to 16 runs");
  mock.timers.tick(60_000);
  window.dispatchEvent(new Event("online"));
  assert.equal(statuses.at(-1), "refused: name 1 to 16 runs");
  assert.equal(SocketStandIn.made.length, 1);
});

test("a lost message is noticed: it asks again from the last one it has", () => {
  const { models } = liveFeed();
  const before = SocketStandIn.last;
  before.saidByServer(part("delta", 6, { series: series("decode_tps", [4], [40]) }));
  assert.deepEqual(models.get(RUN).series.decode_tps.t, [1, 2]);
  assert.ok(before.closed && SocketStandIn.last !== before);
  SocketStandIn.last.acceptedByServer();
  assert.deepEqual(SocketStandIn.last.sent, [{ [RUN]: "after 4" }]);
});

test("a model that holds too much asks for a snapshot", () => {
  liveFeed();
  const times = Array.from({ length: 4001 }, (_, index) => 10 + index);
  SocketStandIn.last.saidByServer(part("delta", 5, { series: series("decode_tps", times, times) }));
  SocketStandIn.last.acceptedByServer();
  assert.equal(SocketStandIn.made.length, 2);
  assert.deepEqual(SocketStandIn.last.sent, [{}]);
});

test("a machine that is online again connects at once, and a line that is open is left alone", () => {
  liveFeed();
  window.dispatchEvent(new Event("online"));
  assert.equal(SocketStandIn.made.length, 1);
  SocketStandIn.last.closedByServer();
  window.dispatchEvent(new Event("online"));
  assert.equal(SocketStandIn.made.length, 2);
  mock.timers.tick(500);
  assert.equal(SocketStandIn.made.length, 2, "the pause that was under way is over");
});

test("after it is closed nothing is heard and nothing opened", () => {
  const { feed } = liveFeed();
  feed.close();
  assert.equal(SocketStandIn.last.onmessage, null);
  assert.ok(SocketStandIn.last.closed);
  window.dispatchEvent(new Event("online"));
  mock.timers.tick(60_000);
  assert.equal(SocketStandIn.made.length, 1);
});
