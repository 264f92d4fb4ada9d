"""A Django project in one file: `manage.py runserver`."""

from __future__ import annotations

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF="__main__" if __name__ == "__main__" else __name__, SECRET_KEY="none", DEBUG=True,
    ALLOWED_HOSTS=["*"],
)  # fmt: skip


def item(_: HttpRequest, id: str) -> HttpResponse:  # noqa: A002
    if id == "broken":
        raise LookupError("nothing there")
    return HttpResponse(str(os.getpid()), status=410 if id == "gone" else 200)


urlpatterns = [path("items/<id>", item)]
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
