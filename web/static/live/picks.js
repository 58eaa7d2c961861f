// The two buttons by which a reader takes lines off the charts: hide these, or show these alone.

/** @import { Page } from "../../types/live_page.js" */

import { element, setText } from "./format.js";

export class Picks {
  /** @type {string[]} */
  #runIds = [];

  constructor() {
    this.hide = element("button", "lv-pick", "Hide");
    this.only = element("button", "lv-pick", "Only");
    this.hide.type = this.only.type = "button";
  }

  /**
   * Lets the reader take these runs off the charts, or all others.
   * @param {string[]} runIds
   * @param {Page} page
   */
  offer(runIds, page) {
    this.#runIds = runIds;
    const others = page.models().map((model) => model.id).filter((id) => !runIds.includes(id));
    this.hide.onclick = () => page.onHide(this.isHidden(page) ? [...page.view.hidden].filter((id) => !runIds.includes(id)) : [...page.view.hidden, ...runIds]);
    this.only.onclick = () => page.onHide(others);
    this.hide.hidden = this.only.hidden = others.length === 0;
  }

  /** @param {Page} page */
  isHidden(page) {
    return this.#runIds.every((id) => page.view.hidden.has(id));
  }

  /**
   * Says what is so now; whether they are hidden.
   * @param {string} name
   * @param {Page} page
   */
  tell(name, page) {
    const isHidden = this.isHidden(page);
    setText(this.hide, isHidden ? "Show" : "Hide");
    this.hide.setAttribute("aria-label", `${isHidden ? "Show" : "Hide"} ${name} in the charts`);
    this.only.setAttribute("aria-label", `Show only ${name} in the charts`);
    return isHidden;
  }
}
