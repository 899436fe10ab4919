"""A Kerberos of its own: MIT's KDC on loopback, with one server and one user."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.background import free_ports

REALM = "LANCEYARD.TEST"
SERVER = f"hive/localhost@{REALM}"
USER = f"ann@{REALM}"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
PATIENCE = 30.0


def is_installed() -> bool:
    """Whether this machine has what it takes."""
    return all(shutil.which(program, path=PATH) for program in PROGRAMS)


@dataclass(frozen=True)
class Kdc:
    """A KDC that runs, and what clients of it need."""

    config: Path
    keytab: Path
    """With the key of the server."""
    ticket: Path
    """That of the user."""


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Kdc]:
    """A KDC for the realm, whose user has a ticket."""
    [port] = free_ports(1)
    kdc = Kdc(folder / "krb5.conf", folder / "server.keytab", folder / "ticket")
    kdc.config.write_text(
        f"[libdefaults]\ndefault_realm = {REALM}\ndns_lookup_kdc = false\nrdns = false\n"
        "dns_canonicalize_hostname = false\nudp_preference_limit = 1\n"
        f"[realms]\n{REALM} = {{\n kdc = 127.0.0.1:{port}\n}}\n"
    )
    (folder / "kdc.conf").write_text(
        f"[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n"
        f"[realms]\n{REALM} = {{\n database_name = {folder}/principal\n"
        f" key_stash_file = {folder}/stash\n}}\n"
    )
    environment = {
        **os.environ,
        "PATH": PATH,
        "KRB5_CONFIG": str(kdc.config),
        "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        "KRB5CCNAME": f"FILE:{kdc.ticket}",
    }

    def run(*command: str) -> None:
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=PATIENCE)

    run("kdb5_util", "create", "-s", "-P", "secret", "-r", REALM)
    for principal, keytab in ((SERVER, kdc.keytab), (USER, folder / "user.keytab")):
        run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
        run("kadmin.local", "-r", REALM, "ktadd", "-k", str(keytab), principal)
    process = subprocess.Popen(["krb5kdc", "-n", "-r", REALM], env=environment)
    try:
        wait_for(port)
        run("kinit", "-k", "-t", str(folder / "user.keytab"), USER)
        yield kdc
    finally:
        process.kill()
        process.wait()


def wait_for(port: int) -> None:
    """Wait until something listens."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    raise TimeoutError(f"the KDC did not start in {PATIENCE:g} s")
