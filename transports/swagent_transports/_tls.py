"""TLS for every transport: verified, 1.2 or newer.

Two variables of the environment count, SSL_CERT_FILE and SSL_CERT_DIR, by which OpenSSL finds the system's authorities,
and only if `tls_ca` names none. Images without authorities of their own rely on them.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from swagent.config import Config
from swagent.errors import ConfigError


def client_context(config: Config, alpn: Sequence[str] = ()) -> ssl.SSLContext:
    """A context that verifies the collector's certificate and name; there is no switch to turn that off.

    :param alpn: the application protocols to offer
    :raises ConfigError: when a PEM file of the configuration cannot be used
    """
    # create_default_context() would honour SSLKEYLOGFILE
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if config.tls_ca:
        try:
            context.load_verify_locations(cafile=config.tls_ca)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError("tls_ca", config.tls_ca, f"a PEM file of certificate authorities ({error})") from None
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if config.tls_cert:
        try:
            # an encrypted key would make OpenSSL ask on the terminal
            context.load_cert_chain(config.tls_cert, config.tls_key, password="")
        except (OSError, ssl.SSLError) as error:
            raise ConfigError("tls_cert", config.tls_cert, f"a PEM chain with its unencrypted key ({error})") from None
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context
