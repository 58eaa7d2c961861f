// plotly.js, in the bundle that a chart needs: its smallest draws lines and bars, a fuller one maps and boxes too.

/** @typedef {"basic" | "cartesian"} Bundle */

/** @type {Map<string, Promise<typeof Plotly>>} */
const loads = new Map(); // under way or loaded, once for all components of the page

/**
 * The library; the global one is the smallest's alone, whichever comes first.
 * @param {string} assets the URL it is below
 * @param {Bundle} bundle
 */
export function loadPlotly(assets, bundle = "basic") {
  const src = `${assets}/plotly/plotly-${bundle}.min.js`;
  const load = loads.get(bundle) ?? loaded(src, bundle);
  loads.set(bundle, load);
  return load;
}

/**
 * @param {string} src
 * @param {Bundle} bundle
 * @returns {Promise<typeof Plotly>}
 */
function loaded(src, bundle) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    /** @type {typeof Plotly | undefined} */
    let before;
    script.onload = () => {
      const made = window.Plotly;
      if (bundle !== "basic") Object.assign(window, { Plotly: before });
      if (made) resolve(made);
    };
    script.onerror = () => reject(new Error(`${src} could not be loaded`));
    script.src = src;
    before = window.Plotly;
    document.head.append(script);
  });
}
