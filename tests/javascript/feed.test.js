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
  SocketStandIn.sockets = [];
  feeds = [];
  Object.assign(globalThis, { WebSocket: SocketStandIn, window: new EventTarget(), location: new URL("https://here.test/pit/live?run=a") });
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  mock.method(Math, "random", () => 0.5); // retryDelays are neither shortened nor prolonged
});

afterEach(() => {
  feeds.forEach((feed) => feed.close());
  mock.timers.reset();
  mock.restoreAll();
});

/** A feed of these runs, with its models and everything that it has reported. */
function feedOf(...ids) {
  const models = new Map(ids.map((id) => [id, new RunModel(id)]));
  const [statuses, changes] = [[], []];
  const onMessage = (model, change) => changes.push([model.id, change]);
  const onStatus = (...status) => statuses.push(status.join(": "));
  const feed = new Feed("/pit", models, onMessage, onStatus);
  feeds.push(feed);
  return { feed, models, statuses, changes };
}

/** A feed that has received hello and a snapshot. */
function liveFeed() {
  const connection = feedOf(RUN);
  SocketStandIn.last.serverAccepts();
  SocketStandIn.last.serverSends(HELLO);
  SocketStandIn.last.serverSends(snapshot({ series: series("decode_tps", [1, 2], [10, 20]) }));
  return connection;
}

test("it connects to this server for its runs, and reports that it has no data yet", () => {
  const { statuses } = feedOf("a", "b/c");
  const { last } = SocketStandIn;
  assert.equal(last.url.href, "wss://here.test/pit/ws/live?run=a&run=b%2Fc");
  last.serverAccepts();
  assert.deepEqual(last.sent, [{}]);
  assert.deepEqual(statuses, ["connecting"]);
});

test("messages about a run reach its model; those about other runs are ignored", () => {
  const { models, changes, feed } = liveFeed();
  SocketStandIn.last.serverSends({ ...part("delta", 5), run: "another" });
  assert.deepEqual(changes.map(([id, { redrawAll }]) => [id, redrawAll]), [[RUN, true]]);
  assert.deepEqual(models.get(RUN).series.decode_tps.v, [10, 20]);
  assert.equal(feed.serverNow, 1100);
});

test("a server that cannot store data is reported until it says that it can, or new data arrives", () => {
  const { statuses } = feedOf(RUN);
  const messages = [{ ...HELLO, is_storing: false }, snapshot(), { ...BEAT, is_storing: false }, part("delta", 5), BEAT];
  SocketStandIn.last.serverAccepts();
  const reported = messages.map((message) => (SocketStandIn.last.serverSends(message), statuses.at(-1)));
  assert.deepEqual(reported, ["stuck", "stuck", "stuck", "live", "live"]);
});

test("it is live once data about a run has arrived, not after hello alone", () => {
  const { statuses } = feedOf(RUN);
  SocketStandIn.last.serverAccepts();
  const reported = [HELLO, BEAT, snapshot()].map((message) => (SocketStandIn.last.serverSends(message), statuses.at(-1)));
  assert.deepEqual(reported, ["connecting", "connecting", "live"]);
});

test("a broken connection is reopened from the last received position", () => {
  const { statuses } = liveFeed();
  SocketStandIn.last.serverCloses();
  assert.equal(statuses.at(-1), "reconnecting");
  assert.equal(SocketStandIn.sockets.length, 1, "not before a delay");
  mock.timers.tick(500);
  assert.equal(SocketStandIn.sockets.length, 2);
  SocketStandIn.last.serverAccepts();
  assert.deepEqual(SocketStandIn.last.sent, [{ [RUN]: "after 4" }]);
});

/** The delays in milliseconds before each of several retries while the server is down. */
function retryDelays(tries) {
  return Array.from({ length: tries }, () => {
    const { length } = SocketStandIn.sockets;
    SocketStandIn.last.serverCloses();
    let waited = 0;
    for (; SocketStandIn.sockets.length === length && waited < 60_000; waited += 125) mock.timers.tick(125);
    return waited;
  });
}

test("the retry delays double up to ten seconds, and start from the beginning after hello", () => {
  feedOf(RUN);
  assert.deepEqual(retryDelays(7), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  SocketStandIn.last.serverAccepts();
  assert.deepEqual(retryDelays(1), [10_000], "a connection without hello does not count as success");
  SocketStandIn.last.serverAccepts();
  SocketStandIn.last.serverSends(HELLO);
  assert.deepEqual(retryDelays(2), [500, 1000]);
});

test("browsers do not reconnect all at once: a delay is up to a quarter shorter or longer", () => {
  const waited = [0, 0.9999].map((random) => {
    Math.random.mock.mockImplementation(() => random);
    feedOf(RUN);
    return retryDelays(1)[0];
  });
  assert.deepEqual(waited, [375, 625]);
});

test("a connection that is silent for two beats is dead", () => {
  const { statuses } = liveFeed();
  const silent = SocketStandIn.last;
  mock.timers.tick(11_000);
  silent.serverSends(BEAT);
  mock.timers.tick(11_999);
  assert.equal(silent.isClosed, false);
  mock.timers.tick(1);
  assert.equal(silent.isClosed, true);
  assert.equal(statuses.at(-1), "reconnecting");
  mock.timers.tick(500);
  assert.notEqual(SocketStandIn.last, silent);
});

test("a refusal is reported with its reason, and not retried", () => {
  const { statuses } = feedOf(RUN);
  SocketStandIn.last.serverCloses(1008, "name 1 to 16 runs");
  mock.timers.tick(60_000);
  window.dispatchEvent(new Event("online"));
  assert.equal(statuses.at(-1), "refused: name 1 to 16 runs");
  assert.equal(SocketStandIn.sockets.length, 1);
});

test("a lost message is detected, and requested again from the last received position", () => {
  const { models } = liveFeed();
  const before = SocketStandIn.last;
  before.serverSends(part("delta", 6, { series: series("decode_tps", [4], [40]) }));
  assert.deepEqual(models.get(RUN).series.decode_tps.t, [1, 2]);
  assert.ok(before.isClosed && SocketStandIn.last !== before);
  SocketStandIn.last.serverAccepts();
  assert.deepEqual(SocketStandIn.last.sent, [{ [RUN]: "after 4" }]);
});

test("a model with too many points requests a snapshot", () => {
  liveFeed();
  const times = Array.from({ length: 4001 }, (_, index) => 10 + index);
  SocketStandIn.last.serverSends(part("delta", 5, { series: series("decode_tps", times, times) }));
  SocketStandIn.last.serverAccepts();
  assert.equal(SocketStandIn.sockets.length, 2);
  assert.deepEqual(SocketStandIn.last.sent, [{}]);
});

test("a browser that is online again connects at once, unless the connection is open", () => {
  liveFeed();
  window.dispatchEvent(new Event("online"));
  assert.equal(SocketStandIn.sockets.length, 1);
  SocketStandIn.last.serverCloses();
  window.dispatchEvent(new Event("online"));
  assert.equal(SocketStandIn.sockets.length, 2);
  mock.timers.tick(500);
  assert.equal(SocketStandIn.sockets.length, 2, "the pending retry was cancelled");
});

test("after closing, no messages are handled and no connection is opened", () => {
  const { feed } = liveFeed();
  feed.close();
  assert.equal(SocketStandIn.last.onmessage, null);
  assert.ok(SocketStandIn.last.isClosed);
  window.dispatchEvent(new Event("online"));
  mock.timers.tick(60_000);
  assert.equal(SocketStandIn.sockets.length, 1);
});
