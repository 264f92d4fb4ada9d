"""The routes of the Django application."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path


def item(request: HttpRequest, number: int) -> HttpResponse:
    return HttpResponse(f"item {number}")


def fail(request: HttpRequest) -> HttpResponse:
    raise LookupError("no such lamp")


urlpatterns = [path("items/<int:number>", item), path("v1/items/<int:number>", item), path("fails", fail)]
