"""swagent: traces of Python applications for Apache SkyWalking, on asyncio and trio."""

from .agent import Agent as Agent
from .config import Config as Config
from .errors import AgentStateError as AgentStateError
from .errors import ConfigError as ConfigError
from .errors import SwagentError as SwagentError
from .record.trace.calls import cache_span as cache_span
from .record.trace.calls import database_span as database_span
from .record.trace.calls import message_span as message_span
from .record.trace.calls import rpc_span as rpc_span
from .record.trace.context_snapshot import ContextSnapshot as ContextSnapshot
from .record.trace.context_snapshot import capture as capture
from .record.trace.model import Component as Component
from .record.trace.model import Layer as Layer
from .record.trace.span import Span as Span
from .record.trace.spans import current_span as current_span
from .record.trace.spans import current_trace_id as current_trace_id
from .record.trace.spans import entry_span as entry_span
from .record.trace.spans import exit_span as exit_span
from .record.trace.spans import get_correlation as get_correlation
from .record.trace.spans import local_span as local_span
from .record.trace.spans import put_correlation as put_correlation
from .record.trace.spans import trace as trace
from .runtime.agent_thread import start as start
from .runtime.agent_thread import stop as stop

__version__ = "0.1.0"
