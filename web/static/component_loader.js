// The only code that Streamlit gets for a component: it imports the component's module by URL, so that the browser can
// cache the module.

/** @typedef {{ assets: string, module: string }} ModuleLocation the module's path below the URL of the assets */
/** @typedef {{ mount(component: ComponentArgs<ModuleLocation>): () => void }} ComponentModule */

/** @param {ComponentArgs<ModuleLocation>} component */
export default async function (component) {
  const { assets, module } = component.data;
  const { mount } = /** @type {ComponentModule} */ (await import(new URL(`${assets}/${module}`, location.href).href));
  return mount(component);
}
