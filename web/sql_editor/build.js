// Bundles entry.js into the one file that is served, and says in its first line of what it was made.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const HERE = new URL(".", import.meta.url);
const SERVED = new URL("../static/sql_editor/", HERE);
const SOURCES = ["entry.js", "duckdb_words.js", "package-lock.json"];

const digest = createHash("sha256");
for (const name of SOURCES) digest.update(readFileSync(new URL(name, HERE)));
const made = `/* CodeMirror 6, MIT, see LICENSE.txt; make sql-editor of ${SOURCES.join(" and ")}, sha256 ${digest.digest("hex")} */`;
const { packages } = JSON.parse(readFileSync(new URL("package-lock.json", HERE), "utf8"));
const shipped = Object.keys(packages).filter((path) => path && !packages[path].dev);

await build({
  entryPoints: [new URL("entry.js", HERE).pathname],
  outfile: new URL("codemirror.min.js", SERVED).pathname,
  bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", charset: "utf8",
  banner: { js: made },
});
const texts = shipped.map((path) => {
  const text = readFileSync(new URL(`${path}/LICENSE`, HERE), "utf8").trim();
  return `${path.replace("node_modules/", "")} ${packages[path].version}\n\n${text}\n`;
});
writeFileSync(new URL("LICENSE.txt", SERVED), texts.join("\n----\n\n"));
