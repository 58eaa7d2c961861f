// What the parts of the Live page give each other.

import type { RunModel } from "../static/live/model.js";
import type { Theme } from "../static/live/theme.js";
import type { View } from "../static/live/view.js";
import type { ByName, LiveMeta, LogLine } from "./live_protocol.js";

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

export type Status = "connecting" | "live" | "stuck" | "reconnecting" | "refused";

/** What a chart, a log or the toolbar needs of the page it is on. */
export interface Page {
  view: View;
  models(): RunModel[];
  theme(): Theme;
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
  text: OnGrounds<string>;
  muted: OnGrounds<string>;
  grid: OnGrounds<string>;
  excluded: OnGrounds<string>;
  doubt: OnGrounds<string>;
  failure: OnGrounds<string>;
}

/** What web/live/component.py says. */
export interface LiveData {
  runs: string[];
  colors: Record<string, number>;
  names: Record<string, string>;
  baseline: string;
  not_comparable: Record<string, string>;
  base: string;
  assets: string;
  module: string;
  links: ByName<string>; // of runs of other Pitwalls
  run_url: string;
  palette: Palette;
}
