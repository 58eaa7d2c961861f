// What web/replay/component.py says, and what the parts of the Replay page give each other.

/** One answer; seconds since the scene began. */
export interface ReplayAnswer {
  sent_s: number;
  stream: number;
  at_s: number[]; // when each piece came
  tokens: number[] | null; // of each piece; null where the server did not count them as they came
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
  plays_at_once: boolean; // without a press of Play
  assets: string;
  module: string;
}

/** A piece of an answer, in the order in which all pieces of a lane came. */
export interface Piece {
  at_s: number;
  tokens: number;
  stream: number;
  total: number; // tokens up to and with it
}

/** Where a piece is drawn, in cells. */
export interface Cell {
  row: number;
  column: number;
  width: number;
}
