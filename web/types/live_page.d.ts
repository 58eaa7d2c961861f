// The types that the parts of the Live page exchange.

import type { RunModel } from "../static/live/model.js";
import type { Theme } from "../static/live/theme.js";
import type { View } from "../static/live/view.js";
import type { ByName, LiveMeta, LogLine, Series } from "./live_protocol.js";

/** A run for which a snapshot has arrived. */
export type KnownModel = RunModel & { meta: LiveMeta };

/** A range on the x axis, in seconds since ready or wall-clock seconds. */
export type Range = [start: number, end: number];

/** What a message changed in a model. */
export interface Changes {
  redrawAll: boolean;
  positions: boolean;
  log: LogLine[];
}

/** A time range of a run in more detail than the overview of the whole run. */
export interface Detail {
  series: Record<string, Series>;
}

export type Status = "connecting" | "live" | "stuck" | "reconnecting" | "refused" | "loaded";

/** The interface through which charts, logs and the toolbar use their page. */
export interface Page {
  view: View;
  models(): RunModel[];
  theme(): Theme;
  label(model: KnownModel): string; // its name without the beginning that all names share
  arms?(): LegendEntry[]; // groups of repeated runs, if the page has any
  quantiles?(): number[]; // of Student's t, two-sided at 95 %, from one degree of freedom on
  onZoom(range: Range | null): void;
  onMark(markedX: number | null): void;
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

type ByScheme<Value> = { light: Value; dark: Value };

/** The colours of web/theme.py. */
export interface Palette {
  runs: ByScheme<string[]>;
  dashes: ByScheme<string[]>; // Plotly's dash pattern for the lines of each hue
  text: ByScheme<string>;
  muted: ByScheme<string>;
  grid: ByScheme<string>;
  excluded: ByScheme<string>;
  doubt: ByScheme<string>;
  failure: ByScheme<string>;
}

/** The data that web/live/component.py sends to every board of charts. */
export interface BoardData {
  runs: string[];
  colors: Record<string, number>;
  base: string;
  assets: string;
  module: string;
  palette: Palette;
  names?: Record<string, string>;
  labels?: Record<string, string>; // the part of each name that is unique
  legend?: LegendEntry[];
  quantiles?: number[];
}

/** The data for the Live page. */
export interface LiveData extends BoardData {
  names: Record<string, string>;
  labels: Record<string, string>;
  baseline: string;
  not_comparable: Record<string, string>;
  links: ByName<string>; // to runs of other Pitwalls
  run_url: string;
}

/** Runs that are drawn in the same colour under the same name. */
export interface LegendEntry {
  name: string;
  color: number;
  runs: string[];
}

/** The data for a page that does not update by itself. */
export interface RunChartsData extends BoardData {
  legend: LegendEntry[];
  quantiles: number[];
  charts: string[]; // ids of the charts to draw; empty: all
}

/** The callbacks of the page around a board. */
export interface BoardHooks {
  isLive: boolean;
  refresh(): void; // before each drawing
  onMark(markedX: number | null): void;
}
