"""A proxy for HTTPS (RFC 9110, section 9.3.6: CONNECT), and an authority that signs a server's certificate."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOGIN: Final = "ada:a-proxys-password"


@dataclass
class ConnectProxy:
    """Connects to wherever it is asked to, for those with `login`; `asked`: hosts and ports."""

    login: str | None = None
    asked: list[str] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has left
        finally:
            self.tasks.discard(task)
            await _close(writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        self.asked.append(target)
        wanted = f"Basic {base64.b64encode((self.login or '').encode()).decode()}"
        if self.login and wanted not in head:
            writer.write(b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="x"\r\n')
            writer.write(b"Content-Length: 0\r\n\r\n")
            return
        assert method == "CONNECT"
        host, _, port = target.rpartition(":")
        from_server, to_server = await asyncio.open_connection(host, int(port))
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))
        finally:
            await _close(to_server)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def serve_proxy(proxy: ConnectProxy) -> AsyncIterator[ConnectProxy]:
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    login = f"{proxy.login}@" if proxy.login else ""
    proxy.url = f"http://{login}127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        for task in (tasks := list(proxy.tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class Authority:
    """`file`: its certificate. `server`: what a server of `localhost` uses that it has signed."""

    file: Path
    server: ssl.SSLContext


def make_authority(folder: Path, *names: str) -> Authority:
    """Its server has these names besides those of this machine."""
    folder.mkdir(exist_ok=True)
    key, own = ec.generate_private_key(ec.SECP256R1()), _name(f"The authority of {folder.name}")
    signer = _certificate(own, own, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    (folder / "authority.pem").write_bytes(_pem(signer.sign(key, hashes.SHA256())))
    server_key = ec.generate_private_key(ec.SECP256R1())
    hosts = [x509.DNSName(each) for each in ("localhost", *names)]
    alternatives = x509.SubjectAlternativeName([*hosts, x509.IPAddress(IPv4Address("127.0.0.1"))])
    signed = _certificate(_name("localhost"), own, server_key).add_extension(alternatives, critical=False)
    private = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "server.pem").write_bytes(private + _pem(signed.sign(key, hashes.SHA256())))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    return Authority(folder / "authority.pem", context)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
