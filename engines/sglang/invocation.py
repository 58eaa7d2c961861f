"""Commands, modules and images that start SGLang's server."""

from __future__ import annotations

import re

from engines.base import HostedModule, Invocation, serves
from engines.sglang.flags import MODULE

INVOCATION = Invocation(
    is_server=serves("sglang"),
    first_words=("sglang",),
    text_pattern=r"sglang\s+serve|python[\d.]*\s+-m\s+(?:dynamo\.)?sglang[.\w]*",
    image_name=re.compile(r"sglang", re.IGNORECASE),
    modules=(MODULE, "sglang_router.launch_server", "sglang.srt.server", "sglang.srt.entrypoints.http_server"),
    hosted_modules={"dynamo.sglang": HostedModule("Dynamo", flag_prefix="--dyn-")},
    files=("sglang/launch_server.py",),
    image_command=(),
)
