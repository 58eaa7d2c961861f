// One run of the replay: its name, its counts and rate so far, and a block for each piece that has arrived.

/** @import { Cell, ReplayLane } from "../../types/replay_page.js" */

import { DASH, element, setText, threeDigits } from "../live/format.js";
import { Tape, arrangePieces } from "./tape.js";

const CELL_WIDTH_PX = 8;
const BLOCK_HEIGHT_PX = 10;
const ROW_HEIGHT_PX = 14;
const [ROWS, ROWS_ON_PHONE] = [6, 12];
const MAX_PHONE_WIDTH_PX = 640;
const GAP_PX = 2;
const STREAM_OPACITIES = [1, 0.7, 0.5, 0.85]; // to tell concurrent streams apart

/** @typedef {{ place: number, gap_s: number }} Finish the place in the race, and the time after the first lane */

export class Lane {
  /** @type {Finish | null} */
  finish = null; // null if there is no other lane to compare with, or the lane has no times
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

  /** Adapts the lane to its width, after the page has set or changed it. */
  resize() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.root.clientWidth;
    this.#rows = width > MAX_PHONE_WIDTH_PX ? ROWS : ROWS_ON_PHONE;
    this.#columns = Math.max(1, Math.floor(width / CELL_WIDTH_PX));
    this.#cells = arrangePieces(this.tape.pieces, this.#columns);
    this.#color = getComputedStyle(this.root).getPropertyValue("color");
    Object.assign(this.canvas, { width: width * ratio, height: this.#rows * ROW_HEIGHT_PX * ratio });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.#rows * ROW_HEIGHT_PX}px` });
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
    this.#draw(this.tape.pieceCount(t_s));
  }

  /** @param {number} t_s */
  #stateAt(t_s) {
    const first = this.tape.pieces.at(0);
    if (!first) return "its token times were not recorded";
    if (t_s < first.at_s) return "waiting for the first token";
    return t_s < this.tape.end_s ? "decoding" : finishText(this.tape.end_s, this.finish);
  }

  /** @param {number} count of pieces to draw */
  #draw(count) {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, this.#columns * CELL_WIDTH_PX, this.#rows * ROW_HEIGHT_PX);
    context.fillStyle = this.#color;
    const lastRow = count ? this.#cells[count - 1].row : 0;
    const firstRow = Math.max(0, lastRow - this.#rows + 1);
    for (let index = count - 1; index >= 0 && this.#cells[index].row >= firstRow; index -= 1) {
      const { row, column, width } = this.#cells[index];
      context.globalAlpha = STREAM_OPACITIES[this.tape.pieces[index].stream % STREAM_OPACITIES.length];
      const [x, y] = [column * CELL_WIDTH_PX, (row - firstRow) * ROW_HEIGHT_PX];
      context.fillRect(x, y, width * CELL_WIDTH_PX - GAP_PX, BLOCK_HEIGHT_PX);
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
 * The finishes of all lanes. Lanes that end at the same time share a place; a lane without times has no finish.
 * @param {number[]} ends_s
 * @returns {(Finish | null)[]}
 */
export function rankFinishes(ends_s) {
  const known_s = ends_s.filter((end_s) => end_s > 0);
  const first_s = Math.min(...known_s);
  return ends_s.map((end_s) => {
    if (known_s.length < 2 || end_s <= 0) return null;
    return { place: 1 + known_s.filter((other_s) => other_s < end_s).length, gap_s: end_s - first_s };
  });
}
