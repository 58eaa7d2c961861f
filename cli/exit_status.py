"""The exit statuses, the same for all commands."""

from __future__ import annotations

DONE = 0
REFUSED = 1
NOT_KNOWN = 3
CANNOT_READ = 2  # argparse uses it for wrong words as well

STATUSES = """exit status:
  0  done
  1  refused, or found something wrong; one sentence on standard error says what
  2  the words of the command are wrong, or a file cannot be read
  3  a study whose budget ended before its answer was known, or a load whose server was never reached
  130  interrupted with Ctrl-C"""
