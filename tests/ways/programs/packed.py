"""The script with an import of ours, for a program that is packed."""

import runpy

import script  # the packer has to see it

import swagent
from swagent.instrument import instrument

instrument()
swagent.start()
runpy.run_module("script", run_name="__main__")
assert script
