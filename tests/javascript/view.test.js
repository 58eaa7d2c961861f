import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { RunModel } from "../../web/static/live/model.js";
import { Toolbar } from "../../web/static/live/toolbar.js";
import { View } from "../../web/static/live/view.js";
import { series, snapshot } from "./messages.js";
import { openPage } from "./page_stand_in.js";

beforeEach(() => openPage());

/** A run that was ready at 1000 and has samples for this many seconds after it. */
function runOf(seconds, meta = {}) {
  const model = new RunModel("a");
  model.apply(snapshot({ series: series("decode_tps", [1000, 1000 + seconds], [1, 1]) }, meta));
  return model;
}

test("without samples the axis shows 20 seconds, and never less while a run is live", () => {
  const view = new View();
  assert.deepEqual(view.range([new RunModel("a")]), [0, 20]);
  assert.deepEqual(view.range([runOf(5)]), [0, 20]);
  assert.deepEqual(view.range([runOf(500)]), [0, 500]);
  assert.deepEqual(view.range([runOf(5), runOf(20, { state: "finished" })]), [0, 20]);
  assert.deepEqual(view.range([runOf(20, { state: "finished" })]), [0, 20]);
  assert.deepEqual(view.range([runOf(0, { state: "finished" })]), [0, 1]);
});

test("a time window follows the live run, not a longer ended one; All shows both", () => {
  const view = new View();
  const runs = [runOf(300), runOf(900, { state: "finished" })];
  view.windowSeconds = 120;
  assert.deepEqual(view.range(runs), [180, 300]);
  assert.deepEqual(view.range(runs.slice(1)), [780, 900]);
  view.windowSeconds = 0;
  assert.deepEqual(view.range(runs), [0, 900]);
});

test("a range beyond the precision of numbers still gets a finite number of ticks", () => {
  const { tickvals } = new View().axis([1e17, 1e17 + 16], 960);
  assert.ok(tickvals.length <= 8);
});

test("hidden runs of other pages do not count; hiding all runs of this page hides none", () => {
  const view = new View();
  const models = ["a", "b"].map((id) => new RunModel(id));
  view.hide(["x", "y", "a"], models);
  assert.deepEqual([...view.hiddenIds], ["x", "y", "a"]);
  view.hide(["x", "b", "a"], models);
  assert.deepEqual([...view.hiddenIds], []);
  view.hide(["a"], []); // no run has arrived yet
  assert.deepEqual([...view.hiddenIds], ["a"]);
});

test("a zoomed range stays", () => {
  const view = new View();
  view.zoom = [10, 20];
  assert.deepEqual(view.range([runOf(300)]), [10, 20]);
});

test("an x position is seconds since ready or wall-clock seconds, and converts back to a time", () => {
  const view = new View();
  const run = runOf(300);
  assert.equal(view.toX(run, 1007), 7);
  assert.equal(view.toTime(run, 7), 1007);
  view.usesWallClock = true;
  assert.equal(view.toX(run, 1007), 1007);
  assert.equal(view.toTime(run, 1007), 1007);
  assert.deepEqual(view.range([run]), [1000, 1300]);
});

test("ticks are at round times, as many as fit", () => {
  const axis = new View().axis([7, 607], 600);
  assert.deepEqual(axis, { range: [7, 607], tickvals: [120, 240, 360, 480, 600], ticktext: ["2:00", "4:00", "6:00", "8:00", "10:00"] });
});

test("a wall-clock axis that is not only of today has dates, and at most eight labels", () => {
  const view = new View();
  view.usesWallClock = true;
  const at = new Date(2025, 2, 3, 9, 30).getTime() / 1000;
  const labelsBySpan = [600, 86400, 90 * 86400, 5 * 365 * 86400].map((span) => view.axis([at, at + span], 1300).ticktext);
  for (const labels of labelsBySpan) assert.ok(labels.length >= 2 && labels.length <= 8, labels.join());
  assert.equal(labelsBySpan[0][0], "3 Mar 2025 09:30");
  assert.match(labelsBySpan[2][0], /^\d+ Mar 2025$/);
  assert.equal(view.label(at), "3 Mar 2025 09:30");
});

/** A page that counts the user's choices. */
function toolbarPage() {
  const onView = () => (page.choices += 1);
  const page = { view: new View(), models: () => [], choices: 0, onView, onZoom: (range) => (page.view.zoom = range) };
  return page;
}

test("the time windows are ordered from the shortest to All, and All is the default", () => {
  const page = toolbarPage();
  const { root } = new Toolbar(page);
  const windows = [...root.querySelectorAll("fieldset label")];
  assert.deepEqual(windows.map((label) => label.textContent), ["2 min", "10 min", "All"]);
  const inputs = windows.map((label) => label.querySelector("input"));
  assert.deepEqual(inputs.map((input) => input.checked), [false, false, true]);
  const chosen = inputs.map((input) => (input.onchange(), page.view.windowSeconds));
  assert.deepEqual(chosen, [120, 600, 0]);
  assert.equal(page.choices, 3);
});

test("two toolbars on a page do not share their radio buttons", () => {
  const names = [0, 1].map(() => new Toolbar(toolbarPage()).root.querySelector("input").name);
  assert.notEqual(names[0], names[1]);
});

test("the status describes the connection; a refusal has the server's reason", () => {
  const toolbar = new Toolbar(toolbarPage());
  const texts = [["live"], ["stuck"], ["refused", "name 1 to 16 runs"], ["refused", ""]].map((status) => {
    toolbar.setStatus(...status);
    return toolbar.status.textContent;
  });
  assert.equal(texts[0], "Live");
  assert.match(texts[1], /cannot store/);
  assert.equal(texts[2], "name 1 to 16 runs");
  assert.match(texts[3], /refused/);
  assert.equal(toolbar.status.dataset.status, "refused");
});
