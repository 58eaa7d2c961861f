// Follows a redirect that a page's Python script asked for (web/redirects.py), so that Back returns to that page under
// its own URL. Streamlit's own page switch first pushes an entry of the old page with the new page's query. It would do
// the same for a rerun of the old page that it hears of after the URL has changed, so the redirect waits until the
// script is idle.

import { navigate } from "./navigate.js";
import { IDLE_APP } from "./streamlit_dom.js";

const CHECK_EVERY_MS = 50;
const IDLE_CHECKS = 2; // a script is briefly idle between a run and the rerun that follows it
const GIVE_UP_MS = 10_000;

/** @type {Set<string>} ids of the redirects that this tab has followed: after a quick Back they are sent once more */
const followedIds = new Set();

/** @param {ComponentArgs<{ id: string, address: string, replaces: boolean }>} component */
export function mount({ data }) {
  if (followedIds.has(data.id)) return;
  const target = new URL(data.address, location.href);
  const [startPath, startedAt] = [location.pathname, performance.now()];
  let idleChecks = 0;
  const check = () => {
    const hasLeft = location.pathname !== startPath || location.href === target.href;
    if (hasLeft || followedIds.has(data.id)) return;
    idleChecks = document.querySelector(IDLE_APP) ? idleChecks + 1 : 0;
    if (idleChecks >= IDLE_CHECKS || performance.now() - startedAt > GIVE_UP_MS) {
      followedIds.add(data.id);
      navigate(target, data.replaces);
    } else setTimeout(check, CHECK_EVERY_MS);
  };
  setTimeout(check);
}
