"""One of the two services of a case, as a server loads it: `uvicorn stress.findings.application:app`.

FINDINGS_CASE and FINDINGS_SERVICE say which it is.
"""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.routing import Route

from stress.soak.orphans import end_with_the_run

from . import healthy, loops, messaging, others, planted, pools, tenants  # noqa: F401  (they note their handlers)
from .handlers import FOUND
from .lateness import lifespan

end_with_the_run()
_handlers = FOUND[os.environ["FINDINGS_CASE"]].get(os.environ["FINDINGS_SERVICE"], {})
_routes = [Route(path, function, methods=["GET", "POST"]) for path, function in _handlers.items()]
app = Starlette(routes=_routes, lifespan=lifespan)
