"""The base of everything that Pitwall raises on purpose; its message is one sentence for the user.

    PitwallError
    ├── SettingsError            settings.py              a variable or a file that cannot be used
    ├── PasteRefusedError        commands/paste/notes.py  a paste without a server command
    │   UnclosedQuoteError       commands/paste/shell.py  the shell lexer met no end of a quote
    │   CommandError             commands/write.py        a configuration that no command can say
    │   PresetError              commands/presets.py      a preset file that cannot be used
    ├── LaunchRefusedError       launcher/checks          a launch that cannot work
    │   UnknownRunError          launcher/runs            no run with this id, or it cannot do that
    ├── CollectorError           collectors/base.py       a tick that found nothing, with the reason
    │   NotServingError          collectors/endpoints     no inference server at a URL
    │   ImportRefusedError       collectors/imports       a file that is not taken in
    ├── StoreError               storage/database.py      the store cannot be opened or written
    │   ├── StoreInUseError      storage/database.py      another Pitwall owns it
    │   └── ArchiveError         storage/transfer         a bundle or a backup that cannot be used
    ├── SqlRefusedError          storage/sandbox          a user's statement that is not answered
    ├── BadStreamError           workloads/requests       a server's answer that is not a stream of tokens
    └── CannotServeError         demo/server.py           the demo engine cannot start

Anything else that is raised is a bug and keeps its traceback.
"""

from __future__ import annotations


class PitwallError(Exception):
    """The common base; raise one of the others."""
