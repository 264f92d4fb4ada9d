"""Applications of each framework: two routes of an item, and a view that raises. What it raises is answered by an
application's handler with 404 or 500, or is the framework's own answer 503, or is answered by nobody.
"""

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
    inner = module.Blueprint("inner", "inner", url_prefix="/v1")

    def item(number: int) -> str:
        return f"item {number}"

    def view(kind: str) -> str:
        if kind == "busy":
            module.abort(503)
        raise failure(kind)

    for each in (app, inner):
        each.add_url_rule("/items/<int:number>", view_func=item)
    app.register_blueprint(inner)
    app.add_url_rule("/<kind>", view_func=view)
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

    for prefix in ("", "/v1"):
        app.route(f"{prefix}/items/<number:int>", callback=lambda number: f"item {number}")
    app.route("/<kind>", callback=view)
    return app  # type: ignore[no-any-return]


def falcon() -> App:
    module = pytest.importorskip("falcon")

    class Item:
        def on_get(self, request: Any, response: Any, number: int) -> None:
            response.text = f"item {number}"

    class View:
        def on_get(self, request: Any, response: Any, kind: str) -> None:
            if kind == "busy":
                raise module.HTTPServiceUnavailable
            raise failure(kind)

    app = module.App()
    for prefix in ("", "/v1"):
        app.add_route(f"{prefix}/items/{{number:int}}", Item())
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

    for prefix in ("", "/v1"):
        config.add_route(f"item{prefix}", rf"{prefix}/items/{{number:\d+}}")
        config.add_view(lambda request: response(f"item {request.matchdict['number']}"), route_name=f"item{prefix}")
    config.add_route("view", "/{kind}")
    config.add_view(view, route_name="view")
    config.add_exception_view(lambda error, request: response("no such item", status=404), context=Missing)
    config.add_exception_view(lambda error, request: response("sorry", status=500), context=Broken)
    return config.make_wsgi_app()  # type: ignore[no-any-return]


def django() -> App:
    conf = pytest.importorskip("django.conf")
    if not conf.settings.configured:
        conf.settings.configure(ROOT_URLCONF="wsgi.django_urls", ALLOWED_HOSTS=["*"], SECRET_KEY="none", DEBUG=False)
    from django.core.wsgi import get_wsgi_application  # noqa: PLC0415, RUF100  (optional)
    from django.test.utils import override_settings  # noqa: PLC0415, RUF100  (optional)

    override_settings(ROOT_URLCONF="wsgi.django_urls", ALLOWED_HOSTS=["*"]).enable()
    return get_wsgi_application()  # type: ignore[no-any-return]


def failure(kind: str) -> Exception:
    return {"missing": Missing(), "broken": Broken()}.get(kind) or LookupError("no such lamp")
