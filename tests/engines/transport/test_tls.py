"""TLS: a certificate that is trusted, one that is not, and a port that speaks none."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from engines.answer import Answer
from engines.egress import EgressRules
from engines.request import Timeouts
from engines.transport.aiohttp_stream import AiohttpTransport
from engines.transport.httptools_stream import HttptoolsTransport
from measurement.outcome import Outcome
from tests.engines.conftest import QUICK, Ask
from tests.engines.raw_server import Asked, RawServer, Wire, replying, stream
from tests.engines.sayings import HELLO

Kind = type[HttptoolsTransport] | type[AiohttpTransport]
GOOD = stream(HELLO)


def certificate(folder: Path, address: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "cert.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture(params=[HttptoolsTransport, AiohttpTransport])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Both clients that speak TLS."""
    made: Kind = request.param
    return made


async def asked(
    kind: Kind, server: RawServer, trusted: Path | None, timeouts: Timeouts = QUICK
) -> Answer:
    context = ssl.create_default_context(cafile=trusted)
    transport = kind(EgressRules.loopback(), ssl_context=context)
    try:
        return await Ask(transport)(server.url.replace("http:", "https:"), timeouts)
    finally:
        await transport.close()


def serving(path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def test_a_trusted_certificate(kind: Kind, tmp_path: Path) -> None:
    path = certificate(tmp_path, "127.0.0.1")
    async with RawServer(replying(GOOD), tls=serving(path)) as server:
        answer = await asked(kind, server, path)
    assert (answer.outcome, answer.chunks) == (Outcome.OK, 2)


async def test_a_certificate_that_nobody_trusts(kind: Kind, tmp_path: Path) -> None:
    path = certificate(tmp_path, "127.0.0.1")
    async with RawServer(replying(GOOD), tls=serving(path)) as server:
        answer = await asked(kind, server, None)
    assert answer.outcome is Outcome.TLS
    assert "certificate verify failed" in answer.error


async def test_a_certificate_of_another_host(kind: Kind, tmp_path: Path) -> None:
    path = certificate(tmp_path, "127.0.0.2")
    async with RawServer(replying(GOOD), tls=serving(path)) as server:
        assert (await asked(kind, server, path)).outcome is Outcome.TLS


async def test_a_port_that_speaks_no_tls(kind: Kind) -> None:
    async def script(_: Asked, wire: Wire) -> None:
        await wire.send(GOOD)

    async with RawServer(script) as server:
        answer = await asked(kind, server, None, Timeouts(connect=1.0))
    assert answer.outcome in (Outcome.TLS, Outcome.TIMEOUT_CONNECT)


@pytest.mark.parametrize("pieces", [5, 100])
async def test_a_stream_in_many_records(kind: Kind, tmp_path: Path, pieces: int) -> None:
    path = certificate(tmp_path, "127.0.0.1")
    cut = [GOOD[at : at + pieces] for at in range(0, len(GOOD), pieces)]
    async with RawServer(replying(*cut), tls=serving(path)) as server:
        assert (await asked(kind, server, path)).chunks == 2
