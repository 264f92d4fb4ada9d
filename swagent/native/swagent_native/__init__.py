"""The accelerator of swagent. Nothing but `swagent.acceleration` imports it, and swagent works without it."""

from ._native import API as API
from ._native import Form as Form
from ._native import Hiding as Hiding
from ._native import Late as Late
from ._native import LogRenderer as LogRenderer
from ._native import LogRows as LogRows
from ._native import RecordReader as RecordReader
from ._native import Renderer as Renderer
from ._native import RequestState as RequestState
from ._native import Ring as Ring
from ._native import Rows as Rows
from ._native import Serving as Serving
from ._native import SpanEncoder as SpanEncoder
from ._native import Steps as Steps
from ._native import configure as configure
from ._native import configure_clock as configure_clock
from ._native import configure_loop as configure_loop
from ._native import configure_origins as configure_origins
from ._native import configure_places as configure_places
from ._native import configure_send as configure_send
from ._native import configure_served as configure_served
from ._native import forget_places as forget_places
from ._native import name_by_path as name_by_path
from ._native import note_collection as note_collection
from ._native import set_clock as set_clock
