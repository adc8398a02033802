"""Sends botocore's requests for credentials through the same proxy, with the same authorities, as all others."""

import hashlib
import os
import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from activities.model.endpoint import EXTRA_AUTHORITIES, Route
from activities.model.optional_packages import import_extra
from activities.model.provider_files import ProviderFile

EXTRA: Final = "bedrock"
_FILE: Final = "SSL_CERT_FILE"
_FOLDER: Final = "SSL_CERT_DIR"
_HASHED: Final = "*.[0-9]"  # OpenSSL's names of files in such a folder


class AwsRoutes:
    """botocore takes only one file of authorities, so all that apply are joined into one.

    Those of AWS's own settings (AWS_CA_BUNDLE, `ca_bundle`) are among them.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._folder: Path | None = None

    def take(self, session: Any, route: Route) -> tuple[Path, ...]:
        """Route a session's requests; returns the files that this depends on. Raises UsageError for unusable ones."""
        if route.proxy is not None:
            proxies = dict.fromkeys(("http", "https"), route.proxy.get_secret_value())
            config = import_extra(EXTRA, "botocore.config").Config(proxies=proxies)
            session.set_default_client_config(config)
        own = session.get_config_variable("ca_bundle") or self._environment.get("REQUESTS_CA_BUNDLE")
        files = tuple(self._files(route, own))
        if not files:
            return ()
        from activities.model.wires.http_client import trusted_authorities  # start-up time of commands: httpx

        trusted_authorities(route.anonymous, self._environment)
        joined = self._join(files)
        session.set_config_variable("ca_bundle", str(joined))
        return (*(Path(each.path) for each in files), joined)

    def _files(self, route: Route, own: str | None) -> Iterator[ProviderFile]:
        """None if only the authorities of botocore or AWS count."""
        file, folder, extra = map(self._environment.get, (_FILE, _FOLDER, EXTRA_AUTHORITIES))
        if not (file or folder or extra or route.ca_file):
            return
        if folder and not file:
            yield from (ProviderFile(path=str(each)) for each in sorted(Path(folder).glob(_HASHED)))
        else:
            yield ProviderFile(path=file or import_extra(EXTRA, "botocore.httpsession").get_cert_path(True))
        yield from (ProviderFile(path=each) for each in (extra, own) if each and os.access(each, os.R_OK))
        if route.ca_file:
            yield route.ca_file

    def _join(self, files: tuple[ProviderFile, ...]) -> Path:
        content = b"\n".join(file.read() for file in files)
        if self._folder is None or not self._folder.exists():
            self._folder = Path(mkdtemp(prefix="holdfast-authorities-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        joined = self._folder / f"{hashlib.sha256(content).hexdigest()}.pem"
        if not joined.exists():
            written = joined.with_suffix(f".{threading.get_ident()}")
            written.write_bytes(content)
            written.replace(joined)
        return joined
