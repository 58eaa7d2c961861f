"""Exit statuses, the same for all commands."""

from __future__ import annotations

DONE = 0
REFUSED = 1
NOT_KNOWN = 3
WORSE = 4
NOT_COMPARABLE = 5
CANNOT_READ = 2  # argparse also uses it for wrong arguments

STATUSES = """exit status:
  0  done
  1  refused, or something is wrong; one sentence on standard error explains it
  2  the arguments are wrong, or a file cannot be read
  3  a study whose budget ended before its answer was known, or a load whose server was never reached; with
     --fail-if unknown, a comparison whose answer is not known
  4  with --fail-if worse, a comparison in which an arm is worse than the first
  5  with --fail-if not-comparable, a comparison of arms that are not ranked
  130  interrupted with Ctrl-C"""
