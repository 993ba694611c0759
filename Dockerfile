# Headway's server: pages and API (the default), worker, watchdog and simulated engine, by command.
FROM python:3.11-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir uv==0.13.9
WORKDIR /app
COPY requirements/server.txt requirements/server.txt
# Whoever runs it may not write here: what is not compiled now is compiled at every start.
RUN /venv/bin/uv pip install --compile-bytecode --python /venv/bin/python --require-hashes -r requirements/server.txt

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=controlplane.settings
RUN useradd --create-home --uid 10001 headway && install -d -o headway /var/lib/headway
COPY --from=build /venv /venv
WORKDIR /app
COPY . .
# Static files are hashed and compressed at build time; no secret is needed or kept for it.
RUN SECRET_KEY=only-to-collect-static-files-never-to-sign-anything-at-all ALLOWED_HOSTS=localhost \
    HEADWAY_SEAL_KEY=none:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= HEADWAY_DATA_DIR=/tmp/none \
    python manage.py collectstatic --no-input
USER 10001
ENV HEADWAY_DATA_DIR=/var/lib/headway
VOLUME /var/lib/headway
EXPOSE 8000
# Only the code reads forwarded addresses, and only with HEADWAY_BEHIND_PROXY=1.
CMD ["uvicorn", "controlplane.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-access-log", "--no-proxy-headers"]
