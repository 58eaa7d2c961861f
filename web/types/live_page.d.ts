// What the parts of the Live page give each other.

import type { RunModel } from "../static/live/model.js";
import type { Theme } from "../static/live/theme.js";
import type { View } from "../static/live/view.js";
import type { ByName, LiveMeta, LogLine, Series } from "./live_protocol.js";

/** A run of which a snapshot has come. */
export type KnownModel = RunModel & { meta: LiveMeta };

/** From and to, in seconds since ready or of the wall clock. */
export type Range = [from: number, to: number];

/** What a message changed of a model. */
export interface Changes {
  whole: boolean;
  positions: boolean;
  log: LogLine[];
}

/** A stretch of a run as the server has it, finer than the whole. */
export interface Detail {
  series: Record<string, Series>;
}

export type Status = "connecting" | "live" | "stuck" | "reconnecting" | "refused" | "loaded";

/** What a chart, a log or the toolbar needs of the page it is on. */
export interface Page {
  view: View;
  models(): RunModel[];
  theme(): Theme;
  label(model: KnownModel): string; // its name, without what all names begin with
  arms?(): LegendEntry[]; // runs that repeat each other, where the page knows of arms
  quantiles?(): number[]; // Student's, of two sides at 95 %, from one degree of freedom on
  onZoom(range: Range | null): void;
  onMoment(x: number | null): void;
  onView(): void;
  onStyle(): void;
  onHide(runIds: string[]): void;
}

export interface ChartSpec {
  id: string;
  title: string;
  unit: string;
  lines: string[];
  scale?: number;
  isCount?: boolean;
  isWide?: boolean;
  hasCeiling?: boolean;
  showsExcluded?: boolean;
}

type OnGrounds<Value> = { light: Value; dark: Value };

/** The colours of web/theme.py. */
export interface Palette {
  runs: OnGrounds<string[]>;
  dashes: OnGrounds<string[]>; // Plotly's pattern of the lines of each hue
  text: OnGrounds<string>;
  muted: OnGrounds<string>;
  grid: OnGrounds<string>;
  excluded: OnGrounds<string>;
  doubt: OnGrounds<string>;
  failure: OnGrounds<string>;
}

/** What web/live/component.py says of every board of charts. */
export interface BoardData {
  runs: string[];
  colors: Record<string, number>;
  base: string;
  assets: string;
  module: string;
  palette: Palette;
  names?: Record<string, string>;
  labels?: Record<string, string>; // the part of each name that tells it apart
  legend?: LegendEntry[];
  quantiles?: number[];
}

/** And of the Live page. */
export interface LiveData extends BoardData {
  names: Record<string, string>;
  labels: Record<string, string>;
  baseline: string;
  not_comparable: Record<string, string>;
  links: ByName<string>; // of runs of other Pitwalls
  run_url: string;
}

/** Runs that are drawn in one colour under one name. */
export interface LegendEntry {
  name: string;
  color: number;
  runs: string[];
}

/** And of a page that stands still. */
export interface CourseData extends BoardData {
  legend: LegendEntry[];
  quantiles: number[];
  charts: string[]; // ids of those that are drawn; none: all
}

/** What the page around a board does. */
export interface BoardHooks {
  isLive: boolean;
  refresh(): void; // before each drawing
  point(moment: number | null): void; // the marked x
}
