"""The text of About, in every page's menu: what each page is for, and where the rest is written."""

from __future__ import annotations

ABOUT = """**Pitwall** launches and watches LLM servers, and says which configuration is faster, by how much, and why.

- **Runs**: every run with its speed; select some to compare, star, tag or delete them.
- **Live**: runs side by side while they serve, with their logs.
- **Launch**: paste a command, change it as a form, start or queue it; import logs and results.
- **Compare**: the answer, its causes with intervals, and whether the comparison is fair.
- **Studies**: a question, several arms, starts in turn until the answer is known.
- **Explore**, **SQL**: any metric against any other; the store as tables.
- **Issues**: known failures and what helps.

The folder `docs` of Pitwall explains each page, every metric and the tables; `./pitwall --help` lists the commands.
"""
