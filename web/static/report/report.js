// The script of an exported report: it draws the charts from the data inside the page and saves tables as CSV files.
// It is one classic script without imports, because the report is a single file that is opened without a server.

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
  const MIN_DRAG = 6;

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
  function createSvg(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
    return node;
  }

  /** @param {number} low @param {number} high */
  function ticks(low, high) {
    const minStep = (high - low) / 5;
    const decade = 10 ** Math.floor(Math.log10(minStep));
    const step = [1, 2, 5, 10].map((factor) => factor * decade).find((size) => size >= minStep) ?? minStep;
    const values = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) {
      values.push(Number(value.toPrecision(12)));
    }
    return values;
  }

  /** @param {HTMLElement} container @param {Chart} chart */
  function drawChart(container, chart) {
    const maxX = Math.max(1, ...chart.lines.flatMap((line) => line.x));
    let [low, high] = [0, maxX];
    /** @type {Set<number>} */
    const hiddenLines = new Set();
    const readout = document.createElement("p");
    readout.className = "rp-readout";
    const plot = createSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": chart.title });
    container.append(plot, readout);

    const visibleLines = () => chart.lines.filter((_, index) => !hiddenLines.has(index));
    const topValue = () => {
      const values = visibleLines().flatMap((line) => line.y.filter((_, i) => line.x[i] >= low && line.x[i] <= high));
      return Math.max(1e-9, ...values.map((value) => value ?? 0)) * 1.06;
    };
    const toX = (/** @type {number} */ x) => LEFT + ((x - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
    const toY = (/** @type {number} */ y, /** @type {number} */ top) =>
      HEIGHT - BOTTOM - (y / top) * (HEIGHT - TOP - BOTTOM);
    const fromX = (/** @type {MouseEvent} */ event) => {
      const box = plot.getBoundingClientRect();
      const plotX = ((event.clientX - box.left) / box.width) * WIDTH;
      return Math.min(high, Math.max(low, low + ((plotX - LEFT) / (WIDTH - LEFT - RIGHT)) * (high - low)));
    };

    /** @param {Line} line @param {number} top @param {boolean} isGrey */
    function createPath(line, top, isGrey) {
      let pen = "M";
      let d = "";
      line.x.forEach((x, i) => {
        const y = line.y[i];
        if (y === null || x < low || x > high || (!isGrey && !line.active[i])) pen = "M";
        else {
          d += `${pen}${toX(x).toFixed(1)} ${toY(y, top).toFixed(1)}`;
          pen = "L";
        }
      });
      const path = createSvg("path", { d, class: isGrey ? "rp-grey" : "rp-line" });
      if (!isGrey) path.setAttribute("style", `stroke:light-dark(${line.color[0]},${line.color[1]})`);
      return path;
    }

    function redraw() {
      const top = topValue();
      const parts = [];
      for (const value of ticks(0, top)) {
        const y = toY(value, top);
        const label = createSvg("text", { x: LEFT - 6, y: y + 4, class: "rp-tick rp-end" });
        label.textContent = threeDigits(value);
        parts.push(createSvg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "rp-grid" }), label);
      }
      for (const value of ticks(low, high)) {
        const label = createSvg("text", { x: toX(value), y: HEIGHT - BOTTOM + 16, class: "rp-tick rp-middle" });
        label.textContent = `${value}`;
        parts.push(label);
      }
      parts.push(...visibleLines().map((line) => createPath(line, top, true)));
      parts.push(...visibleLines().map((line) => createPath(line, top, false)));
      plot.replaceChildren(...parts);
    }

    /** @param {number | null} seconds */
    function showMark(seconds) {
      plot.querySelector(".rp-mark")?.remove();
      readout.textContent = "";
      if (seconds === null) return;
      const markX = toX(seconds);
      plot.append(createSvg("line", { x1: markX, x2: markX, y1: TOP, y2: HEIGHT - BOTTOM, class: "rp-mark" }));
      const distance = (/** @type {number} */ x) => Math.abs(x - seconds);
      const texts = visibleLines().map((line) => {
        const nearest = line.x.reduce((best, x, i) => (distance(x) < distance(line.x[best]) ? i : best), 0);
        return `${line.name} ${threeDigits(line.y[nearest])}`;
      });
      readout.textContent = `at ${threeDigits(seconds)} s: ${texts.join(" · ")}`;
    }

    /** @type {number | null} */
    let dragStart = null;
    plot.addEventListener("pointerdown", (event) => (dragStart = fromX(event)));
    plot.addEventListener("pointermove", (event) => showMark(fromX(event)));
    plot.addEventListener("pointerleave", () => showMark(null));
    plot.addEventListener("pointerup", (event) => {
      const dragEnd = fromX(event);
      if (dragStart !== null && Math.abs(toX(dragEnd) - toX(dragStart)) > MIN_DRAG) {
        [low, high] = [Math.min(dragStart, dragEnd), Math.max(dragStart, dragEnd)];
      }
      dragStart = null;
      redraw();
    });
    plot.addEventListener("dblclick", () => {
      [low, high] = [0, maxX];
      redraw();
    });
    container.addEventListener("toggle-line", (event) => {
      const index = /** @type {CustomEvent<number>} */ (event).detail;
      if (!hiddenLines.delete(index)) hiddenLines.add(index);
      redraw();
    });
    redraw();
  }

  /**
   * The range of an axis: all values and intervals, with a margin.
   * @param {number[]} values
   * @param {Interval[]} intervals
   */
  function axisRange(values, intervals) {
    const ends = [...values, ...intervals.flatMap((interval) => interval ?? [])];
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const margin = (high - low || Math.abs(high) || 1) * 0.12;
    return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
  }

  /**
   * Moves each arm's name to the first position around its point where it covers no other name, no point and no edge.
   * @param {SVGElement} plot
   * @param {[number, number][]} points in the order of the names
   */
  function placeLabels(plot, points) {
    const dots = points.map(([x, y]) => ({ left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 }));
    /** @typedef {typeof dots[number]} Box */
    /** @type {Box[]} */
    const placedBoxes = [];
    const overlaps = (/** @type {Box} */ a, /** @type {Box} */ b) =>
      a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const names = /** @type {SVGTextElement[]} */ ([...plot.querySelectorAll(".rp-arm")]);
    for (const [index, name] of names.entries()) {
      const { width, height } = name.getBBox();
      const [x, y] = points[index];
      const lefts = x > WIDTH / 2 ? [x - 9 - width, x + 9] : [x + 9, x - 9 - width];
      const bottoms = [y - 8, y + 8 + height / 2, y - 8 - height, y + 8 + 1.5 * height, y - 8 - 2 * height];
      const boxes = bottoms.flatMap((bottom) =>
        lefts.map((left) => ({ left, right: left + width, top: bottom - height, bottom })),
      );
      const cost = (/** @type {Box} */ box) => {
        const overlapCount = [...placedBoxes, ...dots].filter((other) => overlaps(box, other)).length;
        return overlapCount + (box.left < LEFT + 14 || box.right > WIDTH ? 100 : 0);
      };
      const bestBox = boxes.reduce((best, box) => (cost(box) < cost(best) ? box : best));
      name.setAttribute("x", String(bestBox.left));
      name.setAttribute("y", String(bestBox.bottom - 3));
      placedBoxes.push(bestBox);
    }
  }

  /** @param {HTMLElement} container */
  function drawFrontier(container) {
    const [ySelect, xSelect] = /** @type {HTMLSelectElement[]} */ ([...container.querySelectorAll("select")]);
    /** @param {HTMLSelectElement} select @param {string[]} names of the options, possibly repeated */
    const fillSelect = (select, names) =>
      select.replaceChildren(...[...new Set(names)].map((name) => new Option(name, name)));
    const fillXSelect = () =>
      fillSelect(xSelect, data.frontiers.flatMap(({ names: [y, x] }) => (y === ySelect.value ? [x] : [])));
    fillSelect(ySelect, data.frontiers.map(({ names: [y] }) => y));
    fillXSelect();
    const plot = createSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + 100}`, role: "img" });
    container.append(plot);
    const bottom = HEIGHT + 100 - BOTTOM - 16;

    function redraw() {
      const isChosen = (/** @type {Frontier} */ { names: [y, x] }) => y === ySelect.value && x === xSelect.value;
      const chart = data.frontiers.find(isChosen) ?? data.frontiers[0];
      plot.setAttribute("aria-label", chart.title);
      const [left, right] = axisRange(chart.points.map(({ x }) => x), chart.points.map(({ x_interval }) => x_interval));
      const [low, high] = axisRange(chart.points.map(({ y }) => y), chart.points.map(({ y_interval }) => y_interval));
      const toX = (/** @type {number} */ x) => LEFT + 14 + ((x - left) / (right - left)) * (WIDTH - LEFT - 14 - RIGHT);
      const toY = (/** @type {number} */ y) => bottom - ((y - low) / (high - low)) * (bottom - TOP);
      /** @type {SVGElement[]} */
      const parts = [];
      const addText = (/** @type {string} */ text, /** @type {Record<string, string | number>} */ attributes) => {
        const node = createSvg("text", attributes);
        node.textContent = text;
        parts.push(node);
      };
      /** @param {[number, number]} xs @param {[number, number]} ys @param {string} stroke */
      const addInterval = ([x1, x2], [y1, y2], stroke) =>
        parts.push(createSvg("line", { x1, x2, y1, y2, style: `stroke:${stroke}` }));
      for (const value of ticks(low, high)) {
        const y = toY(value);
        parts.push(createSvg("line", { x1: LEFT + 14, x2: WIDTH - RIGHT, y1: y, y2: y, class: "rp-grid" }));
        addText(threeDigits(value), { x: LEFT + 8, y: y + 4, class: "rp-tick rp-end" });
      }
      for (const value of ticks(left, right)) {
        addText(threeDigits(value), { x: toX(value), y: bottom + 16, class: "rp-tick rp-middle" });
      }
      addText(chart.x, { x: WIDTH - RIGHT, y: bottom + 32, class: "rp-tick rp-end" });
      addText(chart.y, { x: 12, y: TOP, class: "rp-tick rp-end", transform: `rotate(-90 12 ${TOP})` });
      const d = chart.line.map(([x, y], i) => `${i ? "L" : "M"}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join("");
      if (d) parts.push(createSvg("path", { d, class: "rp-best" }));
      for (const point of chart.points) {
        const { x_interval: xInterval, y_interval: yInterval } = point;
        const stroke = `light-dark(${point.color[0]},${point.color[1]})`;
        const [x, y] = [toX(point.x), toY(point.y)];
        if (xInterval) addInterval([toX(xInterval[0]), toX(xInterval[1])], [y, y], stroke);
        if (yInterval) addInterval([x, x], [toY(yInterval[0]), toY(yInterval[1])], stroke);
        const fill = point.is_comparable ? stroke : "var(--pw-ground)";
        parts.push(createSvg("circle", { cx: x, cy: y, r: 5, style: `stroke:${stroke};fill:${fill};stroke-width:2` }));
        addText(point.note ? `${point.name}, ${point.note}` : point.name, { x, y, class: "rp-tick rp-arm" });
      }
      plot.replaceChildren(...parts);
      placeLabels(plot, chart.points.map((point) => [toX(point.x), toY(point.y)]));
    }
    ySelect.addEventListener("change", () => {
      fillXSelect();
      redraw();
    });
    xSelect.addEventListener("change", redraw);
    redraw();
  }

  /**
   * A CSV cell; a text that a spreadsheet would execute as a formula gets a leading apostrophe.
   * @param {unknown} value
   */
  function csvCell(value) {
    if (value === null || value === undefined) return "";
    const text = String(value);
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return `"${safe.replaceAll('"', '""')}"`;
  }

  /** @param {string} name */
  function saveCsv(name) {
    const { columns, rows } = data.tables[name];
    const lines = [columns, ...rows];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(csvCell).join(",")).join("\r\n")], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const containers = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".rp-chart")]);
  containers.forEach((container, index) => drawChart(container, data.charts[index]));
  for (const container of document.querySelectorAll(".rp-frontier")) {
    drawFrontier(/** @type {HTMLElement} */ (container));
  }
  for (const button of document.querySelectorAll("[data-line]")) {
    button.addEventListener("click", () => {
      const index = Number(button.getAttribute("data-line"));
      const isOn = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!isOn));
      for (const container of containers) container.dispatchEvent(new CustomEvent("toggle-line", { detail: index }));
    });
  }
  for (const button of document.querySelectorAll("[data-csv]")) {
    button.addEventListener("click", () => saveCsv(button.getAttribute("data-csv") ?? ""));
  }
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
