"""Base of all exceptions that Pitwall raises on purpose; the message is one sentence for the user.

    PitwallError
    ├── SettingsError              settings.py                            an unusable variable or settings file
    ├── NotRegularError            machine/regular_file.py                a path that is not a regular file
    ├── NoSecretError              machine/secret_pipe.py                 no secret came through a pipe
    ├── NoAnswerError              machine/bounded_http.py                a server that does not answer
    │   └── NoAnswerInTimeError    machine/bounded_http.py                a server that does not answer in time
    ├── BadAnswerError             machine/bounded_http.py                an answer that exceeds a limit
    ├── PassedLimitError           machine/run_with_timeout.py            a process that exceeded a limit
    ├── WeightsUnreadError         machine/weight_files.py                weights that cannot be identified
    ├── UnknownMarginError         analysis/verdict/margin.py             a margin that is not a valid share
    ├── UnknownObjectiveError      analysis/evidence/objectives.py        an unknown objective
    ├── UnknownClaimError          analysis/claims/own_runs.py            a claim that is not a ratio
    ├── WorkloadNotSharedError     analysis/comparison/workload.py        a workload that no two of the runs share
    ├── OptunaMissingError         analysis/study/proposal.py             Optuna is not installed
    ├── StoreError                 storage/database.py                    the store cannot do a requested operation
    │   ├── StoreInUseError        storage/database.py                    another process owns the store
    │   │   └── StoreInCommandError storage/database.py                   a command in a shell owns the store
    │   ├── DamagedStoreError      storage/files/damage.py                the store's file is damaged
    │   ├── ArchiveError           storage/transfer/archive.py            an unusable bundle or backup
    │   └── LakeError              storage/lake/config.py                 the lake cannot do a requested operation
    ├── SqlRefusedError            storage/sandbox/job.py                 a refused SQL statement of a user
    ├── PasteRefusedError          commands/paste/notes.py                a paste without a server command
    ├── UnclosedQuoteError         commands/paste/shell.py                an unclosed quote in a paste
    ├── TooManyWordsError          commands/paste/braces.py               braces that expand to too many words
    ├── CommandError               commands/write.py                      a configuration that no command can express
    ├── PresetError                commands/presets.py                    an unusable preset file
    ├── StudyFileError             commands/study_file.py                 an unusable study file
    ├── CollectorError             collectors/base.py                     a failed tick
    │   ├── UnavailableError       collectors/base.py                     the source does not exist here
    │   ├── OutageError            collectors/base.py                     a source stopped answering
    │   ├── UnreadableError        collectors/base.py                     an answer that is not what was requested
    │   └── IncompleteError        collectors/base.py                     a part of the sample is missing
    ├── NotMeasurableError         collectors/machine/run_queue.py        times that the kernel does not count
    ├── NotServingError            collectors/endpoints/identify.py       no inference server at a URL
    ├── ImportRefusedError         collectors/imports/log_file.py         a log file that cannot be imported
    ├── AwayError                  collectors/agents/link.py              Pitwall does not answer an agent
    ├── RefusedByPitwallError      collectors/agents/link.py              Pitwall accepts nothing more from an agent
    ├── AddressError               collectors/agents/link.py              an address to which no token is sent
    ├── SpoolError                 collectors/agents/spool.py             an agent's unusable buffer
    ├── RefusedError               collectors/agents/wire.py              a message that no agent sends
    ├── LaunchRefusedError         launcher/checks/launch_request.py      a launch that cannot work
    │   └── SilentStoreError       launcher/runs/run_factory.py           a launch while the store does not answer
    ├── UnknownRunError            launcher/runs/live_runs.py             no run with this id
    ├── HostError                  launcher/remote/hosts.py               a host that cannot be added or reached
    ├── WireError                  launcher/remote/wire.py                an answer that no remote shim sends
    ├── UnknownWorkloadError       workloads/process/start.py             an unknown workload
    ├── PlanError                  workloads/texts/prompt_file.py         an unusable prompt file
    ├── NoTokenizerError           workloads/texts/tokenizer_client.py    a server that offers no tokenization
    ├── ProbeRefusedError          workloads/texts/probe_fitting.py       a server without token log-probabilities
    ├── BadTokenAnswerError        engines/next_token.py                  an answer without the requested tokens
    ├── BadStreamError             workloads/requests/answer_stream.py    an answer that is not a stream of tokens
    ├── UpstreamConnectionError    workloads/recording/upstream_connection.py a server that breaks off, or is no server
    ├── ClientRequestError         workloads/recording/client_connection.py a request that the recorder refuses
    ├── HeaderLineError            workloads/recording/http_head.py      a header that would end its line
    ├── FolderCopyError        workloads/agent_tasks/folder_copy.py   a folder that cannot be copied for an agent
    ├── TaskStoppedError       workloads/agent_tasks/task_runner.py   an agent task that cannot go on
    ├── RecorderBusyError          workloads/recording/serve.py           another recorder has the run or the port
    ├── CannotServeError           demo/server.py                         the demo engine cannot start
    ├── UnknownLoadError           studies/plan_check.py                  a study with an unusable workload
    ├── BusyError                  service/agents.py                      an agent's message that may be sent again
    ├── GoneError                  service/agents.py                      an agent's run that does not exist
    ├── ChannelError               service/notifications/channels.py      a channel that cannot be added or found
    ├── ProposalError              service/proposals.py                   a proposal that cannot be made or found
    ├── DeliveryError              service/notifications/delivery.py      a notification that did not arrive
    ├── PriceFileError             reports/runs/prices.py                 an unusable file of prices
    ├── SignInError                web/access/sign_in_config.py           an unusable sign-in.toml
    ├── TokenError                 web/access/tokens.py                   a token that cannot be created or found
    ├── PeerError                  web/live/peers/peers.py                a peer that cannot be confirmed or found
    ├── RefusedByPeerError         web/live/peers/peer_look.py            a peer with an unexpected answer
    ├── McpServerError             cli/mcp.py                             the MCP server cannot start
    ├── NoTokenError               cli/secret_input.py                    no token was entered
    ├── TaskFileError          cli/loads/task.py                      an unusable file of an agent task
    └── TooLargeError              cli/foreign_file.py                    a file that is too large to read

Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations


class PitwallError(Exception):
    """The common base; raise one of its subclasses."""
