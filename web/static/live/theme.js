// The colours of web/theme.py for the colour scheme that Streamlit shows now.

/** @import { RunModel } from "./model.js" */
/** @import { Palette } from "../../types/live_page.js" */

const NAMES = /** @type {const} */ (["text", "muted", "grid", "excluded", "doubt", "failure"]);

export class Theme {
  /**
   * @param {HTMLElement} root
   * @param {Palette} palette
   * @param {Record<string, number>} colors indexes into the palette by run id
   */
  constructor(root, palette, colors) {
    this.colors = colors;
    const style = getComputedStyle(root);
    const scheme = isDark(style.backgroundColor) ? "dark" : "light";
    /** @type {"light" | "dark"} */
    this.scheme = scheme;
    this.runs = palette.runs[scheme];
    this.dashes = palette.dashes[scheme];
    this.font = style.fontFamily;
    this.muted = palette.muted[scheme];
    this.grid = palette.grid[scheme];
    this.doubt = palette.doubt[scheme];
    this.excluded = palette.excluded[scheme];
    for (const name of NAMES) root.style.setProperty(`--lv-${name}`, palette[name][scheme]);
  }

  /** @param {RunModel} model */
  color(model) {
    return this.runs[this.colors[model.id]];
  }

  /**
   * Plotly's dash pattern for the run's lines: later hues are dashed, because not everyone can tell all hues apart.
   * @param {RunModel} model
   */
  dash(model) {
    return this.dashes[this.colors[model.id] % this.dashes.length];
  }
}

/** @param {string} rgb */
function isDark(rgb) {
  const [red, green, blue] = (rgb.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
