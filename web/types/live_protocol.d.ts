// The messages of web/live/protocol.py as types; tests/web/live/test_live_types.py checks that the two agree.

export interface Series {
  t: number[];
  v: (number | null)[];
  excluded?: number[];
  mean?: (number | null)[];
  count?: number[];
}

export interface Tile {
  v: number | null;
  why: string | null;
  t?: number;
}

export interface PerPosition {
  v: number[] | null;
  why: string | null;
}

export interface LogLine {
  at: number;
  t: number | null;
  text: string;
  mark: string | null;
  why: string | null;
}

export interface LiveNode {
  title: string;
  t: number;
  gpu_count: number;
  gpu_power_w: number | null;
  gpu_sm_clock_mhz: number | null;
  cpu_cores: number | null;
  cores: number | null;
  memory_used_bytes: number | null;
}

export interface LiveMark {
  t: number;
  kind: string;
  text: string;
}

export interface LiveMeta {
  id: string;
  name: string;
  color: number;
  state: string;
  phase: string | null;
  kind: string;
  engine_title: string;
  chips: string[];
  created_t: number;
  started_t: number | null;
  ready_t: number | null;
  ended_t: number | null;
  ceiling: number | null;
  cause: string | null;
  cause_line: string | null;
  tile_basis: string;
  absent: ByName<string>;
}

export interface LivePart {
  cursor: string;
  meta?: LiveMeta;
  series?: Record<string, Series>;
  now?: Record<string, Tile>;
  per_position?: PerPosition;
  nodes?: LiveNode[];
  marks?: LiveMark[];
  log?: LogLine[];
}

/** Values by the name of a series or tile; any of them may be missing. */
export type ByName<Value> = { [name: string]: Value | undefined };

export interface RunPart extends LivePart {
  type: "snapshot" | "backfill" | "delta";
  run: string;
  seq: number;
  server_t: number;
}

export interface Gone {
  type: "gone";
  run: string;
  reason: string;
  server_t: number;
}

/** The run belongs to another Pitwall, which sends nothing at the moment. */
export interface Away {
  type: "away";
  run: string;
  reason: string;
  server_t: number;
}

export interface Sign {
  type: "beat";
  server_t: number;
  is_storing: boolean;
}

export interface Hello {
  type: "hello";
  server_t: number;
  beat_s: number;
  is_storing: boolean;
}

export type RunMessage = RunPart | Gone | Away;
export type Message = RunMessage | Sign | Hello;
