// The data that web/charts.py sends to a still chart.

import type { Bundle } from "../static/live/plotly.js";
import type { Palette } from "./live_page.js";

/** A figure for plotly.js, in the colours of the light colour scheme. */
export interface Figure {
  data: StillTrace[];
  layout: Plotly.Layout & { height: number };
}

export interface Spread {
  array?: (number | null)[];
  arrayminus?: (number | null)[];
}

/** A trace, with the fields that are used here. */
export interface StillTrace {
  type: "scatter" | "bar" | "box" | "heatmap";
  name?: string;
  x?: (string | number | null)[];
  y?: (string | number | null)[];
  z?: (number | null)[][];
  customdata?: string[][] | string[][][]; // sent back when the point, or the cell of a heat map, is pressed
  hovertext?: string[] | string[][]; // for each point, or for each cell
  text?: string[] | string[][]; // likewise
  textfont?: { size?: number };
  xaxis?: string; // "x2" for the second of small multiples
  yaxis?: string;
  error_x?: Spread;
  error_y?: Spread;
  showlegend?: boolean;
  fill?: string;
  meta?: string; // the title of its chart in small multiples
}

type End = string | number; // a date and time is a string

/** The range that each axis is zoomed to; null: not zoomed. */
export interface Zoom {
  xaxis: [start: End, end: End] | null;
  yaxis: [start: End, end: End] | null;
}

export interface ZoomedAxis {
  autorange?: boolean | string;
  range: [start: End, end: End];
}

export interface StillData {
  name: string; // in the URL
  title: string;
  about: string; // the accessible name
  file: string;
  figure: Figure;
  bundle: Bundle;
  opens: boolean; // whether pressing a point opens something
  palette: Palette;
  assets: string;
  module: string;
}
