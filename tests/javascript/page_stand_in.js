// Stand-ins for what a browser gives: linkedom's document, a WebSocket that records, and a Plotly that only keeps data.

import { parseHTML } from "linkedom";

const WIDTH_PX = 960; // of every element: linkedom lays nothing out

/** Makes `document` and `Element` as a page has them; returns the document's body. */
export function openPage() {
  const { document, Element } = parseHTML("<html><head></head><body></body></html>");
  Object.defineProperty(Element.prototype, "clientWidth", { value: WIDTH_PX, configurable: true });
  Object.assign(globalThis, { document, Element, matchMedia: () => ({ matches: false }) });
  return document.body;
}

/** In Plotly's place: keeps what was drawn where, and counts the calls. */
export class PlotlyStandIn {
  calls = [];
  changes = []; // of each relayout, what it named
  Plots = { resize: () => this.calls.push("resize") };

  react(plot, traces, layout) {
    this.calls.push("react");
    const copied = traces.map((trace) => ({ ...trace, x: [...trace.x], y: [...trace.y] }));
    Object.assign(plot, { data: copied, layout: structuredClone(layout), on: () => undefined });
  }

  extendTraces(plot, points, indices) {
    this.calls.push("extendTraces");
    indices.forEach((trace, index) => {
      plot.data[trace].x.push(...points.x[index]);
      plot.data[trace].y.push(...points.y[index]);
    });
  }

  relayout(plot, change) {
    this.calls.push("relayout");
    this.changes.push(Object.keys(change));
    for (const [name, value] of Object.entries(change)) {
      const [axis, setting] = name.split(".");
      plot.layout[axis][setting] = value;
    }
  }
}

/** In WebSocket's place: connects to nothing; the test says what the server does. */
export class SocketStandIn {
  static OPEN = 1;
  static made = [];
  readyState = 0;
  sent = [];
  closed = false;

  constructor(url) {
    this.url = new URL(url);
    SocketStandIn.made.push(this);
  }

  static get last() {
    return SocketStandIn.made.at(-1);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.closed = true;
    this.readyState = 3;
  }

  acceptedByServer() {
    this.readyState = SocketStandIn.OPEN;
    this.onopen();
  }

  saidByServer(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }

  closedByServer(code = 1006, reason = "") {
    this.readyState = 3;
    this.onclose({ code, reason });
  }
}
