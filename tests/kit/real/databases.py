"""A real PostgreSQL and a real MariaDB on loopback. Whoever connects may do all; what they keep goes with them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from kit.real.jars import UnavailableError
from kit.real.ports import HOST, free_ports
from kit.real.server import Server, ServerError

_MAKE_SECONDS = 120


class Database(Server):
    """A server that makes its data's folder first. It will not run as root, who lends it another user's name."""

    program: ClassVar[str]
    package: ClassVar[str]
    maker: ClassVar[str]
    user: ClassVar[str]
    database = "shop"

    def __init__(self) -> None:
        self._program, self._maker = (_find(name, self.package) for name in (self.program, self.maker))
        owner = _owner(self.user, self.package) if os.geteuid() == 0 else None
        super().__init__(free_ports(1))
        self._data = self.home / "data"
        self._as_user: tuple[str, ...] = ()
        if owner is not None:
            self._as_user = ("setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups", "--")
            os.chown(self.home, owner.pw_uid, owner.pw_gid)

    @property
    def port(self) -> int:
        return self.ports[0]

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def restart_empty(self) -> None:
        """Start it anew, with nothing in it."""
        self.stop()
        shutil.rmtree(self._data, ignore_errors=True)
        self.start()

    @abstractmethod
    def arguments(self) -> list[str]:
        """The arguments after the program's name."""

    @abstractmethod
    def make_data(self) -> None:
        """Make the folder, and in it an empty database."""

    def launch(self) -> subprocess.Popen[bytes]:
        if not self._data.exists():
            self.make_data()
        with self.log.open("ab") as log:
            command = [*self._as_user, self._program, *self.arguments()]
            return subprocess.Popen(command, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _run(self, program: str, *arguments: str, seen: str = "") -> None:
        command = [*self._as_user, program, *arguments]
        with self.log.open("ab") as log:
            done = subprocess.run(
                command, input=seen.encode(), cwd=self.home, stdout=log, stderr=log, timeout=_MAKE_SECONDS, check=False
            )
        if done.returncode != 0:
            raise ServerError(f"{program} failed:\n{self.log.read_text(errors='replace')}")


class Postgres(Database):
    """Its one user is `shop`, without a password."""

    name, program, package, user = "postgresql", "postgres", "postgresql", "postgres"
    maker = "initdb"
    ready_line = "ready to accept connections"

    def __init__(self, **settings: int) -> None:
        """:param settings: of its configuration, beside ours"""
        super().__init__()
        self._settings = settings

    @property
    def url(self) -> str:
        return f"postgresql://{self.database}@{self.address}/{self.database}"

    @property
    def jdbc(self) -> str:
        """Its address for Java, after `jdbc:`. The user is given apart."""
        return f"postgresql://{self.address}/{self.database}"

    def arguments(self) -> list[str]:
        settings = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=50"]
        settings += [f"{name}={value}" for name, value in self._settings.items()]
        where = ["-D", str(self._data), "-h", HOST, "-p", str(self.port), "-k", str(self.home)]
        return [*where, *(part for setting in settings for part in ("-c", setting))]

    def make_data(self) -> None:
        data = ("-D", str(self._data))
        # no locale of the machine's, which may have none
        self._run(self._maker, *data, "-U", self.database, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self._run(self._program, "--single", *data, "postgres", seen=f"CREATE DATABASE {self.database}\n")

    def stop(self) -> None:
        if self._process is not None:
            # else it would wait until every client has gone
            self._process.send_signal(signal.SIGINT)
        super().stop()


class Mariadb(Database):
    """It asks for no password."""

    name, program, package, user = "mariadb", "mariadbd", "mariadb-server", "mysql"
    maker = "mariadb-install-db"
    ready_line = "ready for connections"

    def arguments(self) -> list[str]:
        here = {
            "datadir": self._data, "port": self.port, "bind-address": HOST, "socket": self.home / "socket",
            "pid-file": self.home / "pid", "init-file": self.home / "init.sql", "innodb-flush-log-at-trx-commit": 0,
            "innodb-buffer-pool-size": "32M",
        }  # fmt: skip
        return ["--no-defaults", "--skip-grant-tables", "--skip-networking=0",
                *(f"--{name}={value}" for name, value in here.items())]  # fmt: skip

    def make_data(self) -> None:
        (self.home / "init.sql").write_text(f"CREATE DATABASE IF NOT EXISTS {self.database};\n")
        arguments = ("--no-defaults", f"--datadir={self._data}", "--skip-test-db")
        self._run(self._maker, *arguments, "--auth-root-authentication-method=normal")


def _find(name: str, package: str) -> str:
    """Where it is: Debian keeps PostgreSQL's programs in a folder for each version."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders = [os.environ.get("PATH", os.defpath), "/usr/sbin", *map(str, versions)]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        raise UnavailableError(f"no {name}: install {package}")
    return found


def _owner(user: str, package: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise UnavailableError(f"no user {user}: install {package}") from None
