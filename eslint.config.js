import js from "@eslint/js";
import globals from "globals";

const STAND_INS = { Plotly: "readonly", document: "readonly", window: "readonly" }; // tests/javascript/page_stand_in.js

export default [
  { ignores: [".venv/", ".build/", "node_modules/", "**/*.min.js"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  { files: ["web/static/**/*.js"], languageOptions: { globals: { ...globals.browser, Plotly: "readonly" } } },
  { files: ["web/sql_editor/build.js"], languageOptions: { globals: globals.nodeBuiltin } },
  { files: ["tests/javascript/**/*.js"], languageOptions: { globals: { ...globals.nodeBuiltin, ...STAND_INS } } },
];
