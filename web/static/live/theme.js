// The colours of web/theme.py on the ground that Streamlit shows now.

export class Theme {
  constructor(root, palette) {
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
    return this.runs[(model.meta?.color ?? 0) % this.runs.length];
  }
}

function isDark(rgb) {
  const [red, green, blue] = rgb.match(/[\d.]+/g).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}
