// The recorded pieces of a lane's answers in the order of their arrival, with the counts and rates at any time of the
// replay.

/** @import { Cell, Piece, ReplayAnswer } from "../../types/replay_page.js" */

const RATE_WINDOW_S = 1;

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
    this.pieces.sort((a, b) => a.at_s - b.at_s);
    let total = 0;
    for (const piece of this.pieces) piece.total = total += piece.tokens;
  }

  get end_s() {
    return this.pieces.at(-1)?.at_s ?? 0;
  }

  /** How many pieces had arrived at a time. @param {number} t_s */
  pieceCount(t_s) {
    let [low, high] = [0, this.pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle].at_s <= t_s) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** How many tokens had arrived at a time, or pieces if tokens were not counted. @param {number} t_s */
  total(t_s) {
    const count = this.pieceCount(t_s);
    return count ? this.pieces[count - 1].total : 0;
  }

  /** Tokens per second after the first piece, over the time since it; null if all arrived at once. */
  get meanRate() {
    const first = this.pieces.at(0);
    const seconds = first ? this.end_s - first.at_s : 0;
    return first && seconds > 0 ? (this.total(this.end_s) - first.tokens) / seconds : null;
  }

  /**
   * Tokens per second over the last second, or the mean once the last piece has arrived; null during the first second.
   * @param {number} t_s
   */
  rate(t_s) {
    if (this.pieces.length && t_s >= this.end_s) return this.meanRate;
    if (t_s < RATE_WINDOW_S) return null;
    return (this.total(t_s) - this.total(t_s - RATE_WINDOW_S)) / RATE_WINDOW_S;
  }
}

/**
 * Arranges the pieces in rows of blocks, each as wide as its number of tokens; a wider piece than a row fills the row.
 * @param {Piece[]} pieces
 * @param {number} columns in a row
 * @returns {Cell[]}
 */
export function arrangePieces(pieces, columns) {
  let [row, column] = [0, 0];
  return pieces.map((piece) => {
    const width = Math.min(Math.max(piece.tokens, 1), columns);
    if (column + width > columns) [row, column] = [row + 1, 0];
    const cell = { row, column, width };
    column += width;
    return cell;
  });
}
