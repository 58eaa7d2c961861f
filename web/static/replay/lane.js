// One run as it plays: its name, what has come by now, and each piece as a block.

/** @import { Cell, ReplayLane } from "../../types/replay_page.js" */

import { DASH, element, setText, threeDigits } from "../live/format.js";
import { Tape, laidOut } from "./tape.js";

const CELL_PX = 8;
const BLOCK_PX = 10; // high
const ROW_PX = 14;
const ROWS = 12;
const GAP_PX = 2;
const SHADES = [1, 0.7, 0.5, 0.85]; // of streams side by side

export class Lane {
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
    this.#columns = Math.max(1, Math.floor(width / CELL_PX));
    this.#cells = laidOut(this.tape.pieces, this.#columns);
    this.#color = getComputedStyle(this.root).getPropertyValue("color");
    Object.assign(this.canvas, { width: width * ratio, height: ROWS * ROW_PX * ratio });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${ROWS * ROW_PX}px` });
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
    return t_s < this.tape.end_s ? "decoding" : `done at ${this.tape.end_s.toFixed(2)} s`;
  }

  /** @param {number} come pieces */
  #draw(come) {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, this.#columns * CELL_PX, ROWS * ROW_PX);
    context.fillStyle = this.#color;
    const last = come ? this.#cells[come - 1].row : 0;
    const from = Math.max(0, last - ROWS + 1);
    for (let index = come - 1; index >= 0 && this.#cells[index].row >= from; index -= 1) {
      const { row, column, width } = this.#cells[index];
      context.globalAlpha = SHADES[this.tape.pieces[index].stream % SHADES.length];
      context.fillRect(column * CELL_PX, (row - from) * ROW_PX, width * CELL_PX - GAP_PX, BLOCK_PX);
    }
  }
}
