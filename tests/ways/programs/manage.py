"""A whole Django project in one file."""

import os
import sys

from shop import look_up

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "manage")
SECRET_KEY = "none"
DEBUG = True
ROOT_URLCONF = "manage"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = []
USE_TZ = True
WSGI_APPLICATION = "manage.application"


def item(request, id):
    from django.http import HttpResponse

    return HttpResponse(look_up(id))


def _urls():
    from django.urls import path

    return [path("items/<int:id>", item)]


class _Lazily(list):
    def __iter__(self):
        return iter(_urls())


urlpatterns = _Lazily()


def __getattr__(name):
    if name == "application":
        from django.core.wsgi import get_wsgi_application

        return get_wsgi_application()
    if name == "asgi":
        from django.core.asgi import get_asgi_application

        return get_asgi_application()
    raise AttributeError(name)


if __name__ == "__main__":
    sys.modules["manage"] = sys.modules["__main__"]
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
