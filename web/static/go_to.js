// Leads to another page as a link does, so that Back finds the page that was left as its own address says it.
// Streamlit's way there adds an entry of the page left under the new page's query first.

/** @param {ComponentArgs<{ address: string, replaces: boolean }>} component */
export default function ({ data }) {
  setTimeout(() => {
    const target = new URL(data.address, location.href);
    if (target.href === location.href) return; // the script has told it again before it was left
    if (data.replaces) history.replaceState({}, "", target);
    else history.pushState({}, "", target);
    dispatchEvent(new PopStateEvent("popstate")); // Streamlit follows the address as after the browser's Back
  });
}
