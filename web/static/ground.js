// On every page: the root's colour scheme is that of Streamlit's app, which changes with the system's or by its menu.
// Popovers and dialogs lie beside the app, so that light-dark() in them asks the root.

import { APP, ROOT } from "./streamlit_dom.js";

/** @param {Element} app */
function follow(app) {
  const take = () => {
    document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
  };
  new MutationObserver(take).observe(app, { attributes: true, attributeFilter: ["class"] });
  take();
}

/** @param {Element} root */
function awaitApp(root) {
  const waiting = new MutationObserver(() => {
    const app = root.querySelector(APP);
    if (!app) return;
    waiting.disconnect();
    follow(app);
  });
  waiting.observe(root, { childList: true, subtree: true });
}

const root = document.querySelector(ROOT);
if (root) awaitApp(root);
