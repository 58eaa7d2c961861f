"""The Issues page: known failures and what helps, saved here or published by others."""

from __future__ import annotations

from web.page_head import page_head
from web.page_paths import show_title
from web.run_notes.issue_list import show_issues

show_title([], "Issues")
with page_head("Issues"):
    pass
show_issues()
