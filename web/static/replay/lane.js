// One run as it plays: its name, what has come by now, and each piece as a block.

/** @import { Cell, ReplayLane } from "../../types/replay_page.js" */

import { DASH, element, setText, threeDigits } from "../live/format.js";
import { Tape, laidOut } from "./tape.js";

const CELL_PX = 8;
const BLOCK_PX = 10; // high
const ROW_PX = 14;
const [ROWS, ROWS_ON_PHONE] = [6, 12];
const PHONE_PX = 640;
const GAP_PX = 2;
const SHADES = [1, 0.7, 0.5, 0.85]; // of streams side by side

/** @typedef {{ place: number, gap_s: number }} Finish which lane ended as how manyth, and how long after the first */

export class Lane {
  /** @type {Finish | null} */
  finish = null; // null: no other lane to compare with
  #rows = ROWS;
  /** @type {Cell[]} */
  #cells = [];
  #columns = 0;
  #color = "";

  /** @param {ReplayLane} lane */
  constructor(lane) {
    this.tape = new Tape(lane.answers);
    this.root = element("section", "rp-lane");
    this.root.setAttribute("aria-label", lane.name);
    this.root.style.setProperty("--rp-run", lane.color);
    const head = this.root.appendChild(element("header"));
    head.append(element("span", "rp-swatch"));
    const name = head.appendChild(element("h3")).appendChild(element("a", "", lane.name));
    name.href = lane.link;
    this.total = head.appendChild(element("strong", "rp-total"));
    this.rate = head.appendChild(element("span", "rp-rate"));
    this.state = head.appendChild(element("span", "rp-state"));
    this.canvas = this.root.appendChild(element("canvas"));
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `The answers of ${lane.name}, one block per token`);
  }

  /** After the page has given it a width, or another one. */
  measure() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.root.clientWidth;
    this.#rows = width > PHONE_PX ? ROWS : ROWS_ON_PHONE;
    this.#columns = Math.max(1, Math.floor(width / CELL_PX));
    this.#cells = laidOut(this.tape.pieces, this.#columns);
    this.#color = getComputedStyle(this.root).getPropertyValue("color");
    Object.assign(this.canvas, { width: width * ratio, height: this.#rows * ROW_PX * ratio });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.#rows * ROW_PX}px` });
    this.canvas.getContext("2d")?.scale(ratio, ratio);
  }

  /** @param {number} t_s */
  show(t_s) {
    const unit = this.tape.isCounted ? "tokens" : "pieces";
    const rate = this.tape.rate(t_s);
    setText(this.total, `${this.tape.total(t_s).toLocaleString("en-US")} ${unit}`);
    const perSecond = `${this.tape.isCounted ? "tok" : "pieces"}/s${t_s >= this.tape.end_s ? " mean" : ""}`;
    setText(this.rate, rate === null ? DASH : `${threeDigits(rate)} ${perSecond}`);
    setText(this.state, this.#stateAt(t_s));
    this.#draw(this.tape.come(t_s));
  }

  /** @param {number} t_s */
  #stateAt(t_s) {
    const first = this.tape.pieces.at(0);
    if (!first) return "its token times were not recorded";
    if (t_s < first.at_s) return "waiting for the first token";
    return t_s < this.tape.end_s ? "decoding" : finishText(this.tape.end_s, this.finish);
  }

  /** @param {number} come pieces */
  #draw(come) {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, this.#columns * CELL_PX, this.#rows * ROW_PX);
    context.fillStyle = this.#color;
    const last = come ? this.#cells[come - 1].row : 0;
    const from = Math.max(0, last - this.#rows + 1);
    for (let index = come - 1; index >= 0 && this.#cells[index].row >= from; index -= 1) {
      const { row, column, width } = this.#cells[index];
      context.globalAlpha = SHADES[this.tape.pieces[index].stream % SHADES.length];
      context.fillRect(column * CELL_PX, (row - from) * ROW_PX, width * CELL_PX - GAP_PX, BLOCK_PX);
    }
  }
}

/**
 * @param {number} end_s
 * @param {Finish | null} finish
 */
export function finishText(end_s, finish) {
  const seconds = `${end_s.toFixed(2)} s`;
  if (!finish) return `done at ${seconds}`;
  const gap = finish.gap_s > 0 ? `; +${finish.gap_s.toFixed(2)} s` : "";
  return `${ordinal(finish.place)}, ${seconds}${gap}`;
}

/** @param {number} place up to 10 */
function ordinal(place) {
  return `${place}${["st", "nd", "rd"][place - 1] ?? "th"}`;
}

/**
 * In which order lanes end; lanes that end at the same time share a place, and one without times has none.
 * @param {number[]} ends_s
 * @returns {(Finish | null)[]}
 */
export function finishes(ends_s) {
  const timed = ends_s.filter((end_s) => end_s > 0);
  const first_s = Math.min(...timed);
  return ends_s.map((end_s) => (timed.length < 2 || end_s <= 0 ? null : { place: 1 + timed.filter((other_s) => other_s < end_s).length, gap_s: end_s - first_s }));
}
