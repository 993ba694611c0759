"""Settings: every knob from the environment; a wrong value stops the start."""

SECRET_KEY = "replaced-by-the-real-settings"  # noqa: S105
USE_TZ = True
INSTALLED_APPS: list[str] = []
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
