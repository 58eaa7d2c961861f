// Stand-ins for browser APIs: linkedom's document, a WebSocket that records messages, a Plotly that stores data.

import { parseHTML } from "linkedom";

const WIDTH_PX = 960; // of every element, because linkedom has no layout

/** Sets the globals `document` and `Element`; returns the document's body. */
export function openPage() {
  const { document, Element } = parseHTML("<html><head></head><body></body></html>");
  Object.defineProperty(Element.prototype, "clientWidth", { value: WIDTH_PX, configurable: true });
  Object.assign(globalThis, { document, Element, matchMedia: () => ({ matches: false }) });
  return document.body;
}

/** Replaces Plotly: stores the drawn data in the plot, and records the calls. */
export class PlotlyStandIn {
  calls = [];
  changes = []; // the setting names of each relayout
  Plots = { resize: () => this.calls.push("resize") };

  react(plot, traces, layout) {
    this.calls.push("react");
    const data = traces.map((trace) => ({ ...trace, x: [...trace.x], y: [...trace.y] }));
    Object.assign(plot, { data, layout: structuredClone(layout), on: () => undefined });
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

/** Replaces WebSocket: it has no connection, and the test plays the server. */
export class SocketStandIn {
  static OPEN = 1;
  static sockets = [];
  readyState = 0;
  sent = [];
  isClosed = false;

  constructor(url) {
    this.url = new URL(url);
    SocketStandIn.sockets.push(this);
  }

  static get last() {
    return SocketStandIn.sockets.at(-1);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.isClosed = true;
    this.readyState = 3;
  }

  serverAccepts() {
    this.readyState = SocketStandIn.OPEN;
    this.onopen();
  }

  serverSends(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }

  serverCloses(code = 1006, reason = "") {
    this.readyState = 3;
    this.onclose({ code, reason });
  }
}
