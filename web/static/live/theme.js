// The colours of web/theme.py on the ground that Streamlit shows now.

export class Theme {
  /** `colors` are indices into the palette by run id. */
  constructor(root, palette, colors) {
    this.colors = colors;
    const style = getComputedStyle(root);
    this.ground = isDark(style.backgroundColor) ? "dark" : "light";
    this.runs = palette.runs[this.ground];
    this.font = style.fontFamily;
    for (const name of ["text", "muted", "grid", "excluded", "doubt", "failure"]) {
      this[name] = palette[name][this.ground];
      root.style.setProperty(`--lv-${name}`, this[name]);
    }
  }

  color(model) {
    return this.runs[this.colors[model.id]];
  }
}

function isDark(rgb) {
  const [red, green, blue] = rgb.match(/[\d.]+/g).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
