// What web/charts.py says of a chart that stands still, and what it hears of it.

import type { Bundle } from "../static/live/plotly.js";
import type { Palette } from "./live_page.js";

/** As plotly.js takes it, in the colours of the light ground. */
export interface Figure {
  data: StillTrace[];
  layout: Plotly.Layout & { height: number };
}

export interface Spread {
  array?: (number | null)[];
  arrayminus?: (number | null)[];
}

/** A trace with the parts that are read here. */
export interface StillTrace {
  type: "scatter" | "bar" | "box" | "heatmap";
  name?: string;
  x?: (string | number | null)[];
  y?: (string | number | null)[];
  z?: (number | null)[][];
  customdata?: string[][] | string[][][]; // what each point, or each cell of a map, says when it is pressed
  hovertext?: string[] | string[][]; // of each point, or of each cell
  text?: string[] | string[][]; // likewise
  textfont?: { size?: number };
  xaxis?: string; // "x2" of the second of small charts
  yaxis?: string;
  error_x?: Spread;
  error_y?: Spread;
  showlegend?: boolean;
  fill?: string;
  meta?: string; // which small chart it is on
}

type End = string | number; // a moment is a text

/** What is shown of each axis; null: all. */
export interface Zoom {
  xaxis: [from: End, to: End] | null;
  yaxis: [from: End, to: End] | null;
}

export interface ZoomedAxis {
  autorange?: boolean | string;
  range: [from: End, to: End];
}

export interface StillData {
  name: string; // in the address
  title: string;
  about: string; // its accessible name
  file: string;
  figure: Figure;
  bundle: Bundle;
  opens: boolean; // a press on a point is told
  palette: Palette;
  assets: string;
  module: string;
}
