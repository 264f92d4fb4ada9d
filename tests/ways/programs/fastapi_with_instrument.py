from swagent.instrument import instrument

instrument()

from fastapi_app import app  # noqa: E402

__all__ = ["app"]
