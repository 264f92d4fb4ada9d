"""Celery with a Redis for its broker: what kombu sends there."""

from __future__ import annotations

import pytest

from kit.real.redis import Redis
from record.recorded import Recorder
from swagent import local_span

pytest.importorskip("celery.app.base")
pytest.importorskip("kombu.transport.redis")
from kombu.exceptions import VersionMismatch

from .celery_app import make_app

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
INSTRUMENTED = ("celery", "redis")
AGAINST = "a real Redis"
NEEDS = ("kombu<5.5",)  # later ones ask for a Redis client that is not the oldest


def test_commands_of_kombu_outside_of_requests_are_no_trace(recorder: Recorder, redis_server: Redis) -> None:
    app = make_app(f"redis://127.0.0.1:{redis_server.port}")
    with app.connection_for_read() as connection:
        try:
            channel = connection.channel()
        except VersionMismatch as error:
            pytest.skip(str(error))
        channel.qos.restore_visible(interval=1)
        channel._put_fanout("celery.pidbox", {"properties": {}}, "")
        assert channel._size("idle") == 0
        assert recorder.segments == []
        with local_span("job"):
            assert channel._size("idle") == 0
        channel.close()
    assert [each.name for each in recorder.only.spans] == ["Redis/PIPELINE", "job"]
