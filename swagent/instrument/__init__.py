"""Client libraries and servers that record by themselves: `from swagent.instrument import instrument`.

Theory of operation
-------------------
One small module knows one library: it names the library, the versions that it was tested with, and a *hook*. Entry
points of the group `swagent.instrumentations` name these modules, so that other packages add theirs.

`instrument()` imports none of the libraries, and none of these modules: a generated table has the descriptions of ours.
It waits until the application imports a library, then asks the gate whether the version fits, and calls the hook, which
replaces functions of the library through its `Patches`. A library that is not imported costs nothing. A hook that does
not fit (it raises, or a function is not where it was) leaves the library as it is, and one line reports it: the
application goes on unrecorded.

The wrappers of a hook never raise into the application, and do not record the agent's own calls.
"""

import os

from ..record.limits import leave_out_frames_in
from .configured import instrument as instrument
from .installation import Report as Report
from .installation import State as State
from .installation import report as report
from .installation import uninstrument as uninstrument
from .instrumentation import Instrumentation as Instrumentation
from .patches import Patches as Patches

# an exception's stack shows the application and the library, and not the wrapper between them
leave_out_frames_in(os.path.dirname(os.path.abspath(__file__)))
