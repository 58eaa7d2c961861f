import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Lane } from "../../web/static/live/lanes.js";
import { LogTail } from "../../web/static/live/logs.js";
import { RunModel } from "../../web/static/live/model.js";
import { Chip, Strip } from "../../web/static/live/strip.js";
import { View } from "../../web/static/live/view.js";
import { line, part, series, snapshot } from "./messages.js";
import { openPage } from "./page_stand_in.js";

beforeEach(() => openPage());

const tile = (v, why = null) => ({ v, why });

function modelOf(fields = {}, meta = {}) {
  const model = new RunModel("a");
  model.apply(snapshot(fields, meta));
  return model;
}

function laneOf(model) {
  const lane = new Lane();
  lane.refresh(model, model.meta?.name ?? "", "#0072B2");
  return lane;
}

/** The chip of a model at a time of the server's clock. */
function chipOf(model, baseline = null, serverNow = 1005) {
  const chip = new Chip("given", "/run?run=a");
  chip.refresh(model, model.meta?.name ?? "", "#0072B2", serverNow, baseline);
  return chip;
}

/** The text of the tile with this label. */
function tileText(lane, label) {
  const box = [...lane.tiles.children].find((node) => node.querySelector("dt").textContent === label);
  return box.querySelector("dd").textContent.replaceAll("\u2009", " ").trim();
}

test("each tile has a number and a unit", () => {
  const now = {
    decode_tps: tile(107.3), tokens_per_step: tile(4.1), acceptance_length: tile(4.28), steps_per_s: tile(25), requests_running: tile(1),
    requests_waiting: tile(0), kv_usage_ratio: tile(0.032), server_cpu_cores: tile(3.2), server_ttft_ms: tile(120), server_itl_ms: tile(9.5), server_e2e_ms: tile(2400), server_rss_bytes: tile(1.3e9), gpu_power_w: tile(412), gpu_sm_clock_mhz: tile(2400),
  };
  const lane = laneOf(modelOf({ now }));
  assert.equal(chipOf(modelOf({ now })).speed.textContent, "107\u2009tok/s");
  const labels = ["Tokens/step", "Acceptance", "Steps", "Run / wait", "KV cache", "Server's TTFT / ITL / E2E, ms", "CPU", "Memory", "GPU"];
  assert.deepEqual(labels.map((label) => tileText(lane, label)), ["4.10", "4.28 of 5", "25.0 /s", "1 0", "3.20 %", "120 9.50 2,400", "3.20 cores", "1.21 GiB", "412 W2,400 MHz"]);
});

test("an unknown value is a dash with its reason, never a zero", () => {
  const now = { tokens_per_step: tile(null, "no request yet"), acceptance_length: tile(null, "no sample yet"), steps_per_s: tile(0) };
  const lane = laneOf(modelOf({ now }, { absent: { acceptance_length: "speculation is off" } }));
  const texts = ["Tokens/step", "Acceptance", "KV cache", "Steps"].map((label) => tileText(lane, label));
  assert.deepEqual(texts, ["\u2013 unknown: no request yet", "\u2013 unknown: speculation is off", "\u2013 unknown: no sample yet", "0 /s"]);
  assert.equal(lane.tiles.querySelector(".lv-dash").dataset.why, "no request yet");
});

test("two GPU values with the same reason show it once", () => {
  const absent = { gpu_power_w: "no NVIDIA driver", gpu_sm_clock_mhz: "no NVIDIA driver" };
  assert.equal(tileText(laneOf(modelOf({}, { absent })), "GPU"), "no NVIDIA driver");
});

test("a number becomes a dash when it is no longer known, and a dash becomes a number", () => {
  const model = modelOf({ now: { steps_per_s: tile(25) } });
  const lane = laneOf(model);
  const texts = [tile(null, "no request yet"), tile(26)].map((steps_per_s, index) => {
    model.apply(part("delta", 5 + index, { now: { steps_per_s } }));
    lane.refresh(model, model.meta?.name ?? "", "#0072B2");
    return tileText(lane, "Steps");
  });
  assert.deepEqual(texts, ["\u2013 unknown: no request yet", "26.0 /s"]);
});

test("a serving run without new samples is shown as silent", () => {
  const model = modelOf({ series: series("decode_tps", [1010], [100]) });
  const states = [1020, 1021].map((now) => chipOf(model, null, now));
  assert.deepEqual(states.map((chip) => chip.state.textContent), ["running 0:20", "no samples for 0:11"]);
  assert.deepEqual(states.map((chip) => chip.root.classList.contains("lv-silent")), [false, true]);
});

test("the state has its duration, or the phase of the start", () => {
  const metas = [
    { state: "starting", phase: "loading weights 34 %", ready_t: null },
    { state: "finished", ended_t: 1134 },
    { state: "failed", ready_t: null, ended_t: 1000 },
    { state: "queued", ready_t: null, started_t: null },
  ];
  assert.deepEqual(metas.map((meta) => chipOf(modelOf({}, meta)).state.textContent), ["loading weights 34 % 0:10", "finished 2:14", "failed", "queued"]);
});

test("a failed run shows the cause and the log line that proves it", () => {
  const lane = laneOf(modelOf({}, { state: "failed", cause: "no room for the KV cache", cause_line: "CUDA error: out of memory" }));
  assert.equal(lane.cause.hidden, false);
  assert.equal(lane.cause.querySelector("p").textContent, "mtp4: no room for the KV cache");
  assert.equal(lane.cause.querySelector("code").textContent, "CUDA error: out of memory");
  assert.equal(laneOf(modelOf()).cause.hidden, true);
});

test("a run that ended without samples says why it was not measured", () => {
  const lane = laneOf(modelOf({ now: { decode_tps: tile(null, "no request came") } }, { state: "finished" }));
  assert.equal(lane.cause.textContent, "mtp4: Not measured: no request came.");
});

test("the speed is compared with the baseline's, unless they are not comparable", () => {
  const [run, baseline] = [120, 100].map((speed) => modelOf({ now: { decode_tps: tile(speed) } }, { name: `run of ${speed}` }));
  const baselines = [{ model: baseline, label: "… 100", reason: undefined }, { model: baseline, label: "… 100", reason: "another model" }, { model: run, label: "… 120", reason: undefined }, null];
  const notes = baselines.map((compared) => chipOf(run, compared).speedNote.textContent);
  assert.deepEqual(notes, ["1.20\u00d7 … 100", "not compared: another model", "", ""]);
  assert.equal(chipOf(modelOf(), { model: baseline, label: "", reason: undefined }).speedNote.textContent, "", "no speed, no ratio");
});

test("if the server reports no speed, the chip shows the client's and says so", () => {
  const noSpeed = { decode_tps: tile(null, "no counters") };
  const texts = [{ client_stream_tps: tile(205.4) }, { client_stream_tps: tile(205.4), decode_tps: tile(300) }, {}].map((now) => {
    const chip = chipOf(modelOf({ now: { ...noSpeed, ...now } }));
    return [chip.speed.textContent.replace("\u2009", " "), chip.speedNote.textContent];
  });
  assert.deepEqual(texts, [["205 tok/s", "one stream, by the client"], ["300 tok/s", ""], [`\u2013 unknown: no counters`, ""]]);
});

test("an ended run has the speed of one stream, as on Runs and Run, and its ratio is of two such speeds", () => {
  const ended = (now) => modelOf({ now: { decode_tps: tile(80), ...now } }, { state: "finished", tile_basis: "mean while decoding" });
  const [stream, slowStream, noStream] = [ended({ client_stream_tps: tile(120) }), ended({ client_stream_tps: tile(100) }), ended({})];
  const texts = [[stream, slowStream], [noStream, slowStream], [stream, noStream], [noStream, ended({})]].map(([model, baseline]) => {
    const chip = chipOf(model, { model: baseline, label: "other", reason: undefined });
    return [chip.speed.textContent.replace("\u2009", " "), chip.speedNote.textContent];
  });
  const [byClient, byServer] = ["one stream, by the client", "mean while decoding"];
  assert.deepEqual(texts, [
    ["120 tok/s", `1.20\u00d7 other \u00b7 ${byClient}`], ["80.0 tok/s", byServer], ["120 tok/s", byClient], ["80.0 tok/s", `1.00\u00d7 other \u00b7 ${byServer}`],
  ]);
});

test("a chip shows the unique part of the name, and has the full name in its tooltip and its accessible name", () => {
  const chip = new Chip("given", "/run?run=a");
  chip.refresh(modelOf({}, { name: "Demo: plain" }), "plain", "#0072B2", 1005, null);
  assert.deepEqual([chip.name.textContent, chip.name.title, chip.root.getAttribute("aria-label")], ["plain", "Demo: plain", "Run Demo: plain"]);
});

test("a run that no longer exists is shown as such", () => {
  const model = new RunModel("a");
  model.apply({ type: "gone", run: "a", server_t: 1, reason: "no run has this id" });
  const chip = chipOf(model);
  assert.equal(chip.state.textContent, "no run has this id");
  assert.ok(chip.root.classList.contains("lv-gone"));
  assert.equal(laneOf(model).root.hidden, true);
});

test("a run without data shows its name and that it is starting, without a dash", () => {
  const unanswered = chipOf(new RunModel("20261122-030405-006-abcd"));
  assert.deepEqual([unanswered.name.textContent, unanswered.state.textContent, unanswered.speed.textContent], ["given", "starting", ""]);
  const starting = modelOf({}, { state: "starting", phase: null, ready_t: null });
  assert.equal(chipOf(starting).speed.textContent, "");
  assert.equal(laneOf(starting).root.hidden, true);
});

test("the queued runs share one line and have no chips", () => {
  const queued = ["a", "b"].map((name) => modelOf({}, { state: "queued", name, ready_t: null }));
  const strip = new Strip();
  const chips = [...queued, modelOf()].map((model) => chipOf(model));
  strip.show(chips);
  strip.refresh([...queued, modelOf()], ({ meta }) => meta.name);
  assert.equal(strip.queueLine.textContent, "2 wait: a, b");
  assert.deepEqual(chips.map((chip) => chip.root.hidden), [true, true, false]);
  strip.refresh([modelOf()], ({ meta }) => meta.name);
  assert.equal(strip.queueLine.hidden, true);
});

test("the progress of a load is a bar, until the run has ended", () => {
  const now = { load_done_ratio: tile(0.4) };
  const bars = [modelOf({ now }), modelOf(), modelOf({ now }, { state: "finished" })].map((model) => chipOf(model).progress);
  assert.deepEqual(bars.map((bar) => [bar.hidden, Number(bar.value)]), [[false, 0.4], [true, 0], [true, 0]]);
});

function logOf(model) {
  const page = { view: new View(), label: ({ meta }) => meta.name, theme: () => ({ color: () => "#0072B2" }), onMark: () => undefined };
  const log = new LogTail(page, model, "given");
  log.lines.matches = () => true; // linkedom knows no :hover
  return log;
}

test("log lines are plain text, with the server's marks", () => {
  const model = modelOf({ log: [line(0, 1001, "<b>107 tok/s</b>", "throughput"), line(9, 1002, "W full", "warning", "The context was full.")] });
  const log = logOf(model);
  log.refresh({ redrawAll: true, log: [] });
  const nodes = [...log.lines.children];
  assert.deepEqual(nodes.map((node) => node.querySelector("code").textContent), ["<b>107 tok/s</b>", "W full"]);
  assert.equal(log.lines.querySelector("b"), null);
  assert.deepEqual(nodes.map((node) => node.querySelector(".lv-tag").textContent), ["tok/s", "warn"]);
  assert.equal(nodes[1].querySelector(".lv-line-why").textContent, "The context was full.");
});

test("a log is blank until the run's data has arrived, and then says that there is no line yet", () => {
  const model = new RunModel("a");
  const log = logOf(model);
  log.refresh({ redrawAll: true, log: [] });
  assert.deepEqual([log.title.textContent, log.lines.textContent], ["Log of given", ""]);
  log.refresh(model.apply(snapshot()));
  assert.equal(log.lines.textContent, "No log line yet.");
});

test("new lines are added at the end; the last line up to the marked time is highlighted", () => {
  const model = modelOf({ log: [line(0, 1001, "one"), line(3, null, "two"), line(6, 1003, "three")] });
  const log = logOf(model);
  log.refresh({ redrawAll: true, log: [] });
  log.refresh(model.apply(part("delta", 5, { log: [line(9, 1005, "four")] })));
  const highlighted = [1000, 1004, 1005, null].map((time) => {
    log.mark(time);
    return [...log.lines.querySelectorAll(".lv-at-moment code")].map((code) => code.textContent);
  });
  assert.deepEqual(highlighted, [[], ["three"], ["four"], []]);
});

test("a run whose answers loop has a warning next to its speed, on its chip and its lane", () => {
  const speed = { decode_tps: tile(96.5) };
  const counts = [{}, { looping_ratio: tile(0.2) }, { looping_ratio: tile(0.2), looping_streams: tile(1) }, { looping_streams: tile(2) }, { looping_streams: tile(0) }];
  const models = counts.map((looping) => modelOf({ now: { ...speed, ...looping } }));
  const expected = ["", "\u27f2 20 % of answers loop", "\u27f2 1 stream loops now", "\u27f2 2 streams loop now", ""];
  assert.deepEqual(models.map((model) => chipOf(model).speedNote.textContent), expected);
  assert.deepEqual(models.map((model) => laneOf(model).note.textContent), expected);
  assert.deepEqual(models.map((model) => chipOf(model).root.classList.contains("lv-loops")), expected.map(Boolean));
});
