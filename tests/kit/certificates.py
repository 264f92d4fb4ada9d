"""Certificates for a test: an authority, and servers and clients that it vouches for."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from pathlib import Path

import trustme


class Certificates:
    """One authority of its own; its PEM file is `ca`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = trustme.CA()
        self.ca = str(folder / "ca.pem")
        self.authority.cert_pem.write_to_path(self.ca)

    def server(self, *names: str, expired: bool = False, asks_client: bool = False) -> ssl.SSLContext:
        """The context of a server with a certificate for the names."""
        yesterday = datetime.now(timezone.utc) - timedelta(days=1)
        issued = self.authority.issue_cert(*names, not_after=yesterday if expired else None)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2"])
        issued.configure_cert(context)
        if asks_client:
            self.authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self, name: str = "agent@example.org") -> tuple[str, str]:
        """The PEM files of a client's chain and of its key."""
        issued = self.authority.issue_cert(name)
        chain, key = self._folder / "client.pem", self._folder / "client.key"
        chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(str(key))
        return str(chain), str(key)
