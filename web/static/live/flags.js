// What happened to the runs, as flags in a lane above a chart: each says what and when, to pointer, keyboard and reader.

/** @import { Page } from "../../types/live_page.js" */
/** @import { Flag } from "./marks.js" */

import { element, setText } from "./format.js";
import { flagsOf } from "./marks.js";

const FLAG_PX = 24; // wide: nearer events share a flag
const MOST_TEXTS = 6;

export class FlagLane {
  /** @type {Flag[]} */
  #flags = [];
  #pointed = -1; // number of the flag whose text is shown

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.root = element("div", "lv-flags");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Events");
    this.root.hidden = true;
    this.poles = element("div");
    this.text = element("div", "lv-flag-text");
    this.text.setAttribute("aria-hidden", "true"); // the flag's own label says it
    this.text.hidden = true;
    this.root.append(this.poles, this.text);
  }

  /** @param {Plotly.DrawnAxis | undefined} axis of the chart below */
  refresh(axis) {
    if (!axis || this.root.hidden) return;
    const [from, to] = axis.range;
    this.#flags = flagsOf(this.page, ((to - from) / axis._length) * FLAG_PX);
    while (this.poles.childElementCount > this.#flags.length) this.poles.lastElementChild?.remove();
    this.#flags.forEach((flag, index) => this.#draw(flag, index, axis._offset + axis.l2p(flag.x)));
    if (this.#pointed >= 0) this.#tell(this.#pointed);
  }

  /**
   * @param {Flag} flag
   * @param {number} index
   * @param {number} pixel
   */
  #draw({ x, texts, color, isTrouble }, index, pixel) {
    const node = /** @type {HTMLElement} */ (this.poles.children[index] ?? this.poles.appendChild(this.#pole(index)));
    node.style.left = `${Math.round(pixel)}px`;
    node.style.color = color;
    node.classList.toggle("lv-trouble", isTrouble);
    const label = `${this.page.view.label(x)}: ${texts.join("; ")}`;
    if (node.getAttribute("aria-label") !== label) node.setAttribute("aria-label", label);
  }

  /** @param {number} index */
  #pole(index) {
    const node = element("button", "lv-flag");
    node.type = "button";
    const [show, hide] = [() => this.#tell(index), () => this.#tell(-1)];
    node.addEventListener("pointerenter", show);
    node.addEventListener("focus", show);
    node.addEventListener("pointerleave", hide);
    node.addEventListener("blur", hide);
    return node;
  }

  /** @param {number} index of the flag; -1: none */
  #tell(index) {
    const flag = this.#flags.at(index < 0 ? this.#flags.length : index);
    const hasMoved = index !== this.#pointed;
    this.#pointed = flag ? index : -1;
    this.text.hidden = !flag;
    if (hasMoved) this.page.onMoment(flag ? flag.x : null);
    if (!flag) return;
    const more = flag.texts.length - MOST_TEXTS;
    const lines = [...flag.texts.slice(0, MOST_TEXTS), ...(more > 0 ? [`and ${more} more`] : [])];
    setText(this.text, [this.page.view.label(flag.x), ...lines].join("\n"));
    const node = /** @type {HTMLElement} */ (this.poles.children[index]);
    const pixel = parseFloat(node.style.left);
    const isRight = pixel > this.root.clientWidth / 2;
    this.text.style.left = isRight ? "" : `${pixel}px`;
    this.text.style.right = isRight ? `${this.root.clientWidth - pixel}px` : "";
  }
}
