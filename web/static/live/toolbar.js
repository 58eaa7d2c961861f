// The toolbar of the time charts: the user's choices for the time axis and the lines, and the state of the connection
// to the server.

/** @import { Page, Status } from "../../types/live_page.js" */
/** @import { View } from "./view.js" */

import { element, setText } from "./format.js";
import { markText } from "./marks.js";

/** @type {[title: string, seconds: number][]} */
const TIME_WINDOWS = [["2 min", 120], ["10 min", 600], ["All", 0]];
/** @type {[title: string, seconds: number][]} */
const SMOOTHINGS = [["as measured", 0], ["mean of 10 s", 10], ["mean of 30 s", 30], ["mean of 2 min", 120]];
/** @type {Record<Status, string>} */
const STATUS_TEXTS = {
  connecting: "Connecting\u2026",
  live: "Live",
  stuck: "Pitwall cannot store data at the moment; gaps will be filled later",
  reconnecting: "Reconnecting\u2026 gaps will be filled",
  refused: "The server refused without giving a reason",
  loaded: "",
};
let radioGroups = 0;

export class Toolbar {
  /** @type {((view: View) => void)[]} */
  #refreshers = []; // each updates a control from the view, which the Back button changes too

  /**
   * @param {Page} page
   * @param {boolean} isLive whether the charts can follow live runs
   */
  constructor(page, isLive = true) {
    this.page = page;
    this.root = element("div", "lv-toolbar");
    this.status = element("span", "lv-status", STATUS_TEXTS.connecting);
    this.status.setAttribute("role", "status");
    this.markLabel = element("span", "lv-at");
    this.isLive = isLive;
    this.followButton = element("button", "lv-follow");
    this.followButton.type = "button";
    this.followButton.onclick = () => page.onZoom(null);
    if (isLive) this.root.append(this.#windowControl());
    this.root.append(this.#clockControl(), this.#scaleControl(), this.#smoothingControl());
    this.root.append(this.followButton, this.markLabel, this.status);
    this.refresh();
  }

  /**
   * @param {Status} status
   * @param {string} [reason]
   */
  setStatus(status, reason) {
    setText(this.status, reason || STATUS_TEXTS[status]);
    this.status.hidden = !this.status.textContent;
    this.status.dataset.status = status;
  }

  refresh() {
    const { view } = this.page;
    this.#refreshers.forEach((refresh) => refresh(view));
    this.followButton.hidden = view.zoom === null;
    const hasLiveRun = this.isLive && this.page.models().some((model) => !model.isFinal);
    setText(this.followButton, hasLiveRun ? "Follow live" : "Reset zoom");
    setText(this.markLabel, view.markedX === null ? "" : this.#markText(view.markedX));
    this.markLabel.title = this.markLabel.textContent ?? "";
  }

  /** @param {number} markedX */
  #markText(markedX) {
    return [`at ${this.page.view.label(markedX)}`, markText(this.page, markedX)].filter(Boolean).join(": ");
  }

  #windowControl() {
    const set = element("fieldset");
    set.append(element("legend", "lv-sr", "Time range"));
    radioGroups += 1;
    for (const [title, seconds] of TIME_WINDOWS) {
      const input = element("input");
      Object.assign(input, { type: "radio", name: `lv-window-${radioGroups}` });
      this.#refreshers.push((view) => (input.checked = seconds === view.windowSeconds));
      input.onchange = () => {
        this.page.view.windowSeconds = seconds;
        this.page.onView();
      };
      set.append(createLabel(input, title));
    }
    return set;
  }

  #clockControl() {
    const { page } = this;
    const choose = (/** @type {boolean} */ isChosen) => {
      page.view.usesWallClock = isChosen;
      page.onView();
    };
    const help = "instead of the time since each run was ready";
    return this.#checkbox("Wall clock", help, (view) => view.usesWallClock, choose);
  }

  #scaleControl() {
    const { page } = this;
    const choose = (/** @type {boolean} */ isChosen) => {
      page.view.isLog = isChosen;
      page.onStyle();
    };
    const help = "equal ratios have equal heights; zeros are not drawn";
    return this.#checkbox("Log scale", help, (view) => view.isLog, choose);
  }

  /**
   * @param {string} title
   * @param {string} help
   * @param {(view: View) => boolean} isChosen
   * @param {(isChosen: boolean) => void} choose
   */
  #checkbox(title, help, isChosen, choose) {
    const input = element("input");
    input.type = "checkbox";
    input.onchange = () => choose(input.checked);
    this.#refreshers.push((view) => (input.checked = isChosen(view)));
    const label = createLabel(input, title);
    label.title = help;
    return label;
  }

  #smoothingControl() {
    const select = element("select");
    const { view } = this.page;
    const options = new Map(SMOOTHINGS.map(([title, seconds]) => [seconds, title]));
    const { smoothSeconds } = view; // the URL may have another value than those of the menu
    if (!options.has(smoothSeconds)) options.set(smoothSeconds, `mean of ${smoothSeconds} s`);
    options.forEach((title, seconds) => {
      select.append(Object.assign(element("option", "", title), { value: String(seconds) }));
    });
    this.#refreshers.push(({ smoothSeconds: chosen }) => {
      for (const option of [...select.options]) option.selected = option.value === String(chosen);
    });
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
function createLabel(input, title) {
  const label = element("label");
  label.append(input, element("span", "", title));
  return label;
}
