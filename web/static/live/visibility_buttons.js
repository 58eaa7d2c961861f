// The two buttons that hide runs in the charts: one hides or shows the given runs, the other hides all others.

/** @import { Page } from "../../types/live_page.js" */

import { element, setText } from "./format.js";

export class VisibilityButtons {
  /** @type {string[]} */
  #runIds = [];

  constructor() {
    this.hideButton = element("button", "lv-pick", "Hide");
    this.onlyButton = element("button", "lv-pick", "Only");
    this.hideButton.type = this.onlyButton.type = "button";
  }

  /**
   * Lets the buttons act on these runs; without any others they are not shown.
   * @param {string[]} runIds
   * @param {Page} page
   */
  connect(runIds, page) {
    this.#runIds = runIds;
    const otherIds = page.models().map((model) => model.id).filter((id) => !runIds.includes(id));
    this.hideButton.onclick = () => {
      const hiddenIds = [...page.view.hiddenIds];
      page.onHide(this.isHidden(page) ? hiddenIds.filter((id) => !runIds.includes(id)) : [...hiddenIds, ...runIds]);
    };
    this.onlyButton.onclick = () => page.onHide(otherIds);
    this.hideButton.hidden = this.onlyButton.hidden = otherIds.length === 0;
  }

  /** @param {Page} page */
  isHidden(page) {
    return this.#runIds.every((id) => page.view.hiddenIds.has(id));
  }

  /**
   * Updates the buttons' labels.
   * @param {string} name
   * @param {Page} page
   * @returns {boolean} whether the runs are hidden
   */
  refresh(name, page) {
    const isHidden = this.isHidden(page);
    setText(this.hideButton, isHidden ? "Show" : "Hide");
    this.hideButton.setAttribute("aria-label", `${isHidden ? "Show" : "Hide"} ${name} in the charts`);
    this.onlyButton.setAttribute("aria-label", `Show only ${name} in the charts`);
    return isHidden;
  }
}
