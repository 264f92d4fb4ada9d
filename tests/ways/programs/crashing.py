import ctypes
import faulthandler

faulthandler.enable(all_threads=False)
ctypes.string_at(0)
