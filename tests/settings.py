"""The settings under test: the real ones, from an environment that needs no server."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("HEADWAY_EMBEDDED", "1")
os.environ.setdefault("SECRET_KEY", "for-tests-only-" + "x" * 50)
os.environ.setdefault("REDIS_URL", "memory://")
_directory = tempfile.TemporaryDirectory(prefix="headway-tests-")  # goes when the tests end
os.environ.setdefault("HEADWAY_DATA_DIR", _directory.name)
(Path(os.environ["HEADWAY_DATA_DIR"]) / "static").mkdir(exist_ok=True)

from controlplane.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# A file, so that threads and child processes meet the same locks as in real use.
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "tests.sqlite3")}  # noqa: F405
