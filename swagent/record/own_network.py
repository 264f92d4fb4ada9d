"""Whether a peer is on the network of the application: on this machine, in a private range, or under a name that no
public name server resolves. Names are not looked up."""

from __future__ import annotations

# Names without a dot are of the network: a service of Kubernetes or of Docker, or a machine next door. The endings are
# those of RFC 6761, 6762, 8375 and of ICANN's decision about `internal`, and of Kubernetes' own names.
_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa", ".lan", ".svc", ".test")


def is_on_own_network(peer: str) -> bool:
    """Whether it is.

    :param peer: `host` or `host:port`; an address of IPv6 in brackets, if there is a port
    """
    import ipaddress  # noqa: PLC0415, RUF100  (most processes call no such service)

    host = _host(peer)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().rstrip(".")
        return bool(name) and ("." not in name or name.endswith(_ENDINGS))
    return address.is_private or address.is_loopback or address.is_link_local


def _host(peer: str) -> str:
    if peer.startswith("["):
        return peer[1:].partition("]")[0]
    return peer if peer.count(":") > 1 else peer.partition(":")[0]
