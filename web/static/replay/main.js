// The Replay page's body: a lane for each run and one clock over all; mounted by web/replay/component.py.

/** @import { ReplayData } from "../../types/replay_page.js" */

import { element, setText } from "../live/format.js";
import { Lane, finishes } from "./lane.js";

const STEP_S = 0.01;
const LONGEST_FRAME_S = 0.25; // a tab that was hidden goes on where it was
/** @type {WeakMap<HTMLElement, Replay>} */
const pages = new WeakMap(); // by parent element: a rerun of the script meets the page it made

/** @param {ComponentArgs<ReplayData>} component */
export function mount({ parentElement, data }) {
  const page = pages.get(parentElement) ?? new Replay(parentElement);
  pages.set(parentElement, page);
  page.update(data);
  return () => {
    page.close();
    pages.delete(parentElement);
  };
}

class Replay {
  /** @type {Lane[]} */
  #lanes = [];
  #shown = ""; // what the lanes were made from
  #speed = 1;
  #at_s = 0;
  #end_s = 0;
  #frame = 0; // of the animation, 0 while it stands
  #before_ms = 0;

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = parent.appendChild(element("div", "rp-page"));
    const bar = this.root.appendChild(element("div", "rp-bar"));
    this.button = bar.appendChild(element("button", "rp-play", "Play"));
    this.button.type = "button";
    this.slider = bar.appendChild(element("input"));
    Object.assign(this.slider, { type: "range", min: "0", step: String(STEP_S), value: "0" });
    this.slider.setAttribute("aria-label", "Seconds since the start");
    this.clock = bar.appendChild(element("output", "rp-clock"));
    this.lanes = this.root.appendChild(element("div", "rp-lanes"));
    const words = "Each block is one token; a longer block is several tokens that arrived together. The text is not stored.";
    this.root.append(element("p", "rp-note", words));
    this.button.addEventListener("click", () => (this.#frame ? this.#stop() : this.#play()));
    this.slider.addEventListener("input", () => this.#seek(Number(this.slider.value)));
    this.watcher = new ResizeObserver(() => this.#measure());
    this.watcher.observe(this.root);
  }

  /** @param {ReplayData} data */
  update({ lanes, speed, plays_at_once }) {
    this.#speed = speed;
    const shown = JSON.stringify(lanes);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#stop();
    this.#lanes = lanes.map((lane) => new Lane(lane));
    this.lanes.replaceChildren(...this.#lanes.map((lane) => lane.root));
    const order = finishes(this.#lanes.map((lane) => lane.tape.end_s));
    this.#lanes.forEach((lane, index) => (lane.finish = order[index]));
    this.#end_s = Math.max(...this.#lanes.map((lane) => lane.tape.end_s));
    this.slider.max = String(Math.ceil(this.#end_s / STEP_S) * STEP_S);
    this.#measure();
    this.#seek(0);
    if (plays_at_once && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.#play();
  }

  close() {
    this.#stop();
    this.watcher.disconnect();
    this.root.remove();
  }

  #measure() {
    for (const lane of this.#lanes) lane.measure();
    this.#show();
  }

  #play() {
    if (this.#at_s >= this.#end_s) this.#at_s = 0;
    this.#before_ms = performance.now();
    setText(this.button, "Pause");
    this.#frame = requestAnimationFrame((now_ms) => this.#step(now_ms));
  }

  /** @param {number} now_ms */
  #step(now_ms) {
    const passed_s = Math.min(Math.max(0, now_ms - this.#before_ms) / 1000, LONGEST_FRAME_S);
    this.#before_ms = now_ms;
    this.#seek(Math.min(this.#at_s + passed_s * this.#speed, this.#end_s));
    if (this.#at_s < this.#end_s) this.#frame = requestAnimationFrame((later_ms) => this.#step(later_ms));
    else this.#stop();
  }

  #stop() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    setText(this.button, this.#end_s && this.#at_s >= this.#end_s ? "Play again" : "Play");
  }

  /** @param {number} at_s */
  #seek(at_s) {
    this.#at_s = at_s;
    this.#show();
  }

  #show() {
    this.slider.value = String(this.#at_s);
    setText(this.clock, `${this.#at_s.toFixed(1)} of ${this.#end_s.toFixed(1)} s`);
    for (const lane of this.#lanes) lane.show(this.#at_s);
  }
}
