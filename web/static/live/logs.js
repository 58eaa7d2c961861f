// Shows the last lines of each server's log in a column. Log text is never interpreted as HTML.

/** @import { Changes, Page } from "../../types/live_page.js" */
/** @import { LogLine } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */

import { element, setText } from "./format.js";
import { isKnown } from "./model.js";

const MAX_LINES = 300;
/** @type {Record<string, string>} */
const TAG_BY_MARK = { throughput: "tok/s", acceptance: "accept", startup: "start", phase: "start", ready: "ready", warning: "warn", failure: "cause" };

export class LogTail {
  /** @type {HTMLElement | null} */
  #markedLine = null;

  /**
   * @param {Page} page
   * @param {RunModel} model
   * @param {string} name shown until the run's own name is known
   */
  constructor(page, model, name) {
    this.page = page;
    this.model = model;
    this.initialName = name;
    this.root = element("section", "lv-log");
    this.title = element("h3", "", `Log of ${name}`);
    this.lines = element("div", "lv-lines");
    this.lines.tabIndex = 0;
    this.lines.setAttribute("role", "region");
    this.empty = this.lines.appendChild(element("p", "lv-why"));
    this.root.append(this.title, this.lines);
    this.lines.addEventListener("pointerover", (event) => this.#markTimeOf(event));
    this.lines.addEventListener("pointerleave", () => page.onMark(null));
  }

  /** @param {Pick<Changes, "redrawAll" | "log">} changes */
  refresh(changes) {
    this.root.hidden = this.model.goneReason !== null || this.model.meta?.state === "queued";
    this.root.style.setProperty("--lv-run", this.page.theme().color(this.model));
    const label = isKnown(this.model) ? this.page.label(this.model) : this.initialName;
    const absentReason = this.model.meta?.absent.log;
    setText(this.title, absentReason ? `Log of ${label}: ${absentReason}` : `Log of ${label}`);
    this.title.title = this.model.meta?.name ?? this.initialName;
    this.lines.setAttribute("aria-label", `Log of ${this.title.title}`);
    const hasNoLines = this.model.isFinal && !this.model.log.length;
    this.lines.classList.toggle("lv-none", hasNoLines);
    setText(this.empty, hasNoLines ? "No log lines are known." : this.model.meta ? "No log line yet." : "");
    if (changes.redrawAll && this.model.log.length) this.#replace();
    else if (changes.log.length) this.#append(changes.log);
  }

  /**
   * Marks the last line that was written before or at a time.
   * @param {number | null} time seconds since the epoch
   */
  mark(time) {
    const lines = time === null ? [] : [...this.lines.querySelectorAll("div")];
    const line = lines.filter((node) => Number(node.dataset.t) <= Number(time)).at(-1) ?? null;
    if (line === this.#markedLine) return;
    this.#markedLine?.classList.remove("lv-at-moment");
    this.#markedLine = line;
    if (!line) return;
    line.classList.add("lv-at-moment");
    if (!this.lines.matches(":hover, :focus")) this.lines.scrollTop = line.offsetTop - this.lines.clientHeight / 2;
  }

  #replace() {
    this.lines.replaceChildren(...this.model.log.map(createLine));
    this.#markedLine = null;
    this.lines.scrollTop = this.lines.scrollHeight;
  }

  /** @param {LogLine[]} lines */
  #append(lines) {
    const { scrollHeight, scrollTop, clientHeight } = this.lines;
    const wasAtEnd = scrollHeight - scrollTop - clientHeight < 24;
    this.empty.remove();
    this.lines.append(...lines.map(createLine));
    while (this.lines.childElementCount > MAX_LINES) {
      const first = /** @type {HTMLElement} */ (this.lines.firstElementChild);
      if (!wasAtEnd) this.lines.scrollTop -= first.offsetHeight; // keeps the lines that the user is reading in place
      first.remove();
    }
    if (wasAtEnd) this.lines.scrollTop = this.lines.scrollHeight;
  }

  /** @param {PointerEvent} event */
  #markTimeOf(event) {
    const line = event.target instanceof Element ? event.target.closest("div") : null;
    const time = line?.dataset.t;
    if (time) this.page.onMark(this.page.view.toX(this.model, Number(time)));
  }
}

/** @param {LogLine} line */
function createLine({ t, text, mark, why }) {
  const node = element("div", mark ? `lv-line lv-mark-${mark}` : "lv-line");
  if (t !== null) node.dataset.t = String(t);
  node.append(element("span", "lv-tag", mark ? TAG_BY_MARK[mark] : ""), element("code", "", text));
  if (why && why !== text.trim()) node.append(element("span", "lv-line-why", why));
  return node;
}
