// What is alive in a report: its charts are drawn from the numbers inside, and each table can be taken as CSV.
// One plain script without imports, for the page is one file that no server serves.

/** @typedef {{ name: string, color: [string, string], x: number[], y: (number | null)[], active: boolean[] }} Line */
/** @typedef {{ title: string, lines: Line[] }} Chart */
/** @typedef {Record<string, { columns: string[], rows: unknown[][], every: number }>} Tables */
/** @typedef {[number, number] | null} Interval */
/** @typedef {{ name: string, color: [string, string], x: number, y: number, note: string, x_interval: Interval, y_interval: Interval, is_comparable: boolean }} Point */
/** @typedef {{ title: string, names: [string, string], x: string, y: string, points: Point[], line: [number, number][] }} Frontier */

(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 240, 46, 10, 10, 30];
  const LEAST_DRAG = 6;

  /** @type {{ charts: Chart[], frontiers: Frontier[], tables: Tables }} */
  const data = JSON.parse(document.getElementById("report-data")?.textContent ?? "{}");

  /** @param {number | null | undefined} value */
  function threeDigits(value) {
    if (value === null || value === undefined) return "\u2013";
    const size = Math.abs(value);
    if (size >= 100) return Math.round(value).toLocaleString("en-US");
    return size >= 1 ? value.toFixed(size < 10 ? 2 : 1) : String(Number(value.toPrecision(3)));
  }

  /**
   * @param {string} tag
   * @param {Record<string, string | number>} attributes
   */
  function svg(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    return made;
  }

  /** @param {number} low @param {number} high */
  function ticks(low, high) {
    const raw = (high - low) / 5;
    const step = [1, 2, 5, 10].map((one) => one * 10 ** Math.floor(Math.log10(raw))).find((one) => one >= raw) ?? raw;
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
    return found;
  }

  /** @param {HTMLElement} place @param {Chart} chart */
  function draw(place, chart) {
    const whole = Math.max(1, ...chart.lines.flatMap((line) => line.x));
    let [low, high] = [0, whole];
    /** @type {Set<number>} */
    const hidden = new Set();
    const readout = document.createElement("p");
    readout.className = "rp-readout";
    const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": chart.title });
    place.append(plot, readout);

    const shown = () => chart.lines.filter((_, index) => !hidden.has(index));
    const top = () => {
      const values = shown().flatMap((line) => line.y.filter((_, i) => line.x[i] >= low && line.x[i] <= high));
      return Math.max(1e-9, ...values.map((value) => value ?? 0)) * 1.06;
    };
    const toX = (/** @type {number} */ x) => LEFT + ((x - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
    const toY = (/** @type {number} */ y, /** @type {number} */ most) => HEIGHT - BOTTOM - (y / most) * (HEIGHT - TOP - BOTTOM);
    const fromX = (/** @type {MouseEvent} */ event) => {
      const box = plot.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * WIDTH;
      return Math.min(high, Math.max(low, low + ((at - LEFT) / (WIDTH - LEFT - RIGHT)) * (high - low)));
    };

    /** @param {Line} line @param {number} most @param {boolean} isGrey */
    function path(line, most, isGrey) {
      let pen = "M";
      let d = "";
      line.x.forEach((x, i) => {
        const y = line.y[i];
        if (y === null || x < low || x > high || (!isGrey && !line.active[i])) pen = "M";
        else {
          d += `${pen}${toX(x).toFixed(1)} ${toY(y, most).toFixed(1)}`;
          pen = "L";
        }
      });
      const made = svg("path", { d, class: isGrey ? "rp-grey" : "rp-line" });
      if (!isGrey) made.setAttribute("style", `stroke:light-dark(${line.color[0]},${line.color[1]})`);
      return made;
    }

    function redraw() {
      const most = top();
      const parts = [];
      for (const at of ticks(0, most)) {
        const y = toY(at, most);
        const label = svg("text", { x: LEFT - 6, y: y + 4, class: "rp-tick rp-end" });
        label.textContent = threeDigits(at);
        parts.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "rp-grid" }), label);
      }
      for (const at of ticks(low, high)) {
        const label = svg("text", { x: toX(at), y: HEIGHT - BOTTOM + 16, class: "rp-tick rp-middle" });
        label.textContent = `${at}`;
        parts.push(label);
      }
      parts.push(...shown().map((line) => path(line, most, true)), ...shown().map((line) => path(line, most, false)));
      plot.replaceChildren(...parts);
    }

    /** @param {number | null} at */
    function mark(at) {
      plot.querySelector(".rp-mark")?.remove();
      readout.textContent = "";
      if (at === null) return;
      plot.append(svg("line", { x1: toX(at), x2: toX(at), y1: TOP, y2: HEIGHT - BOTTOM, class: "rp-mark" }));
      const told = shown().map((line) => {
        const nearest = line.x.reduce((best, x, i) => (Math.abs(x - at) < Math.abs(line.x[best] - at) ? i : best), 0);
        return `${line.name} ${threeDigits(line.y[nearest])}`;
      });
      readout.textContent = `at ${threeDigits(at)} s: ${told.join(" · ")}`;
    }

    /** @type {number | null} */
    let from = null;
    plot.addEventListener("pointerdown", (event) => (from = fromX(event)));
    plot.addEventListener("pointermove", (event) => mark(fromX(event)));
    plot.addEventListener("pointerleave", () => mark(null));
    plot.addEventListener("pointerup", (event) => {
      const to = fromX(event);
      if (from !== null && Math.abs(toX(to) - toX(from)) > LEAST_DRAG) [low, high] = [Math.min(from, to), Math.max(from, to)];
      from = null;
      redraw();
    });
    plot.addEventListener("dblclick", () => {
      [low, high] = [0, whole];
      redraw();
    });
    place.addEventListener("toggle-line", (event) => {
      const index = /** @type {CustomEvent<number>} */ (event).detail;
      if (!hidden.delete(index)) hidden.add(index);
      redraw();
    });
    redraw();
  }

  /** Low and high of an axis: all values and intervals, and a little more. @param {number[]} values @param {Interval[]} intervals */
  function reach(values, intervals) {
    const all = [...values, ...intervals.flatMap((one) => one ?? [])];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const more = (high - low || Math.abs(high) || 1) * 0.12;
    return [low >= 0 ? Math.max(0, low - more) : low - more, high + more];
  }

  /**
   * Moves each arm's name to the first place around its point where it covers no name, no point and no edge.
   * @param {SVGElement} plot
   * @param {[number, number][]} points in the order of the names
   */
  function placeLabels(plot, points) {
    const dots = points.map(([x, y]) => ({ left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 }));
    /** @type {typeof dots} */
    const taken = [];
    const names = /** @type {SVGTextElement[]} */ ([...plot.querySelectorAll(".rp-arm")]);
    for (const [index, name] of names.entries()) {
      const { width, height } = name.getBBox();
      const [x, y] = points[index];
      const sides = x > WIDTH / 2 ? [x - 9 - width, x + 9] : [x + 9, x - 9 - width];
      const heights = [y - 8, y + 8 + height / 2, y - 8 - height, y + 8 + 1.5 * height, y - 8 - 2 * height];
      const boxes = heights.flatMap((base) => sides.map((left) => ({ left, right: left + width, top: base - height, bottom: base })));
      const cost = (/** @type {typeof dots[number]} */ box) =>
        [...taken, ...dots].filter((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom).length +
        (box.left < LEFT + 14 || box.right > WIDTH ? 100 : 0);
      const best = boxes.reduce((least, box) => (cost(box) < cost(least) ? box : least));
      name.setAttribute("x", String(best.left));
      name.setAttribute("y", String(best.bottom - 3));
      taken.push(best);
    }
  }

  /** @param {HTMLElement} place */
  function drawFrontier(place) {
    const [ySelect, xSelect] = /** @type {HTMLSelectElement[]} */ ([...place.querySelectorAll("select")]);
    /** @param {HTMLSelectElement} select @param {string[]} names each once */
    const fill = (select, names) => select.replaceChildren(...[...new Set(names)].map((name) => new Option(name, name)));
    const offerAxes = () => fill(xSelect, data.frontiers.flatMap(({ names: [y, x] }) => (y === ySelect.value ? [x] : [])));
    fill(ySelect, data.frontiers.map(({ names: [y] }) => y));
    offerAxes();
    const plot = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 100}`, role: "img" });
    place.append(plot);
    const bottom = HEIGHT + 100 - BOTTOM - 16;

    function redraw() {
      const chart = data.frontiers.find(({ names: [y, x] }) => y === ySelect.value && x === xSelect.value) ?? data.frontiers[0];
      plot.setAttribute("aria-label", chart.title);
      const [left, right] = reach(chart.points.map((one) => one.x), chart.points.map((one) => one.x_interval));
      const [low, high] = reach(chart.points.map((one) => one.y), chart.points.map((one) => one.y_interval));
      const toX = (/** @type {number} */ x) => LEFT + 14 + ((x - left) / (right - left)) * (WIDTH - LEFT - 14 - RIGHT);
      const toY = (/** @type {number} */ y) => bottom - ((y - low) / (high - low)) * (bottom - TOP);
      /** @type {SVGElement[]} */
      const parts = [];
      const label = (/** @type {string} */ words, /** @type {Record<string, string | number>} */ attributes) => {
        const made = svg("text", attributes);
        made.textContent = words;
        parts.push(made);
      };
      for (const at of ticks(low, high)) {
        parts.push(svg("line", { x1: LEFT + 14, x2: WIDTH - RIGHT, y1: toY(at), y2: toY(at), class: "rp-grid" }));
        label(threeDigits(at), { x: LEFT + 8, y: toY(at) + 4, class: "rp-tick rp-end" });
      }
      for (const at of ticks(left, right)) label(threeDigits(at), { x: toX(at), y: bottom + 16, class: "rp-tick rp-middle" });
      label(chart.x, { x: WIDTH - RIGHT, y: bottom + 32, class: "rp-tick rp-end" });
      label(chart.y, { x: 12, y: TOP, class: "rp-tick rp-end", transform: `rotate(-90 12 ${TOP})` });
      const d = chart.line.map(([x, y], i) => `${i ? "L" : "M"}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join("");
      if (d) parts.push(svg("path", { d, class: "rp-best" }));
      for (const one of chart.points) {
        const stroke = `light-dark(${one.color[0]},${one.color[1]})`;
        const [x, y] = [toX(one.x), toY(one.y)];
        if (one.x_interval) parts.push(svg("line", { x1: toX(one.x_interval[0]), x2: toX(one.x_interval[1]), y1: y, y2: y, style: `stroke:${stroke}` }));
        if (one.y_interval) parts.push(svg("line", { x1: x, x2: x, y1: toY(one.y_interval[0]), y2: toY(one.y_interval[1]), style: `stroke:${stroke}` }));
        const fill = one.is_comparable ? stroke : "var(--pw-ground)";
        parts.push(svg("circle", { cx: x, cy: y, r: 5, style: `stroke:${stroke};fill:${fill};stroke-width:2` }));
        label(one.note ? `${one.name}, ${one.note}` : one.name, { x, y, class: "rp-tick rp-arm" });
      }
      plot.replaceChildren(...parts);
      placeLabels(plot, chart.points.map((one) => [toX(one.x), toY(one.y)]));
    }
    ySelect.addEventListener("change", () => {
      offerAxes();
      redraw();
    });
    xSelect.addEventListener("change", redraw);
    redraw();
  }

  /** A cell as CSV has it; a text that a spreadsheet would take for a formula gets a ' before it. @param {unknown} value */
  function cell(value) {
    if (value === null || value === undefined) return "";
    const text = String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return `"${safe.replaceAll('"', '""')}"`;
  }

  /** @param {string} name */
  function save(name) {
    const { columns, rows } = data.tables[name];
    const lines = [columns, ...rows];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(cell).join(",")).join("\r\n")], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const places = [...document.querySelectorAll(".rp-chart")].map((place) => /** @type {HTMLElement} */ (place));
  places.forEach((place, index) => draw(place, data.charts[index]));
  for (const place of document.querySelectorAll(".rp-frontier")) drawFrontier(/** @type {HTMLElement} */ (place));
  for (const button of document.querySelectorAll("[data-line]")) {
    button.addEventListener("click", () => {
      const index = Number(button.getAttribute("data-line"));
      const isOn = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!isOn));
      for (const place of places) place.dispatchEvent(new CustomEvent("toggle-line", { detail: index }));
    });
  }
  for (const button of document.querySelectorAll("[data-csv]")) {
    button.addEventListener("click", () => save(button.getAttribute("data-csv") ?? ""));
  }
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
