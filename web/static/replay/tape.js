// The pieces of a lane's answers in the order in which they came, and what is true of them at a moment.

/** @import { Cell, Piece, ReplayAnswer } from "../../types/replay_page.js" */

const RATE_OVER_S = 1;

export class Tape {
  /** @param {ReplayAnswer[]} answers */
  constructor(answers) {
    this.isCounted = answers.every((answer) => answer.tokens !== null);
    /** @type {Piece[]} */
    this.pieces = answers.flatMap((answer) =>
      answer.at_s.map((at_s, index) => ({
        at_s,
        tokens: this.isCounted ? (answer.tokens?.[index] ?? 0) : 1,
        stream: answer.stream,
        total: 0,
      })),
    );
    this.pieces.sort((one, other) => one.at_s - other.at_s);
    let total = 0;
    for (const piece of this.pieces) piece.total = total += piece.tokens;
  }

  get end_s() {
    return this.pieces.at(-1)?.at_s ?? 0;
  }

  /** How many pieces had come. @param {number} t_s */
  come(t_s) {
    let [low, high] = [0, this.pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle].at_s <= t_s) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Tokens that had come, or pieces where tokens are not known. @param {number} t_s */
  total(t_s) {
    const come = this.come(t_s);
    return come ? this.pieces[come - 1].total : 0;
  }

  /** Tokens per second after the first piece, over the time since it; null if all came at once. */
  get mean() {
    const first = this.pieces.at(0);
    const seconds = first ? this.end_s - first.at_s : 0;
    return first && seconds > 0 ? (this.total(this.end_s) - first.tokens) / seconds : null;
  }

  /**
   * Tokens per second: of the last second, and from the last piece on the mean of all; null before a second has passed.
   * @param {number} t_s
   */
  rate(t_s) {
    if (this.pieces.length && t_s >= this.end_s) return this.mean;
    if (t_s < RATE_OVER_S) return null;
    return (this.total(t_s) - this.total(t_s - RATE_OVER_S)) / RATE_OVER_S;
  }
}

/**
 * Each piece as a block as wide as its tokens, row after row; one that is wider than a row fills it.
 * @param {Piece[]} pieces
 * @param {number} columns of a row
 * @returns {Cell[]}
 */
export function laidOut(pieces, columns) {
  let [row, column] = [0, 0];
  return pieces.map((piece) => {
    const width = Math.min(Math.max(piece.tokens, 1), columns);
    if (column + width > columns) [row, column] = [row + 1, 0];
    const cell = { row, column, width };
    column += width;
    return cell;
  });
}
