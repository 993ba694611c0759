"""The settings under test: the real ones, from an environment that needs no server."""

import os
import tempfile

os.environ.setdefault("HEADWAY_EMBEDDED", "1")
os.environ.setdefault("SECRET_KEY", "for-tests-only-" + "x" * 50)
os.environ.setdefault("REDIS_URL", "memory://")
os.environ.setdefault("HEADWAY_DATA_DIR", tempfile.mkdtemp(prefix="headway-tests-"))

from controlplane.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# A file, so that threads and child processes meet the same locks as in real use.
DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "tests.sqlite3")}  # noqa: F405
