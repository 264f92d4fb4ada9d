"""The defaults under SW_AGENT_COMPATIBILITY=official: what that agent collects, as far as a setting decides it."""

from __future__ import annotations

from collections.abc import Mapping

OFFICIAL: Mapping[str, object] = {
    "endpoint_style": "path",
    "http_url_real_path": True,
    "plugin_sql_statements": True,
    "plugin_cache_keys": True,
    "plugin_celery_parameters_length": 512,
    "trace_calls_outside_requests": True,
    # their tags are ours alone
    "time_split_every": 0,
    "task_tree_every": 0,
}
"""By the names of the fields. A setting that is made somewhere wins."""
