// Shows the runs' events as flags in a lane above a chart. Each flag tells users of a mouse, a keyboard or a screen
// reader what happened and when.

/** @import { Page } from "../../types/live_page.js" */
/** @import { Flag } from "./marks.js" */

import { element, setText } from "./format.js";
import { flagsOf } from "./marks.js";

const FLAG_WIDTH_PX = 24; // events that are closer than this share a flag
const MAX_TEXTS = 6;

export class FlagLane {
  /** @type {Flag[]} */
  #flags = [];
  #activeIndex = -1; // of the flag whose text is shown; -1: none

  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.root = element("div", "lv-flags");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Events");
    this.root.hidden = true;
    this.buttons = element("div");
    this.text = element("div", "lv-flag-text");
    this.text.setAttribute("aria-hidden", "true"); // the flag's label has the same text
    this.text.hidden = true;
    this.root.append(this.buttons, this.text);
  }

  /** @param {Plotly.DrawnAxis | undefined} axis of the chart below */
  refresh(axis) {
    if (!axis || this.root.hidden) return;
    const [start, end] = axis.range;
    this.#flags = flagsOf(this.page, ((end - start) / axis._length) * FLAG_WIDTH_PX);
    while (this.buttons.childElementCount > this.#flags.length) this.buttons.lastElementChild?.remove();
    this.#flags.forEach((flag, index) => this.#draw(flag, index, axis._offset + axis.l2p(flag.x)));
    if (this.#activeIndex >= 0) this.#show(this.#activeIndex);
  }

  /**
   * @param {Flag} flag
   * @param {number} index
   * @param {number} pixel
   */
  #draw({ x, texts, color, isProblem }, index, pixel) {
    const button = this.buttons.children[index] ?? this.buttons.appendChild(this.#createButton(index));
    const node = /** @type {HTMLElement} */ (button);
    node.style.left = `${Math.round(pixel)}px`;
    node.style.color = color;
    node.classList.toggle("lv-trouble", isProblem);
    const label = `${this.page.view.label(x)}: ${texts.join("; ")}`;
    if (node.getAttribute("aria-label") !== label) node.setAttribute("aria-label", label);
  }

  /** @param {number} index */
  #createButton(index) {
    const node = element("button", "lv-flag");
    node.type = "button";
    const [show, hide] = [() => this.#show(index), () => this.#show(-1)];
    node.addEventListener("pointerenter", show);
    node.addEventListener("focus", show);
    node.addEventListener("pointerleave", hide);
    node.addEventListener("blur", hide);
    return node;
  }

  /**
   * Shows the text of a flag and marks its time in all charts.
   * @param {number} index of the flag; -1: none
   */
  #show(index) {
    const flag = this.#flags.at(index < 0 ? this.#flags.length : index);
    const hasChanged = index !== this.#activeIndex;
    this.#activeIndex = flag ? index : -1;
    this.text.hidden = !flag;
    if (hasChanged) this.page.onMark(flag ? flag.x : null);
    if (!flag) return;
    const more = flag.texts.length - MAX_TEXTS;
    const lines = [...flag.texts.slice(0, MAX_TEXTS), ...(more > 0 ? [`and ${more} more`] : [])];
    setText(this.text, [this.page.view.label(flag.x), ...lines].join("\n"));
    const node = /** @type {HTMLElement} */ (this.buttons.children[index]);
    const pixel = parseFloat(node.style.left);
    const isInRightHalf = pixel > this.root.clientWidth / 2;
    this.text.style.left = isInRightHalf ? "" : `${pixel}px`;
    this.text.style.right = isInRightHalf ? `${this.root.clientWidth - pixel}px` : "";
  }
}
