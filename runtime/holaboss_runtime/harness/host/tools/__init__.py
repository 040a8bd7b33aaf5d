"""The tools the host offers, one module each, in the order the model sees them.

`TOOL_NAMES` in `harness/native.py` repeats the names for the runtime, which never imports this package.
"""

from __future__ import annotations

from holaboss_runtime.harness.host.tools.base import HostTool
from holaboss_runtime.harness.host.tools.bash import BASH
from holaboss_runtime.harness.host.tools.download_url import DOWNLOAD_URL
from holaboss_runtime.harness.host.tools.edit import EDIT
from holaboss_runtime.harness.host.tools.find import FIND
from holaboss_runtime.harness.host.tools.grep import GREP
from holaboss_runtime.harness.host.tools.image_generate import IMAGE_GENERATE
from holaboss_runtime.harness.host.tools.ls import LS
from holaboss_runtime.harness.host.tools.question import QUESTION
from holaboss_runtime.harness.host.tools.read import READ
from holaboss_runtime.harness.host.tools.scratchpad import SCRATCHPAD
from holaboss_runtime.harness.host.tools.skill import SKILL
from holaboss_runtime.harness.host.tools.todo import TODO
from holaboss_runtime.harness.host.tools.web_search import WEB_SEARCH
from holaboss_runtime.harness.host.tools.write import WRITE
from holaboss_runtime.harness.host.tools.write_report import WRITE_REPORT

_WEB = (WEB_SEARCH, DOWNLOAD_URL, IMAGE_GENERATE)
_ALL = (READ, WRITE, EDIT, BASH, GREP, FIND, LS, TODO, SKILL, QUESTION, WRITE_REPORT, SCRATCHPAD, *_WEB)

TOOLS: dict[str, HostTool] = {tool.name: tool for tool in _ALL}
