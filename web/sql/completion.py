"""What the editor of the SQL page completes: views and table macros with their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from storage.ask.free_sql.schema import macro_columns, read_views, views_version
from storage.published_query import Query

_macros: dict[str, Mapping[str, Sequence[str]]] = {}  # by the version of the views: binding them all takes a while


def completions(query: Query) -> dict[str, Sequence[str]]:
    """What can be asked -> its columns; those of macros are found once for all who look, while views stay the same."""
    version = views_version(query)
    if version not in _macros:
        found = macro_columns(query)
        _macros.clear()
        _macros[version] = found
    views = {name: [row["name"] for row in columns] for name, columns in read_views(query).items()}
    return {**views, **_macros.get(version, {})}
