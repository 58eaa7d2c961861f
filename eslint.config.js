import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: [".venv/", ".build/", "node_modules/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  { files: ["web/static/**/*.js"], languageOptions: { globals: { ...globals.browser, Plotly: "readonly" } } },
  { files: ["tests/javascript/**/*.js"], languageOptions: { globals: globals.nodeBuiltin } },
];
