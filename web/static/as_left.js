// A link that names a page alone, as those of the navigation do, leads to the page as this tab left it: with its query.
// On the page itself it leads to the page afresh; Streamlit would do nothing.

import { lead } from "./lead.js";

const AFRESH = ["runs", "compare", "explore"];
const AS_LEFT = [...AFRESH, "sql"]; // the other pages show what is now

/** @param {URL | Location} address */
const pageOf = ({ pathname }) => pathname.split("/").at(-1) || "runs";
/** @param {string} page */
const place = (page) => `pitwall-left-${page}`;

function keep() {
  if (!history.state?.isProposed) sessionStorage.setItem(place(pageOf(location)), location.search);
}

/**
 * In this tab, with one step back to what is shown now.
 * @param {URL} target
 */
export function show(target) {
  keep();
  lead(target);
}

/** @param {MouseEvent} event */
function follow(event) {
  keep();
  const link = event.target instanceof Element && event.target.closest("a[href]");
  if (!(link instanceof HTMLAnchorElement) || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const target = new URL(link.href);
  const page = pageOf(target);
  const isHere = page === pageOf(location);
  if (target.origin !== location.origin || target.search || !(isHere ? AFRESH : AS_LEFT).includes(page)) return;
  if (!isHere) target.search = sessionStorage.getItem(place(page)) ?? "";
  if (target.search || (isHere && location.search)) setTimeout(show, 0, target);
}

document.addEventListener("click", follow, { capture: true });
