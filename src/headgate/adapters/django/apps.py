"""The app for `INSTALLED_APPS`: with it, `manage.py check` tells what is wrong with settings."""

from __future__ import annotations

from django.apps import AppConfig


class HeadgateConfig(AppConfig):  # type: ignore[misc]
    """`headgate.adapters.django` as an app; it has no models."""

    name = "headgate.adapters.django"
    label = "headgate"
    verbose_name = "Headgate"

    def ready(self) -> None:
        """Have the settings checked with those of the other apps."""
        from headgate.adapters.django import checks  # noqa: F401, PLC0415 - settings are ready now
