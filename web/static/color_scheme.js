// Copies the colour scheme of Streamlit's app to the document's root element on every page, and follows its changes.
// Popovers and dialogs are outside the app element, so light-dark() in them takes the scheme from the root element.

import { APP, ROOT } from "./streamlit_dom.js";

/** @param {Element} app */
function copyColorScheme(app) {
  const copy = () => {
    document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
  };
  new MutationObserver(copy).observe(app, { attributes: true, attributeFilter: ["class"] });
  copy();
}

/** @param {Element} root */
function awaitApp(root) {
  const observer = new MutationObserver(() => {
    const app = root.querySelector(APP);
    if (!app) return;
    observer.disconnect();
    copyColorScheme(app);
  });
  observer.observe(root, { childList: true, subtree: true });
}

const root = document.querySelector(ROOT);
if (root) awaitApp(root);
