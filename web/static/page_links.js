// Makes a link without a query, such as one in the navigation, reopen its page with the query that it last had in this
// tab. A link to the page that is already shown resets it to no query instead, where Streamlit would do nothing.

import { navigate } from "./navigate.js";

const RESETTABLE_PAGES = ["runs", "compare", "explore"];
const RESTORED_PAGES = [...RESETTABLE_PAGES, "sql"]; // the other pages show the current state

/** @param {URL | Location} url */
const pageOf = ({ pathname }) => pathname.split("/").at(-1) || "runs";
/** @param {string} page */
const storageKey = (page) => `pitwall-left-${page}`;

function saveQuery() {
  if (!history.state?.isProposed) sessionStorage.setItem(storageKey(pageOf(location)), location.search);
}

/**
 * Opens a URL in this tab; Back returns to the current page.
 * @param {URL} target
 */
export function openPage(target) {
  saveQuery();
  navigate(target);
}

/** @param {MouseEvent} event */
function handleClick(event) {
  saveQuery();
  const link = event.target instanceof Element && event.target.closest("a[href]");
  if (!(link instanceof HTMLAnchorElement) || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const target = new URL(link.href);
  const page = pageOf(target);
  const isCurrent = page === pageOf(location);
  const pages = isCurrent ? RESETTABLE_PAGES : RESTORED_PAGES;
  if (target.origin !== location.origin || target.search || !pages.includes(page)) return;
  if (!isCurrent) target.search = sessionStorage.getItem(storageKey(page)) ?? "";
  if (target.search || (isCurrent && location.search)) setTimeout(openPage, 0, target);
}

document.addEventListener("click", handleClick, { capture: true });
