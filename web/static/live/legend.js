// The legend of the time charts on pages without a strip of runs: a colour and a name for the runs of each arm.

/** @import { LegendEntry, Page } from "../../types/live_page.js" */

import { element } from "./format.js";
import { VisibilityButtons } from "./visibility_buttons.js";

export class Legend {
  /** @type {{ entry: LegendEntry, root: HTMLElement, visibility: VisibilityButtons }[]} */
  #items = [];

  constructor() {
    this.root = element("div", "lv-legend");
  }

  /**
   * @param {LegendEntry[]} entries
   * @param {Page} page
   */
  show(entries, page) {
    this.#items = entries.map((entry) => {
      const [root, visibility] = [element("span", "lv-key"), new VisibilityButtons()];
      visibility.connect(entry.runs, page);
      const name = element("span", "lv-key-name", entry.name);
      const note = element("span", "lv-unit", repeatsNote(entry.runs.length));
      root.append(element("span", "lv-swatch"), name, note, visibility.hideButton, visibility.onlyButton);
      return { entry, root, visibility };
    });
    this.root.replaceChildren(...this.#items.map(({ root }) => root));
    this.root.hidden = entries.length < 2 && entries.every(({ runs }) => runs.length < 2);
  }

  /** @param {Page} page */
  refresh(page) {
    for (const { entry, root, visibility } of this.#items) {
      root.style.setProperty("--lv-run", page.theme().runs[entry.color]);
      root.classList.toggle("lv-off", visibility.refresh(entry.name, page));
    }
  }
}

/** @param {number} runCount */
function repeatsNote(runCount) {
  return runCount > 1 ? `mean of ${runCount} runs; band: 95 % interval over runs` : "one run: no band";
}
