"""Applications of each framework with four views: one raises, one raises what a handler of the application answers with
404, one what a handler answers with 500, and one raises the framework's own answer 503."""

from __future__ import annotations

from typing import Any

import pytest

from swagent.wsgi.response import App


class Missing(Exception):
    """Answered with 404."""


class Broken(Exception):
    """Answered with 500 by the application."""


def flask() -> App:
    module = pytest.importorskip("flask")
    app = module.Flask("shop")

    @app.route("/<kind>")  # type: ignore[misc, untyped-decorator, unused-ignore]
    def view(kind: str) -> str:
        if kind == "busy":
            module.abort(503)
        raise failure(kind)

    app.errorhandler(Missing)(lambda error: ("no such item", 404))
    app.errorhandler(Broken)(lambda error: ("sorry", 500))
    return app  # type: ignore[no-any-return]


def bottle() -> App:
    module = pytest.importorskip("bottle")
    app = module.Bottle()

    def view(kind: str) -> str:
        if kind == "busy":
            module.abort(503)
        if kind == "missing":
            raise module.HTTPError(404, exception=Missing())
        raise failure(kind)

    app.route("/<kind>", callback=view)
    return app  # type: ignore[no-any-return]


def falcon() -> App:
    module = pytest.importorskip("falcon")

    class View:
        def on_get(self, request: Any, response: Any, kind: str) -> None:
            if kind == "busy":
                raise module.HTTPServiceUnavailable
            raise failure(kind)

    app = module.App()
    app.add_route("/{kind}", View())
    app.add_error_handler(Missing, _answer_of_falcon(404))
    app.add_error_handler(Broken, _answer_of_falcon("500 Sorry"))
    return app  # type: ignore[no-any-return]


def _answer_of_falcon(status: object) -> Any:
    def answer(request: Any, response: Any, error: Exception, params: object) -> None:
        response.status = status

    return answer


def pyramid() -> App:
    config = pytest.importorskip("pyramid.config").Configurator()
    response = pytest.importorskip("pyramid.response").Response
    exceptions = pytest.importorskip("pyramid.httpexceptions")

    def view(request: Any) -> Any:
        if request.matchdict["kind"] == "busy":
            raise exceptions.HTTPServiceUnavailable
        raise failure(request.matchdict["kind"])

    config.add_route("view", "/{kind}")
    config.add_view(view, route_name="view")
    config.add_exception_view(lambda error, request: response("no such item", status=404), context=Missing)
    config.add_exception_view(lambda error, request: response("sorry", status=500), context=Broken)
    return config.make_wsgi_app()  # type: ignore[no-any-return]


def failure(kind: str) -> Exception:
    return {"missing": Missing(), "broken": Broken()}.get(kind) or LookupError("no such lamp")
