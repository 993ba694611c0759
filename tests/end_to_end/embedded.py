"""`headway up` as its users start it: a process, an address, a sign-in, and what it leaves."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
OURS = ("HEADWAY_", "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DJANGO_")


def command(*args: str, output: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
    """A `headway` subcommand in a session of its own, with a newcomer's environment."""
    told = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
    return subprocess.Popen(
        [sys.executable, "-m", "headway", *args],
        cwd=ROOT,
        env=told,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def descendants(pid: int) -> set[int]:
    """Every living process under ``pid``."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if rest[0] != "Z":
            parents[int(stat.parent.name)] = int(rest[1])
    found, wave = set(), {pid}
    while wave:
        wave = {child for child, parent in parents.items() if parent in wave}
        found |= wave
    return found


def gone(pids: set[int], *, within: float) -> bool:
    """Whether all of them have ended by the deadline."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not any(_alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(what: Any, *, within: float, why: str) -> Any:
    """The first true answer of ``what``; AssertionError with ``why`` at the deadline."""
    deadline = time.monotonic() + within
    while not (answer := what()):
        assert time.monotonic() < deadline, f"waited {within:g} s in vain for {why}"
        time.sleep(0.1)
    return answer


@dataclass
class Embedded:
    """A running `headway up`."""

    data_dir: Path
    port: int
    options: tuple[str, ...] = ()
    process: subprocess.Popen[str] = field(init=False)
    said: str = field(init=False, default="")

    def start(self, *, within: float = 120.0) -> Embedded:
        """Up to its welcome; AssertionError with what it said instead."""
        heard = self.data_dir.with_suffix(".said")
        told = ("--port", str(self.port), "--data-dir", str(self.data_dir), *self.options)
        with heard.open("w") as output:
            self.process = command("up", *told, output=output)
        try:
            wait_for(
                lambda: "Ctrl-C ends it" in heard.read_text() or self.process.poll() is not None,
                within=within,
                why="the welcome",
            )
            self.said = heard.read_text()
            assert self.process.poll() is None, self.said
        except BaseException:
            self.end(signal.SIGKILL)
            raise
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def password(self) -> str:
        return re.search(r"sign in +admin / (\S+)", self.said)[1]

    @property
    def seconds(self) -> float:
        """How long it says its start took."""
        return float(re.search(r"up, ([\d.]+) s after", self.said)[1])

    def end(self, number: int = signal.SIGTERM, *, within: float = 30.0) -> int:
        """Send the signal; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(timeout=within)
        finally:
            self.process.kill()
            self.process.wait()
        return code

    def rows(self, query: str, *args: Any) -> list[tuple[Any, ...]]:
        """What its database says, read from outside."""
        base = sqlite3.connect(f"file:{self.data_dir / 'headway.sqlite3'}?mode=ro", uri=True)
        try:
            return base.execute(query, args).fetchall()
        finally:
            base.close()


class Visitor:
    """A person's browser without scripts, or a program with a token."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self._jar)
        )
        self.token = ""

    def get(self, path: str) -> str:
        with self._opener.open(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def post(self, path: str, *, page: str = "", **fields: str | list[str]) -> str:
        """Send a form as its page does, with the page's own CSRF token."""
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(page or path))
        assert found, f"{page or path} has no form"
        body = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": found[1]}, doseq=True)
        referer = {"Referer": self.url + path}
        request = urllib.request.Request(self.url + path, body.encode(), referer)
        try:
            with self._opener.open(request, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            faults = re.findall(r'class="err">(.*?)</p>', error.read().decode(), re.DOTALL)
            told = [re.sub(r"<[^>]+>", "", fault) for fault in faults]
            raise AssertionError(f"{path}: {error.code} {told}") from None

    def sign_in(self, password: str, *, name: str = "admin") -> Visitor:
        page = self.post("/sign-in/", username=name, password=password)
        assert "Sign out" in page or "sign-out" in page, "the sign-in was refused"
        return self

    def make_token(self) -> Visitor:
        name = f"test {uuid.uuid4().hex[:6]}"
        page = self.post("/team/tokens/", name=name, scopes=self._scopes(), days="30")
        self.token = re.search(r"hw_[\w-]{20,}", page)[0]
        return self

    def _scopes(self) -> list[str]:
        return re.findall(r'name="scopes"[^>]*value="([^"]+)"', self.get("/team/tokens/"))

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """One call of the REST API; the parsed answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": uuid.uuid4().hex}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, headers, method=method)
        try:
            with self._opener.open(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def finished(self, run_id: str, *, within: float) -> Any:
        """The run once it has ended."""
        deadline = time.monotonic() + within
        while True:
            run = self.api("GET", f"/runs/{run_id}?wait=10")
            if run["exit_code"] is not None or run["ended_at"]:
                return run
            assert time.monotonic() < deadline, f"run {run_id} is still {run['status']}"
