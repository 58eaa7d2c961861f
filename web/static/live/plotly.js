// Loads plotly.js in the bundle that a chart needs: the smallest one draws lines and bars, a larger one also heat maps
// and boxes.

/** @typedef {"basic" | "cartesian"} Bundle */

/** @type {Map<string, Promise<typeof Plotly>>} */
const bundles = new Map(); // loaded or loading, shared by all components of the page

/**
 * Loads a bundle once. Only the smallest bundle becomes the global `Plotly`, whichever is loaded first.
 * @param {string} assets base URL of the assets
 * @param {Bundle} bundle
 */
export function loadPlotly(assets, bundle = "basic") {
  const src = `${assets}/plotly/plotly-${bundle}.min.js`;
  const loading = bundles.get(bundle) ?? loadScript(src, bundle);
  bundles.set(bundle, loading);
  return loading;
}

/**
 * @param {string} src
 * @param {Bundle} bundle
 * @returns {Promise<typeof Plotly>}
 */
function loadScript(src, bundle) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    /** @type {typeof Plotly | undefined} */
    let previous;
    script.onload = () => {
      const plotly = window.Plotly;
      if (bundle !== "basic") Object.assign(window, { Plotly: previous });
      if (plotly) resolve(plotly);
    };
    script.onerror = () => reject(new Error(`${src} could not be loaded`));
    script.src = src;
    previous = window.Plotly;
    document.head.append(script);
  });
}
