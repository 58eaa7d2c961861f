// Types of code that is not ours: Streamlit's calls of components, and the parts of plotly.js that are used here.

/** The argument that Streamlit passes to the default export of a component. */
interface ComponentArgs<Data> {
  parentElement: HTMLElement;
  data: Data;
}

/** The functions to send values to the script: a state value stays, a trigger value is sent once. */
interface ValueSetters<State, Triggers> {
  setStateValue<Name extends keyof State>(name: Name, value: State[Name]): void;
  setTriggerValue<Name extends keyof Triggers>(name: Name, value: Triggers[Name]): void;
}

interface Window {
  Plotly?: typeof Plotly; // of the smallest bundle
}

declare namespace Plotly {
  type Point = number | null;

  interface Trace {
    type: "scatter" | "bar";
    name: string;
    x: Point[];
    y: Point[];
    [setting: string]: unknown;
  }

  interface Axis {
    range?: number[];
    [setting: string]: unknown;
  }

  interface Layout {
    xaxis: Axis;
    yaxis: Axis;
    margin?: { l?: number; t?: number; b?: number };
    [setting: string]: unknown;
  }

  /** An axis as drawn, with conversions between its values and pixels. */
  interface DrawnAxis {
    range: [number, number];
    autorange?: boolean | string;
    _offset: number;
    _length: number;
    l2p(x: number): number;
    p2l(pixel: number): number;
    r2l(end: number): number; // from the end of a range, such as a date, to a number on the axis
    l2r(position: number): number;
  }

  interface Plot extends HTMLDivElement {
    data?: Trace[];
    layout: Layout;
    _fullLayout?: { xaxis: DrawnAxis; yaxis: DrawnAxis };
    on(event: "plotly_relayout" | "plotly_doubleclick", listener: (change: Record<string, number | undefined>) => void): void;
    on(event: "plotly_click", listener: (pressed: { points: { customdata?: unknown }[] }) => void): void;
  }

  const Plots: { resize(plot: Plot): void };
  function react(plot: Plot, traces: Trace[], layout: Layout, config: object): void;
  function extendTraces(plot: Plot, points: { x: Point[][]; y: Point[][] }, traces: number[]): void;
  function relayout(plot: Plot, change: object): void;
  function downloadImage(figure: object, how: { format: "png" | "svg"; filename: string; width: number; height: number }): Promise<string>;
  function purge(plot: Plot): void;
}
