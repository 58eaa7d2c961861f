"""The import direction and the homes of libraries, held by a test."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import errors
from engines import ENGINES

ROOT = Path(__file__).resolve().parent.parent
LAYERS = [
    {"errors", "domain", "samples", "load_records", "notes", "reasons", "settings", "python_syntax"},
    {"redaction"},
    {"machine", "engines", "reference"},
    {"analysis"},
    {"storage"},
    {"commands"},
    {"collectors", "launcher", "workloads", "demo"},
    {"reports"},
    {"studies"},
    {"service"},
    {"web"},
    {"pages"},
    {"app", "cli", "pitwall_client"},
]
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
HOMES = {
    "duckdb": {"storage"},
    "subprocess": {"launcher", "machine"},
    "pynvml": {"collectors"},
    "plotly": {"web"},
    "streamlit": {"app", "web", "pages"},
    "markdown_it": {"web"},
    "optuna": {"analysis"},
    "mcp": {"cli"},
}
NOT_FOR = {  # what would make a room more than it is
    "commands": {"asyncio", "multiprocessing", "psutil", "signal", "socket", "subprocess", "threading", "machine"},
    "reports": {"duckdb", "plotly", "starlette", "streamlit"},
}
COMPOSES = "__main__.py"  # an entry point puts rooms together as app.py does, and is imported by nobody
FORBIDDEN_PAIRS = {
    *((room, "storage") for room in ("collectors", "workloads", "launcher")),
    ("collectors", "launcher"),
    ("launcher", "collectors"),
    ("workloads", "launcher"),
    ("launcher", "workloads"),
}
ENGINE_NAME = re.compile(rf"\b({'|'.join(engine.name for engine in ENGINES)})\b")
ENGINE_IN_SQL = re.compile("|".join(engine.name for engine in ENGINES))
SQL_COMMENTS = re.compile(r"--.*|^COMMENT ON .*", re.MULTILINE)
MAY_NAME_AN_ENGINE = {
    "collectors/imports/results/tools/batch_server.py": "the engines' own benchmark tools, whose results it reads",
    "collectors/imports/results/tools/multi_turn.py": "likewise",
    "collectors/imports/results/tools/offline_bench.py": "likewise",
    "collectors/imports/results/tools/one_batch.py": "likewise",
    "collectors/imports/results/tools/send_one.py": "likewise",
    "collectors/imports/results/tools/serving.py": "likewise",
    "collectors/imports/results/tools/sglang_eval.py": "likewise",
    "collectors/imports/results/tools/sglang_records.py": "likewise",
    "collectors/imports/results/tools/startup_bench.py": "likewise",
    "collectors/imports/results/tools/trtllm_bench.py": "likewise",
    "collectors/imports/results/tools/vllm_mlx.py": "likewise",
    "collectors/imports/results/tools/vllm_multi_turn.py": "likewise",
    "commands/paste/cleaning.py": "how a server is written within prose, told from prose more strictly than elsewhere",
    "commands/paste/script.py": "likewise",
    "commands/recipe/recipe_study.py": "a format of the engine's makers, whose key and command bear its name",
    "commands/recipe/speed.py": "likewise",
    "web/launch/attach_form.py": "an example beside an empty field",
    "web/launch/editor.py": "likewise",
    "web/launch/import_form.py": "likewise",
    "web/study_pages/start_form.py": "likewise",
    "web/study_pages/study_form.py": "likewise",
    "workloads/process/external_tools.py": "a benchmark tool of the engine's makers, which measures any server",
    "workloads/process/external_tool_commands.py": "likewise",
}


MOST_SQL_LINES = 5  # of a statement in Python: a longer one is a .sql file
STATEMENT = re.compile(r"\s*(SELECT|INSERT INTO|CREATE|DELETE FROM|WITH|FROM|UPDATE|COPY|MERGE INTO|PRAGMA) +[\w*{($]")
MAY_HOLD_SQL = {
    "collectors/imports/results/tools/evalscope.py": "the SQLite file of another tool",
    "collectors/agents/spool.py": "the agent's own SQLite file, on a machine that has no store",
    "pitwall_client.py": "a program of its own, which knows Pitwall by its HTTP interface alone",
    "web/sql/sql_page.py": "the example that the SQL page begins with",
    "web/sql/questions.py": "README's questions, to start from on the SQL page",
}
SQL = re.compile(r"\s*(SELECT|INSERT|CREATE|DELETE|WITH|FROM|UPDATE|COPY|MERGE)\b")


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All syntax nodes of a file, which several tests read."""
    return list(ast.walk(ast.parse(path.read_text())))


def room_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def product_files() -> list[Path]:
    files = [p for room in RANK for p in (ROOT / room).rglob("*.py")]
    return sorted(files + [ROOT / f"{room}.py" for room in RANK if (ROOT / f"{room}.py").exists()])


def imports_of(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", product_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_run_down_and_libraries_stay_home(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        if name in RANK and name != room and path.name != COMPOSES:
            assert RANK[name] <= RANK[room], f"{room} must not import {name}"
            assert (room, name) not in FORBIDDEN_PAIRS, f"{room} must not know {name}"
        assert name != "app", "nobody imports app.py"
        assert name not in NOT_FOR.get(room, ()), f"{room} must do without {name}"
        if name in HOMES:
            assert room in HOMES[name], f"{name} is at home in {sorted(HOMES[name])}, not in {room}"


def texts_of(path: Path) -> Iterator[str]:
    """The string literals of a file, docstrings aside."""
    nodes = nodes_of(path)
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_engines_are_named_in_their_packages_only() -> None:
    others = [path for path in product_files() if room_of(path) not in ("engines", "demo")]
    naming = {str(path.relative_to(ROOT)) for path in others if any(map(ENGINE_NAME.search, texts_of(path)))}
    assert naming == set(MAY_NAME_AN_ENGINE), "what is one engine's belongs on its description, see engines/base.py"


def test_shared_sql_names_no_engine() -> None:
    """`storage/engine_views.py` joins what the engines' own files define; comments and history aside."""
    roots = [ROOT / "storage" / "views" / "engines", ROOT / "storage" / "migrations"]
    shared = [path for path in (ROOT / "storage").rglob("*.sql") if path.parent not in roots]
    naming = {path.name for path in shared if ENGINE_IN_SQL.search(SQL_COMMENTS.sub("", path.read_text()))}
    assert naming == set() and len(shared) > 50


def folder_imports() -> dict[str, dict[str, str]]:
    """By folder the other folders that its files import from, each with one file that does; both as dotted names."""
    files = product_files()
    folders = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in files}
    imports: dict[str, dict[str, str]] = defaultdict(dict)
    for path in files:
        folder = str(path.parent.relative_to(ROOT)).replace("/", ".")
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and node.module:
                target = node.module if node.module in folders else node.module.rpartition(".")[0]
                if target in folders and target != folder:
                    imports[folder].setdefault(target, str(path.relative_to(ROOT)))
    return imports


def test_no_two_folders_import_each_other() -> None:
    """A folder and one inside it count as one place."""
    imports = folder_imports()
    pairs = {
        (one, other, imports[one][other], imports[other][one])
        for one in list(imports)
        for other in imports[one]
        if one in imports.get(other, ()) and one < other and not other.startswith(f"{one}.")
    }
    assert pairs == set() and len(imports) > 50


def test_scripts_use_no_benchmark() -> None:
    """Benchmarks stand above scripts, and both above the product."""
    assert [path for path in (ROOT / "scripts").rglob("*.py") if "benchmarks" in imports_of(path)] == []


def test_sql_stands_in_storage_only() -> None:
    """How the store is asked is one room's business; the others call a function that says what is asked."""
    asking = {
        str(path.relative_to(ROOT))
        for path in product_files()
        if room_of(path) != "storage"
        for node in nodes_of(path)
        if isinstance(node, ast.Constant | ast.JoinedStr) and STATEMENT.match(text_of(node))
    }
    assert asking == set(MAY_HOLD_SQL), "make it a question in storage/queries"


def test_rooms_are_unknown_below_web() -> None:
    """Streamlit puts the folder of its script first on the path: such a name would be found there, not the room."""
    below = {path.stem for path in (ROOT / "web").iterdir()}
    assert below & (set(RANK) - {"__init__"}) == set()


def test_long_statements_are_files_of_their_own() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in product_files()
        for node in nodes_of(path)
        if isinstance(node, ast.Constant | ast.JoinedStr)
        and SQL.match(text := text_of(node))
        and len(text.strip().splitlines()) > MOST_SQL_LINES
    }
    assert long == set()


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    """A text; of one with values in it, what stands between them."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))


def test_load_generator_has_no_data_library() -> None:
    """It runs beside the server that it measures."""
    heavy = "import sys, cli.main, workloads.process.start; print({'pyarrow', 'duckdb', 'numpy'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", heavy], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout == "set()\n"


def test_without_a_lake_nothing_of_it_is_loaded() -> None:
    """Its packages need not be installed; who has no lake.toml pays nothing for it."""
    code = "import sys, cli.main, service.core, web.context; print([m for m in sys.modules if 'storage.lake' in m])"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def test_every_exception_is_in_the_tree() -> None:
    """The docstring of `errors` draws each public class: under its base, with its file."""
    assert drawn_exceptions() == written_exceptions()
    names = [name for _, name, _ in written_exceptions()]
    assert len(names) > 40
    assert [name for name in names if not name.endswith("Error") or names.count(name) > 1] == []


def drawn_exceptions() -> set[tuple[str, str, str]]:
    """Base, class and file of each line of the tree; four columns of indent are one step down."""
    above, drawn = ["PitwallError"], set()
    for indent, name, path in re.findall(r"^ {4}(.*[├└]── )(\w+) +(\S+)", errors.__doc__ or "", re.MULTILINE):
        depth = len(indent) // 4
        above[depth:] = [name]
        drawn.add((above[depth - 1], name, path))
    return drawn


def written_exceptions() -> set[tuple[str, str, str]]:
    """Base, class and file of each public class below PitwallError."""
    classes = [
        (base.id, node.name, str(path.relative_to(ROOT)))
        for path in product_files()
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for base in node.bases
        if isinstance(base, ast.Name)
    ]
    known = {"PitwallError"}
    for _ in range(3):  # as deep as the tree may grow
        known |= {name for base, name, _ in classes if base in known}
    return {found for found in classes if found[0] in known}


def test_the_check_sees_files() -> None:
    assert len(product_files()) > 10
