// What the reader chooses about time, and how the line to the server is.

/** @import { Page, Status } from "../../types/live_page.js" */
/** @import { View } from "./view.js" */

import { element, setText } from "./format.js";
import { markWords } from "./marks.js";

/** @type {[title: string, seconds: number][]} */
const WINDOWS = [["2 min", 120], ["10 min", 600], ["All", 0]];
/** @type {[title: string, seconds: number][]} */
const MEANS = [["as measured", 0], ["mean of 10 s", 10], ["mean of 30 s", 30], ["mean of 2 min", 120]];
/** @type {Record<Status, string>} */
const STATUS = {
  connecting: "Connecting\u2026",
  live: "Live",
  stuck: "Pitwall cannot store data at the moment; gaps will be filled later",
  reconnecting: "Reconnecting\u2026 gaps will be filled",
  refused: "The server refused without giving a reason",
  loaded: "",
};
let made = 0;

export class Toolbar {
  /** @type {((view: View) => void)[]} */
  #choices = []; // each shows what is chosen, for Back changes it too

  /**
   * @param {Page} page
   * @param {boolean} isLive whether there is something to follow
   */
  constructor(page, isLive = true) {
    this.page = page;
    this.root = element("div", "lv-toolbar");
    this.status = element("span", "lv-status", STATUS.connecting);
    this.status.setAttribute("role", "status");
    this.moment = element("span", "lv-at");
    this.isLive = isLive;
    this.follow = element("button", "lv-follow");
    this.follow.type = "button";
    this.follow.onclick = () => page.onZoom(null);
    this.root.append(...(isLive ? [this.#windows()] : []), this.#clockChoice(), this.#scaleChoice(), this.#meanChoice(), this.follow, this.moment, this.status);
    this.refresh();
  }

  /**
   * @param {Status} status
   * @param {string} [reason]
   */
  setStatus(status, reason) {
    setText(this.status, reason || STATUS[status]);
    this.status.hidden = !this.status.textContent;
    this.status.dataset.status = status;
  }

  refresh() {
    const { view } = this.page;
    this.#choices.forEach((show) => show(view));
    this.follow.hidden = view.zoom === null;
    const goesOn = this.isLive && this.page.models().some((model) => !model.isFinal);
    setText(this.follow, goesOn ? "Follow live" : "Reset zoom");
    setText(this.moment, view.moment === null ? "" : [`at ${view.label(view.moment)}`, markWords(this.page, view.moment)].filter(Boolean).join(": "));
    this.moment.title = this.moment.textContent ?? "";
  }

  #windows() {
    const set = element("fieldset");
    set.append(element("legend", "lv-sr", "Time range"));
    made += 1;
    for (const [title, seconds] of WINDOWS) {
      const input = element("input");
      Object.assign(input, { type: "radio", name: `lv-window-${made}` });
      this.#choices.push((view) => (input.checked = seconds === view.windowSeconds));
      input.onchange = () => {
        this.page.view.windowSeconds = seconds;
        this.page.onView();
      };
      set.append(labelled(input, title));
    }
    return set;
  }

  #clockChoice() {
    const { page } = this;
    const take = (/** @type {boolean} */ isChosen) => [(page.view.onWallClock = isChosen), page.onView()];
    return this.#checkbox("Wall clock", "instead of the time since each run was ready", (view) => view.onWallClock, take);
  }

  #scaleChoice() {
    const { page } = this;
    const take = (/** @type {boolean} */ isChosen) => [(page.view.isLog = isChosen), page.onStyle()];
    return this.#checkbox("Log scale", "equal ratios have equal heights; zeros are not drawn", (view) => view.isLog, take);
  }

  /**
   * @param {string} title
   * @param {string} help
   * @param {(view: View) => boolean} isChosen
   * @param {(isChosen: boolean) => void} take
   */
  #checkbox(title, help, isChosen, take) {
    const input = element("input");
    input.type = "checkbox";
    input.onchange = () => take(input.checked);
    this.#choices.push((view) => (input.checked = isChosen(view)));
    const label = labelled(input, title);
    label.title = help;
    return label;
  }

  #meanChoice() {
    const select = element("select");
    const { view } = this.page;
    const offered = new Map(MEANS.map(([title, seconds]) => [seconds, title]));
    if (!offered.has(view.smoothSeconds)) offered.set(view.smoothSeconds, `mean of ${view.smoothSeconds} s`); // an address says so
    offered.forEach((title, seconds) => select.append(Object.assign(element("option", "", title), { value: String(seconds) })));
    this.#choices.push(({ smoothSeconds }) => [...select.options].forEach((one) => (one.selected = one.value === String(smoothSeconds))));
    select.onchange = () => {
      view.smoothSeconds = Number(select.value);
      this.page.onStyle();
    };
    const label = element("label");
    label.title = "Each point is the mean of the preceding seconds; the measured values stay visible, faint";
    label.append(element("span", "", "Lines"), select);
    return label;
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
