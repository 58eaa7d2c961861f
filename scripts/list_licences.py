"""Print docs/licences.md: every package that constraints.txt or a package-lock.json pins, with its stated licence."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, files, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Licences of what Pitwall installs
Made by `python scripts/list_licences.py > docs/licences.md` from the packages' own metadata. Nothing here is copyleft
beyond MPL-2.0. `requirements.txt` is the product, `requirements-demo.txt` the demo engine, `requirements-dev.txt` the
checks.

| package | version | licence |
|---|---|---|"""
NODE_HEAD = """
What checks the JavaScript under `web/static`, pinned in `package-lock.json`; nothing of it is shipped.

| package | version | licence |
|---|---|---|"""
EDITOR_HEAD = """
What `web/static/sql_editor/codemirror.min.js` is bundled from (`make sql-editor`), pinned in
`web/sql_editor/package-lock.json`; the texts of their licences are in `web/static/sql_editor/LICENSE.txt`. Of these,
esbuild bundles and is not shipped.

| package | version | licence |
|---|---|---|"""
PLOTLY = """
`web/static/plotly/plotly-basic.min.js` is plotly.js 4.1.1's basic bundle as its authors publish it (the package
`plotly.js-basic-dist-min`, MIT, its licence beside it): a quarter of the whole, and all that lines and bars need;
`plotly-cartesian.min.js` (`plotly.js-cartesian-dist-min`) is loaded where maps or boxes are drawn. Their version is
that of the Python package's plotly.js; a test says when they part."""
FONTS = """
`web/static/fonts` has the Latin part of Inter and of JetBrains Mono as their authors publish them (the packages
`@fontsource-variable/inter` 5.3.0 and `@fontsource-variable/jetbrains-mono` 5.3.0; SIL Open Font License 1.1, in
`web/static/fonts/LICENSE.txt`)."""
PLATFORM_COPIES = ("@typescript/typescript-", "@esbuild/")  # one of these is installed, the one for this machine


def licence_of(name: str) -> str:
    """Return the licence expression, else the classifiers', else the first line of the licence field."""
    package = metadata(name)
    expression = package.get("License-Expression")
    classified = [c.rsplit(" :: ", 1)[-1] for c in package.get_all("Classifier") or [] if c.startswith("License ::")]
    if not (expression or classified) and package.get_all("License-File"):
        return _title_of(name)
    short = (package.get("License") or "").strip().splitlines()
    return expression or ", ".join(classified) or (short[0][:60] if short else "not stated")


def _title_of(name: str) -> str:
    """Return the first line of a package's licence file, for metadata without a licence."""
    paths = [path for path in files(name) or [] if path.name.upper().startswith("LICENSE")]
    return paths[0].read_text().strip().splitlines()[0] if paths else "not stated"


def node_packages(folder: Path) -> list[tuple[str, str, str]]:
    """Yield name, version and licence of the packages pinned in a folder's package-lock.json."""
    pinned = json.loads((folder / "package-lock.json").read_text())["packages"]
    rows = [
        (path.rpartition("node_modules/")[2], package["version"], package["license"])
        for path, package in pinned.items()
        if path
    ]
    return sorted({row for row in rows if not row[0].startswith(PLATFORM_COPIES)})


def main() -> int:
    print(HEAD)
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        match = re.match(r"([\w.-]+)==([^\s;]+)", line)
        if match:
            try:
                print(f"| {match[1]} | {match[2]} | {licence_of(match[1])} |")
            except PackageNotFoundError:
                print(f"| {match[1]} | {match[2]} | not installed here |")
    print(PLOTLY)
    print(FONTS)
    for head, folder in ((NODE_HEAD, ROOT), (EDITOR_HEAD, ROOT / "web" / "sql_editor")):
        print(head)
        for row in node_packages(folder):
            print("| {} | {} | {} |".format(*row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
