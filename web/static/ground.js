// On every page: the root's colour scheme is that of Streamlit's app, which changes with the system's or by its menu.
// Popovers and dialogs lie beside the app, so that light-dark() in them asks the root.

import { APP } from "./streamlit_dom.js";

/** @returns {() => void} */
export function mount() {
  const app = document.querySelector(APP);
  if (!app) return () => undefined;
  const follow = () => {
    document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
  };
  const watch = new MutationObserver(follow);
  watch.observe(app, { attributes: true, attributeFilter: ["class"] });
  follow();
  return () => watch.disconnect();
}
