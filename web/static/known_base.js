// Below which address Streamlit's own routes are: the assets lie two steps below it. A module has no currentScript.

const own = /** @type {HTMLScriptElement} */ (document.currentScript);
Object.assign(window, { __streamlit: { BACKEND_BASE_URL: new URL("../..", own.src).href } });
