// What Streamlit is given for the Live page: the module proper comes by URL, so that the browser caches it.

/** @import { LiveData } from "../types/live_page.js" */
/** @typedef {typeof import("./live/main.js")} LiveModule */

/** @param {ComponentArgs<LiveData>} component */
export default async function (component) {
  const url = new URL(`${component.data.assets}/live/main.js`, location.href);
  const { mount } = /** @type {LiveModule} */ (await import(url.href));
  return mount(component);
}
