// What Streamlit is given for a component: its module proper comes by URL, so that the browser caches it.

/** @typedef {{ assets: string, module: string }} Loaded where the module is, below the URL of the assets */
/** @typedef {{ mount(component: ComponentArgs<Loaded>): () => void }} ComponentModule */

/** @param {ComponentArgs<Loaded>} component */
export default async function (component) {
  const { assets, module } = component.data;
  const { mount } = /** @type {ComponentModule} */ (await import(new URL(`${assets}/${module}`, location.href).href));
  return mount(component);
}
