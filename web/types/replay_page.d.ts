// The data that web/replay/component.py sends, and the types that the parts of the Replay page exchange.

/** One answer; times are seconds since the start of the replayed scene. */
export interface ReplayAnswer {
  sent_s: number;
  stream: number;
  at_s: number[]; // when each piece arrived
  tokens: number[] | null; // of each piece; null if the server did not count them
}

export interface ReplayLane {
  id: string;
  name: string;
  color: string; // CSS
  link: string;
  answers: ReplayAnswer[];
}

export interface ReplayData {
  lanes: ReplayLane[];
  speed: number;
  plays_at_once: boolean; // starts without a click on Play
  assets: string;
  module: string;
}

/** A piece of an answer; the pieces of a lane are in the order of their arrival. */
export interface Piece {
  at_s: number;
  tokens: number;
  stream: number;
  total: number; // tokens up to and including this piece
}

/** Where a piece is drawn, in units of cells. */
export interface Cell {
  row: number;
  column: number;
  width: number;
}
