// The way to another address in this tab, as a link leads there: Streamlit follows it as after the browser's Back.
// A message of the left page's script may arrive after that, as it may after Back itself. Streamlit then adds an entry
// of the left page under the query of the new one, and what lay ahead is lost: that entry is not added.

const LATE_WITHIN_MS = 10_000;
const PRESSES = ["pointerdown", "keydown"]; // what somebody opens afterwards may have the same address

let path = location.pathname; // of the page that is shown
/** @type {{ href: string, until: number } | null} the entry of the left page that is not to be added */
let late = null;

/**
 * @param {URL} target
 * @param {boolean} [replaces] whether Back passes over the page that is left
 */
export function lead(target, replaces = false) {
  leave(target);
  if (replaces) history.replaceState({}, "", target);
  else history.pushState({}, "", target);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** @param {URL | Location} target where the browser goes, or has gone, without a message of Streamlit */
function leave(target) {
  const { href } = Object.assign(new URL(target.href), { pathname: path, hash: "" });
  late = path === target.pathname ? null : { href, until: performance.now() + LATE_WITHIN_MS };
  path = target.pathname;
}

const push = history.pushState.bind(history);
history.pushState = (state, title, url) => {
  if (late && performance.now() < late.until && new URL(url ?? "", location.href).href === late.href) return;
  push(state, title, url);
  path = location.pathname;
};
for (const event of PRESSES) addEventListener(event, () => (late = null), { capture: true, passive: true });
addEventListener("popstate", ({ isTrusted }) => {
  if (isTrusted) leave(location);
});
