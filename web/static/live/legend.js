// Whose line is which, where no strip of runs says so: a colour and a name for the runs of an arm.

/** @import { LegendEntry, Page } from "../../types/live_page.js" */

import { element } from "./format.js";
import { Picks } from "./picks.js";

export class Legend {
  /** @type {{ entry: LegendEntry, root: HTMLElement, picks: Picks }[]} */
  #keys = [];

  constructor() {
    this.root = element("div", "lv-legend");
  }

  /**
   * @param {LegendEntry[]} entries
   * @param {Page} page
   */
  show(entries, page) {
    this.#keys = entries.map((entry) => {
      const [root, picks] = [element("span", "lv-key"), new Picks()];
      picks.offer(entry.runs, page);
      const about = element("span", "lv-unit", aboutRepeats(entry.runs.length));
      root.append(element("span", "lv-swatch"), element("span", "lv-key-name", entry.name), about, picks.hide, picks.only);
      return { entry, root, picks };
    });
    this.root.replaceChildren(...this.#keys.map(({ root }) => root));
    this.root.hidden = entries.length < 2 && entries.every(({ runs }) => runs.length < 2);
  }

  /** @param {Page} page */
  refresh(page) {
    for (const { entry, root, picks } of this.#keys) {
      root.style.setProperty("--lv-run", page.theme().runs[entry.color]);
      root.classList.toggle("lv-off", picks.tell(entry.name, page));
    }
  }
}

/** @param {number} runs */
function aboutRepeats(runs) {
  return runs > 1 ? `mean of ${runs} runs; band: 95 % interval over runs` : "one run: no band";
}
