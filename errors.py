"""The base of everything that Pitwall raises on purpose; its message is one sentence for the user.

    PitwallError
    ├── SettingsError              settings.py                          a variable or a file that cannot be used
    ├── NotRegularError            machine/regular_file.py              a path that names no regular file
    ├── NoAnswerError              machine/bounded_http.py              a server that does not answer
    │   └── NoAnswerInTimeError    machine/bounded_http.py              or not in time
    ├── BadAnswerError             machine/bounded_http.py              an answer that passes a limit
    ├── PassedLimitError           machine/run_with_timeout.py          a process that passed a limit
    ├── UnknownMarginError         analysis/verdict/margin.py           a margin that is no share
    ├── UnknownObjectiveError      analysis/evidence/objectives.py      a name that no objective has
    ├── UnknownClaimError          analysis/claims/own_runs.py          a claim that is no ratio
    ├── WorkloadNotSharedError     analysis/comparison/workload.py      a workload that no two of the runs share
    ├── OptunaMissingError         analysis/study/proposal.py           Optuna is not installed
    ├── StoreError                 storage/database.py                  the store cannot do what was asked
    │   ├── StoreInUseError        storage/database.py                  another process owns it
    │   ├── DamagedStoreError      storage/files/damage.py              its file is damaged
    │   ├── ArchiveError           storage/transfer/archive.py          a bundle or a backup that cannot be used
    │   └── LakeError              storage/lake/config.py               the lake cannot do what was asked
    ├── SqlRefusedError            storage/sandbox/job.py               a statement of a user that is not answered
    ├── PasteRefusedError          commands/paste/notes.py              a paste without a server command
    ├── UnclosedQuoteError         commands/paste/shell.py              a quote in a paste that never ends
    ├── TooManyWordsError          commands/paste/braces.py             braces that stand for too many words
    ├── CommandError               commands/write.py                    a configuration that no command can say
    ├── PresetError                commands/presets.py                  a preset file that cannot be used
    ├── StudyFileError             commands/study_file.py               a study file that cannot be used
    ├── CollectorError             collectors/base.py                   a tick that failed
    │   ├── UnavailableError       collectors/base.py                   nothing of the kind is here
    │   ├── OutageError            collectors/base.py                   what answered before does not answer now
    │   ├── UnreadableError        collectors/base.py                   an answer that is not what was asked for
    │   └── IncompleteError        collectors/base.py                   a part of the sample is missing
    ├── NotMeasurableError         collectors/machine/run_queue.py      times that the kernel does not count
    ├── NotServingError            collectors/endpoints/identify.py     no inference server at a URL
    ├── ImportRefusedError         collectors/imports/log_file.py       a log file that cannot be imported
    ├── AwayError                  collectors/nodes/link.py             Pitwall does not answer an agent
    ├── RefusedByPitwallError      collectors/nodes/link.py             Pitwall takes nothing more of an agent
    ├── AddressError               collectors/nodes/link.py             an address that no token is sent to
    ├── SpoolError                 collectors/nodes/spool.py            an agent's buffer that cannot be used
    ├── RefusedError               collectors/nodes/wire.py             a message that no agent sends
    ├── LaunchRefusedError         launcher/checks/preflight.py         a launch that cannot work
    │   └── SilentStoreError       launcher/runs/making.py              or not now, for the store does not answer
    ├── UnknownRunError            launcher/runs/live_runs.py           no run has this id
    ├── HostError                  launcher/remote/hosts.py             a host that cannot be added or reached
    ├── WireError                  launcher/remote/wire.py              an answer that no remote shim gives
    ├── UnknownWorkloadError       workloads/process/start.py           a workload that does not exist
    ├── PlanError                  workloads/texts/prompt_file.py       a prompt file that cannot be used
    ├── NoTokenizerError           workloads/texts/fitting.py           a server that counts no tokens for us
    ├── BadStreamError             workloads/requests/answer_stream.py        an answer that is no stream of tokens
    ├── RecorderBusyError          workloads/recording/serve.py         another recorder has the run or the port
    ├── CannotServeError           demo/server.py                       the demo engine cannot start
    ├── UnknownLoadError           studies/plan_check.py                a study whose workload cannot be used
    ├── BusyError                  service/agents.py                    an agent's message that may be sent again
    ├── GoneError                  service/agents.py                    a run of an agent that does not exist
    ├── SignInError                web/access/sign_in_config.py         a sign-in.toml that cannot be used
    ├── TokenError                 web/access/tokens.py                 a token that cannot be made or found
    ├── PeerError                  web/live/elsewhere/peers.py          a peer that cannot be confirmed or found
    ├── RefusedByPeerError         web/live/elsewhere/peer_look.py      a peer that gives another answer
    ├── NoTokenError               cli/secret_input.py                  no token was given
    └── TooLargeError              cli/foreign_file.py                  a file that is too large to read

Anything else that is raised is a bug and keeps its traceback.
"""

from __future__ import annotations


class PitwallError(Exception):
    """The common base; raise one of the others."""
