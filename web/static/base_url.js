// Tells Streamlit the base URL of its routes, which it would otherwise look for with requests that fail. The assets are
// two levels below that URL. This is a classic script because a module has no document.currentScript.

const ownScript = /** @type {HTMLScriptElement} */ (document.currentScript);
Object.assign(window, { __streamlit: { BACKEND_BASE_URL: new URL("../..", ownScript.src).href } });
