// What the reader chooses about time, and how the line to the server is.

/** @import { Page, Status } from "../../types/live_page.js" */

import { element, setText } from "./format.js";

/** @type {[title: string, seconds: number][]} */
const WINDOWS = [["2 min", 120], ["10 min", 600], ["All", 0]];
/** @type {Record<Status, string>} */
const STATUS = {
  connecting: "Connecting\u2026",
  live: "Live",
  stuck: "Pitwall cannot store anything now; what is missed will be filled in",
  reconnecting: "Reconnecting\u2026 what is missed will be filled in",
  refused: "The server refused without saying why",
};
let made = 0;

export class Toolbar {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
    this.root = element("div", "lv-toolbar");
    this.status = element("span", "lv-status", STATUS.connecting);
    this.status.setAttribute("role", "status");
    this.moment = element("span", "lv-at");
    this.follow = element("button", "lv-follow", "Follow again");
    this.follow.type = "button";
    this.follow.onclick = () => page.onZoom(null);
    this.root.append(this.#windows(), this.#clockChoice(), this.follow, this.moment, this.status);
    this.refresh();
  }

  /**
   * @param {Status} status
   * @param {string} [reason]
   */
  setStatus(status, reason) {
    setText(this.status, reason || STATUS[status]);
    this.status.dataset.status = status;
  }

  refresh() {
    const { view } = this.page;
    this.follow.style.visibility = view.zoom ? "visible" : "hidden";
    setText(this.moment, view.moment === null ? "" : `at ${view.label(view.moment)}`);
  }

  #windows() {
    const set = element("fieldset");
    set.append(element("legend", "lv-sr", "Stretch of time shown"));
    made += 1;
    for (const [title, seconds] of WINDOWS) {
      const input = element("input");
      Object.assign(input, { type: "radio", name: `lv-window-${made}`, checked: seconds === this.page.view.windowSeconds });
      input.onchange = () => {
        this.page.view.windowSeconds = seconds;
        this.page.onView();
      };
      set.append(labelled(input, title));
    }
    return set;
  }

  #clockChoice() {
    const input = element("input");
    input.type = "checkbox";
    input.onchange = () => {
      this.page.view.onWallClock = input.checked;
      this.page.onView();
    };
    return labelled(input, "Wall clock instead of time since ready");
  }
}

/**
 * @param {HTMLInputElement} input
 * @param {string} title
 */
function labelled(input, title) {
  const label = element("label");
  label.append(input, element("span", "", title));
  return label;
}
