"""Ceph: its object gateway, before a cluster of one that keeps everything in memory."""

from __future__ import annotations

import subprocess
import uuid
from datetime import timedelta
from pathlib import Path

import obstore

from tests.background import PATIENCE, free_ports
from tests.cloud.servers.program import Program, installed
from tests.cloud.servers.s3 import S3Server
from tests.rest.vending.seaweed import KEY, SECRET

# Nobody but us talks to the cluster, which has one copy of everything and decides at once.
CONFIGURATION = """
[global]
fsid = {cluster}
mon_host = v2:127.0.0.1:{port}
public_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
run_dir = {folder}
crash_dir = {folder}
log_file = {folder}/$name.log
pid_file =
admin_socket =
mon_data = {folder}/mon
mon_allow_pool_size_one = true
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
osd_data = {folder}/osd
osd_objectstore = memstore
memstore_device_bytes = 4294967296
osd_crush_chooseleaf_type = 0
osd_pool_default_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pg_autoscale_mode = off
rgw_data = {folder}/rgw
"""


class CephServer(S3Server):
    """A running gateway (`radosgw`), a monitor and a store of objects."""

    def __init__(self, folder: Path) -> None:
        """Start them, and make the user and the bucket."""
        self._folder = folder
        self._cluster: list[subprocess.Popen[bytes]] = []
        try:
            self._start_cluster()
            gateway = self._running = self._start_gateway()
        except BaseException:
            self._stop_cluster()
            raise
        self.address = gateway.address
        address = obstore.sign(self.objects(), "PUT", "", timedelta(minutes=1))
        assert gateway.ask("PUT", address.removeprefix(self.address)) == 200

    def stop(self) -> None:
        super().stop()
        self._stop_cluster()

    def _start_cluster(self) -> None:
        for name in ("mon", "osd", "rgw"):
            (self._folder / name).mkdir()
        cluster, member = str(uuid.uuid4()), str(uuid.uuid4())
        [port] = free_ports(1)
        (self._folder / "ceph.conf").write_text(
            CONFIGURATION.format(folder=self._folder, cluster=cluster, port=port)
        )
        address = f"[v2:127.0.0.1:{port}]"
        self._run("monmaptool", "--create", "--fsid", cluster, "--addv", "a", address, "monmap")
        self._run("ceph-mon", "-i", "a", "--mkfs", "--monmap", "monmap")
        self._start("ceph-mon", "-i", "a", "-f")
        self._run("ceph", "osd", "new", member)
        self._run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", member)
        self._start("ceph-osd", "-i", "0", "-f")

    def _start_gateway(self) -> Program:
        keys = (f"--access-key={KEY}", f"--secret-key={SECRET}")
        self._run("radosgw-admin", "user", "create", "--uid=server", "--display-name=server", *keys)
        listening = "beast endpoint=127.0.0.1:{port} tcp_nodelay=1"
        words = ("-c", "ceph.conf", "-n", "client.rgw", "-f", f"--rgw-frontends={listening}")
        return Program(self._folder, "radosgw", *words)

    def _run(self, name: str, *words: str) -> None:
        """Run one of its commands to the end."""
        done = subprocess.run(
            [installed(name), "-c", "ceph.conf", *words],
            cwd=self._folder,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{name} fails: {done.stderr.decode()[-2000:]}"

    def _start(self, name: str, *words: str) -> None:
        """Start one of its servers; it writes its log into the folder itself."""
        self._cluster.append(
            subprocess.Popen(
                [installed(name), "-c", "ceph.conf", *words],
                cwd=self._folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def _stop_cluster(self) -> None:
        for process in self._cluster:
            process.kill()
            process.wait()
