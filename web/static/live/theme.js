// The colours of web/theme.py on the ground that Streamlit shows now.

/** @import { RunModel } from "./model.js" */
/** @import { Palette } from "../../types/live_page.js" */

const NAMES = /** @type {const} */ (["text", "muted", "grid", "excluded", "doubt", "failure"]);

export class Theme {
  /**
   * @param {HTMLElement} root
   * @param {Palette} palette
   * @param {Record<string, number>} colors indices into the palette by run id
   */
  constructor(root, palette, colors) {
    this.colors = colors;
    const style = getComputedStyle(root);
    const ground = isDark(style.backgroundColor) ? "dark" : "light";
    /** @type {"light" | "dark"} */
    this.ground = ground;
    this.runs = palette.runs[ground];
    this.dashes = palette.dashes[ground];
    this.font = style.fontFamily;
    this.muted = palette.muted[ground];
    this.grid = palette.grid[ground];
    this.doubt = palette.doubt[ground];
    this.excluded = palette.excluded[ground];
    for (const name of NAMES) root.style.setProperty(`--lv-${name}`, palette[name][ground]);
  }

  /** @param {RunModel} model */
  color(model) {
    return this.runs[this.colors[model.id]];
  }

  /**
   * Plotly's pattern of the run's lines: those of further hues are dashed, since not everybody tells them apart.
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
