"""The routes of the Django application."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path


def item(request: HttpRequest, number: int) -> HttpResponse:
    return HttpResponse(f"item {number}")


urlpatterns = [path("items/<int:number>", item), path("v1/items/<int:number>", item)]
