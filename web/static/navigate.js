// Opens another of Pitwall's URLs in this tab without a reload: it changes the URL, and Streamlit follows as it does
// after the browser's Back button. A message from the previous page's script may still arrive afterwards (after Back as
// well); Streamlit then pushes a history entry with the previous page's path and the new page's query, which would
// destroy the forward history. That entry is blocked.

const BLOCK_MS = 10_000;
const USER_INPUT_EVENTS = ["pointerdown", "keydown"]; // a URL that the user opens later may equal the blocked one

let shownPath = location.pathname;
/** @type {{ href: string, until: number } | null} the history entry of the previous page that must not be pushed */
let blockedEntry = null;

/**
 * @param {URL} target
 * @param {boolean} [replaces] replace the current history entry, so that Back skips the current page
 */
export function navigate(target, replaces = false) {
  blockLateEntry(target);
  if (replaces) history.replaceState({}, "", target);
  else history.pushState({}, "", target);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** @param {URL | Location} target the URL that the browser goes to, or has gone to, unknown to Streamlit */
function blockLateEntry(target) {
  const { href } = Object.assign(new URL(target.href), { pathname: shownPath, hash: "" });
  blockedEntry = shownPath === target.pathname ? null : { href, until: performance.now() + BLOCK_MS };
  shownPath = target.pathname;
}

/** @param {string | URL | null | undefined} url */
function isBlocked(url) {
  if (!blockedEntry || performance.now() >= blockedEntry.until) return false;
  return new URL(url ?? "", location.href).href === blockedEntry.href;
}

const pushState = history.pushState.bind(history);
history.pushState = (state, title, url) => {
  if (isBlocked(url)) return;
  pushState(state, title, url);
  shownPath = location.pathname;
};
for (const event of USER_INPUT_EVENTS) {
  addEventListener(event, () => (blockedEntry = null), { capture: true, passive: true });
}
addEventListener("popstate", ({ isTrusted }) => {
  if (isTrusted) blockLateEntry(location);
});
