"""The completions of the SQL editor: views and table macros with their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storage.published_query import QueryFunction
from storage.user_sql.schema import macro_columns, read_views, views_version

_macros: dict[str, Mapping[str, Sequence[str]]] = {}  # by version of the views: binding them all is slow


def completions(query: QueryFunction) -> dict[str, Sequence[str]]:
    """Return columns by view and macro; the macros' columns are cached for all viewers until the views change."""
    version = views_version(query)
    if version not in _macros:
        macros = macro_columns(query)
        _macros.clear()
        _macros[version] = macros
    views = {name: [row["name"] for row in columns] for name, columns in read_views(query).items()}
    return {**views, **_macros.get(version, {})}
