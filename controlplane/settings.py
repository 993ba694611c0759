"""Settings: every knob comes from the environment; a wrong value stops the start."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from controlplane.env import read

BASE_DIR = Path(__file__).resolve().parent.parent
ENV = read(os.environ)
EMBEDDED: bool = ENV["HEADWAY_EMBEDDED"]
DEBUG = False

# Secrets. The seal key may follow from SECRET_KEY only on the one-machine set-up.
SECRET_KEY: str = ENV["SECRET_KEY"]
SEAL_KEYS: dict[str, bytes] = ENV["HEADWAY_SEAL_KEY"] or {}
if not SEAL_KEYS and not EMBEDDED:
    raise ImproperlyConfigured(
        "HEADWAY_SEAL_KEY is not set; it seals stored credentials and stands outside the "
        "database. Make one with: echo k1:$(head -c 32 /dev/urandom | base64)"
    )
if not SEAL_KEYS:
    SEAL_KEYS = {"embedded": hashlib.sha256(b"headway seal " + SECRET_KEY.encode()).digest()}

# Where it runs, and what it may reach.
DATA_DIR: Path = ENV["HEADWAY_DATA_DIR"]
EGRESS: tuple[str, ...] = ENV["HEADWAY_EGRESS"]
GATEWAY_HISTORY_S: int = ENV["HEADWAY_GATEWAY_HISTORY_S"]
ALLOWED_HOSTS: list[str] = ENV["ALLOWED_HOSTS"]
ROOT_URLCONF = "controlplane.urls"
ASGI_APPLICATION = "controlplane.asgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "controlplane.audit",
    "controlplane.teams",
    "controlplane.catalogue",
    "controlplane.runs",
    "controlplane.gates",
    "controlplane.history",
    "controlplane.comparisons",
    "controlplane.experiments",
    "controlplane.gateways",
    "controlplane.rollouts",
    "controlplane.dashboard",
    "controlplane.api",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "controlplane.teams.middleware.TeamMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "controlplane.rollouts.context.approvals",
            ],
        },
    }
]

# Storage. SQLite takes its write lock when a transaction begins, so none fails half-way.
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": dj_database_url.parse(
        ENV["DATABASE_URL"] or f"sqlite:///{DATA_DIR / 'headway.sqlite3'}",
        conn_health_checks=True,
    )
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
        ),
    }
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
STATIC_URL = "/static/"
# Beside the code, as an image has it; `headway up` collects into its own data directory.
STATIC_ROOT = DATA_DIR / "static" if EMBEDDED else BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Ours alone: no page shows those of Django REST framework and django-htmx, 400 of 475 files.
STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]

# Queue and live frames.
REDIS_URL: str = ENV["REDIS_URL"]
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_DIRECT = True  # each worker has a queue of its own too: for slices of a run
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL]},
    }
}
if REDIS_URL.startswith("memory:"):
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# What `end_runs` stops: modules with stop_all() and any_live(). The watchdog's sweeps register
# themselves; see controlplane.sweeping.
SUPERVISED = [
    "controlplane.runs.services",
    "controlplane.comparisons.services",
    "controlplane.experiments.services",
]

# People.
AUTH_USER_MODEL = "teams.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
AUTH_PASSWORD_VALIDATORS[1]["OPTIONS"] = {"min_length": 10}
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

# Words.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

# Safety. Nothing inline, nothing from elsewhere; cookies for this host alone.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 14 * 24 * 3600
BEHIND_PROXY: bool = ENV["HEADWAY_BEHIND_PROXY"]
if not EMBEDDED:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SESSION_COOKIE_NAME = "__Host-headway-session"
    CSRF_COOKIE_NAME = "__Host-headway-csrf"
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$"]  # asked from inside, before any proxy
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = True
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# The demo account of `load_demo`.
DEMO_USER: str = ENV["HEADWAY_DEMO_USER"]
DEMO_PASSWORD: str | None = ENV["HEADWAY_DEMO_PASSWORD"]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["controlplane.api.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["controlplane.api.permissions.HasRight"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["controlplane.api.parsing.BodyParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "controlplane.api.problem.handle",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Headway",
    "DESCRIPTION": "The SLO control plane for LLM serving.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENV["LOG_LEVEL"].upper()},
}
