// The body of the Replay page: a lane for each run, played back on a common clock; mounted by web/replay/component.py.

/** @import { ReplayData } from "../../types/replay_page.js" */

import { element, setText } from "../live/format.js";
import { Lane, rankFinishes } from "./lane.js";

const SLIDER_STEP_S = 0.01;
const MAX_FRAME_S = 0.25; // a tab that was hidden continues where it stopped
/** @type {WeakMap<HTMLElement, Replay>} */
const pages = new WeakMap(); // by parent element: a rerun of the script updates the page it created

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
  #lanesJson = ""; // the data that the lanes were created from
  #speed = 1;
  #time_s = 0;
  #end_s = 0;
  #frame = 0; // the requested animation frame; 0 while paused
  #lastFrame_ms = 0;

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = parent.appendChild(element("div", "rp-page"));
    const bar = this.root.appendChild(element("div", "rp-bar"));
    this.button = bar.appendChild(element("button", "rp-play", "Play"));
    this.button.type = "button";
    this.slider = bar.appendChild(element("input"));
    Object.assign(this.slider, { type: "range", min: "0", step: String(SLIDER_STEP_S), value: "0" });
    this.slider.setAttribute("aria-label", "Seconds since the start");
    this.clock = bar.appendChild(element("output", "rp-clock"));
    this.lanes = this.root.appendChild(element("div", "rp-lanes"));
    const note = "Each block is one token; a longer block is several tokens that arrived together. The text is not stored.";
    this.root.append(element("p", "rp-note", note));
    this.button.addEventListener("click", () => (this.#frame ? this.#pause() : this.#play()));
    this.slider.addEventListener("input", () => this.#seek(Number(this.slider.value)));
    this.resizeObserver = new ResizeObserver(() => this.#resize());
    this.resizeObserver.observe(this.root);
  }

  /** @param {ReplayData} data */
  update({ lanes, speed, plays_at_once }) {
    this.#speed = speed;
    const json = JSON.stringify(lanes);
    if (json === this.#lanesJson) return;
    this.#lanesJson = json;
    this.#pause();
    this.#lanes = lanes.map((lane) => new Lane(lane));
    this.lanes.replaceChildren(...this.#lanes.map((lane) => lane.root));
    const finishes = rankFinishes(this.#lanes.map((lane) => lane.tape.end_s));
    this.#lanes.forEach((lane, index) => (lane.finish = finishes[index]));
    this.#end_s = Math.max(...this.#lanes.map((lane) => lane.tape.end_s));
    this.slider.max = String(Math.ceil(this.#end_s / SLIDER_STEP_S) * SLIDER_STEP_S);
    this.#resize();
    this.#seek(0);
    if (plays_at_once && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.#play();
  }

  close() {
    this.#pause();
    this.resizeObserver.disconnect();
    this.root.remove();
  }

  #resize() {
    for (const lane of this.#lanes) lane.resize();
    this.#show();
  }

  #play() {
    if (this.#time_s >= this.#end_s) this.#time_s = 0;
    this.#lastFrame_ms = performance.now();
    setText(this.button, "Pause");
    this.#frame = requestAnimationFrame((now_ms) => this.#step(now_ms));
  }

  /** @param {number} now_ms */
  #step(now_ms) {
    const elapsed_s = Math.min(Math.max(0, now_ms - this.#lastFrame_ms) / 1000, MAX_FRAME_S);
    this.#lastFrame_ms = now_ms;
    this.#seek(Math.min(this.#time_s + elapsed_s * this.#speed, this.#end_s));
    if (this.#time_s < this.#end_s) this.#frame = requestAnimationFrame((later_ms) => this.#step(later_ms));
    else this.#pause();
  }

  #pause() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    setText(this.button, this.#end_s && this.#time_s >= this.#end_s ? "Play again" : "Play");
  }

  /** @param {number} time_s */
  #seek(time_s) {
    this.#time_s = time_s;
    this.#show();
  }

  #show() {
    this.slider.value = String(this.#time_s);
    setText(this.clock, `${this.#time_s.toFixed(1)} of ${this.#end_s.toFixed(1)} s`);
    for (const lane of this.#lanes) lane.show(this.#time_s);
  }
}
