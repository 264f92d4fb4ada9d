"""swagent: traces of Python applications for Apache SkyWalking, on asyncio and trio."""

from ._thread_home import start as start
from ._thread_home import stop as stop
from .agent import Agent as Agent
from .config import Config as Config
from .errors import AgentStateError as AgentStateError
from .errors import ConfigError as ConfigError
from .errors import SwagentError as SwagentError
from .record.snapshot import Snapshot as Snapshot
from .record.snapshot import capture as capture
from .record.span import Span as Span
from .record.spans import current_span as current_span
from .record.spans import current_trace_id as current_trace_id
from .record.spans import entry_span as entry_span
from .record.spans import exit_span as exit_span
from .record.spans import get_correlation as get_correlation
from .record.spans import local_span as local_span
from .record.spans import put_correlation as put_correlation
from .record.spans import trace as trace

__version__ = "0.1.0"
