import packaging.version
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

from shop import look_up

settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="none", USE_TZ=True)


def item(request, id):
    # since packaging 22 there is no such class
    assert packaging.version.LegacyVersion
    return HttpResponse(look_up(id))


urlpatterns = [path("items/<int:id>", item)]
application = get_wsgi_application()
