// What others put on the page: Streamlit's call of a component, and plotly.js as far as it is used here.

/** What Streamlit hands to the default export of a component. */
interface ComponentArgs<Data> {
  parentElement: HTMLElement;
  data: Data;
}

/** And to one that tells the script something: state stays, a trigger is told once. */
interface SentBack<State, Triggers> {
  setStateValue<Name extends keyof State>(name: Name, value: State[Name]): void;
  setTriggerValue<Name extends keyof Triggers>(name: Name, value: Triggers[Name]): void;
}

interface Window {
  Plotly?: typeof Plotly; // the smallest bundle's
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

  /** An axis as drawn, in pixels of the plot. */
  interface DrawnAxis {
    range: [number, number];
    autorange?: boolean | string;
    _offset: number;
    _length: number;
    l2p(x: number): number;
    p2l(pixel: number): number;
    r2l(end: number): number; // from what a range says, such as a moment
    l2r(place: number): number;
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
