"""The transports that come with swagent: one module each, found through the entry point group `swagent.transports`.

It asserts nothing, so pytest need not rewrite it, nor warn of that: PYTEST_DONT_REWRITE.
"""
