// Leads to another page as a link does, so that Back finds the page that was left as its own address says it.
// Streamlit's way there adds an entry of the page left under the new page's query first; and so it does where it hears
// of a further run of that page's script after the address has changed: the script comes to rest first.

import { lead } from "./lead.js";
import { SCRIPT_HAS_RUN } from "./streamlit_dom.js";

const LOOK_EVERY_MS = 50;
const LOOKS_AT_REST = 2; // between a script and its next run it rests for a moment
const GIVE_UP_MS = 10_000;

/** @type {Set<string>} ids of the redirects that this tab has followed: after a quick Back they are sent once more */
const followed = new Set();

/** @param {ComponentArgs<{ id: string, address: string, replaces: boolean }>} component */
export function mount({ data }) {
  if (followed.has(data.id)) return;
  const target = new URL(data.address, location.href);
  const [from, began] = [location.pathname, performance.now()];
  let rests = 0;
  const look = () => {
    if (location.pathname !== from || location.href === target.href || followed.has(data.id)) return; // gone elsewhere, or there
    rests = document.querySelector(SCRIPT_HAS_RUN) ? rests + 1 : 0;
    if (rests >= LOOKS_AT_REST || performance.now() - began > GIVE_UP_MS) {
      followed.add(data.id);
      lead(target, data.replaces);
    } else setTimeout(look, LOOK_EVERY_MS);
  };
  setTimeout(look);
}
