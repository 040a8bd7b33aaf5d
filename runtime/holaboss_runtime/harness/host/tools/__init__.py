"""The tools the host offers, one module each, in the order the model sees them.

`TOOL_NAMES` in `harness/native.py` repeats the names for the runtime, which never imports this package.
"""

from __future__ import annotations

from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.harness.host.tools.bash import BASH
from holaboss_runtime.harness.host.tools.edit import EDIT
from holaboss_runtime.harness.host.tools.find import FIND
from holaboss_runtime.harness.host.tools.grep import GREP
from holaboss_runtime.harness.host.tools.ls import LS
from holaboss_runtime.harness.host.tools.read import READ
from holaboss_runtime.harness.host.tools.write import WRITE

TOOLS: dict[str, HostTool] = {tool.name: tool for tool in (READ, WRITE, EDIT, BASH, GREP, FIND, LS)}
