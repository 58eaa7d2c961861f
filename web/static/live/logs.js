// The tails of the servers' logs, in columns; what is in them is only ever shown as text.

/** @import { Changes, Page } from "../../types/live_page.js" */
/** @import { LogLine } from "../../types/live_protocol.js" */
/** @import { RunModel } from "./model.js" */

import { element, setText } from "./format.js";
import { isKnown } from "./model.js";

const LINES_SHOWN = 300;
/** @type {Record<string, string>} */
const TAGS = { throughput: "tok/s", acceptance: "accept", startup: "start", phase: "start", ready: "ready", warning: "warn", failure: "cause" };

export class LogTail {
  /** @type {HTMLElement | null} */
  #marked = null;

  /**
   * @param {Page} page
   * @param {RunModel} model
   * @param {string} name until the run itself says it
   */
  constructor(page, model, name) {
    this.page = page;
    this.model = model;
    this.givenName = name;
    this.root = element("section", "lv-log");
    this.title = element("h3", "", `Log of ${name}`);
    this.lines = element("div", "lv-lines");
    this.lines.tabIndex = 0;
    this.lines.setAttribute("role", "region");
    this.empty = this.lines.appendChild(element("p", "lv-why"));
    this.root.append(this.title, this.lines);
    this.lines.addEventListener("pointerover", (event) => this.#pointAt(event));
    this.lines.addEventListener("pointerleave", () => page.onMoment(null));
  }

  /** @param {Pick<Changes, "whole" | "log">} changes */
  refresh(changes) {
    this.root.hidden = this.model.goneReason !== null || this.model.meta?.state === "queued";
    this.root.style.setProperty("--lv-run", this.page.theme().color(this.model));
    const label = isKnown(this.model) ? this.page.label(this.model) : this.givenName;
    const why = this.model.meta?.absent.log;
    setText(this.title, why ? `Log of ${label}: ${why}` : `Log of ${label}`);
    this.title.title = this.model.meta?.name ?? this.givenName;
    this.lines.setAttribute("aria-label", `Log of ${this.title.title}`);
    const hasEnded = this.model.isFinal && !this.model.log.length;
    this.lines.classList.toggle("lv-none", hasEnded);
    setText(this.empty, hasEnded ? "No log lines are known." : this.model.meta ? "No log line yet." : "");
    if (changes.whole && this.model.log.length) this.#replace();
    else if (changes.log.length) this.#append(changes.log);
  }

  /**
   * Marks the line that was the last at this time.
   * @param {number | null} time seconds since the epoch
   */
  mark(time) {
    const stamped = time === null ? [] : [...this.lines.querySelectorAll("div")].filter((node) => Number(node.dataset.t) <= time);
    const found = stamped.at(-1) ?? null;
    if (found === this.#marked) return;
    this.#marked?.classList.remove("lv-at-moment");
    this.#marked = found;
    if (!found) return;
    found.classList.add("lv-at-moment");
    if (!this.lines.matches(":hover, :focus")) this.lines.scrollTop = found.offsetTop - this.lines.clientHeight / 2;
  }

  #replace() {
    this.lines.replaceChildren(...this.model.log.map(logLine));
    this.#marked = null;
    this.lines.scrollTop = this.lines.scrollHeight;
  }

  /** @param {LogLine[]} lines */
  #append(lines) {
    const { scrollHeight, scrollTop, clientHeight } = this.lines;
    const wasAtEnd = scrollHeight - scrollTop - clientHeight < 24;
    this.empty.remove();
    this.lines.append(...lines.map(logLine));
    while (this.lines.childElementCount > LINES_SHOWN) {
      const first = /** @type {HTMLElement} */ (this.lines.firstElementChild);
      if (!wasAtEnd) this.lines.scrollTop -= first.offsetHeight; // what is being read stays where it is
      first.remove();
    }
    if (wasAtEnd) this.lines.scrollTop = this.lines.scrollHeight;
  }

  /** @param {PointerEvent} event */
  #pointAt(event) {
    const line = event.target instanceof Element ? event.target.closest("div") : null;
    const time = line?.dataset.t;
    if (time) this.page.onMoment(this.page.view.toX(this.model, Number(time)));
  }
}

/** @param {LogLine} line */
function logLine({ t, text, mark, why }) {
  const node = element("div", mark ? `lv-line lv-mark-${mark}` : "lv-line");
  if (t !== null) node.dataset.t = String(t);
  node.append(element("span", "lv-tag", mark ? TAGS[mark] : ""), element("code", "", text));
  if (why && why !== text.trim()) node.append(element("span", "lv-line-why", why));
  return node;
}
