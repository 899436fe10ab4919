"""The server as a process: how it starts, ends, is killed, and shares work with others."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
import urllib3

import lanceyard
from lanceyard import errors
from tests.certificates import certificate_for_localhost
from tests.conformance.kit import stream

WRITERS = 8


@contextlib.contextmanager
def serving(*arguments: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve in a process of its own, and tell where."""
    command = [sys.executable, "-m", "lanceyard", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def refusal(*arguments: object) -> str:
    """What the command says when it does not serve."""
    command = [sys.executable, "-m", "lanceyard", "serve", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    return done.stderr


def create_until_it_fails(address: str, writer: int) -> tuple[list[str], Exception]:
    """Create namespaces one after the other; tell which were acknowledged, and the failure."""
    client = lanceyard.RestNamespace(uri=address, retries="0")
    done: list[str] = []
    while True:
        name = f"{writer}-{len(done)}"
        try:
            client.create_namespace({"id": [name]})
        except errors.LanceNamespaceError as failure:
            return done, failure
        done.append(name)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_is_told_to_stop_cuts_no_request(tmp_path: Path, workers: int) -> None:
    with (
        serving(tmp_path, "--workers", workers) as (address, process),
        ThreadPoolExecutor(WRITERS) as pool,
    ):
        tasks = [pool.submit(create_until_it_fails, address, each) for each in range(WRITERS)]
        time.sleep(1)
        process.terminate()
        ends = [task.result(timeout=30) for task in tasks]
        assert process.wait(timeout=30) in (0, -signal.SIGTERM)
    acknowledged = {name for done, _ in ends for name in done}
    assert len(acknowledged) > WRITERS
    assert {*lanceyard.open(tmp_path).namespaces()} == acknowledged
    for _, failure in ends:
        assert "refused" in str(failure), failure


def test_a_stream_that_is_coming_is_waited_for(tmp_path: Path) -> None:
    body = stream(pa.table({"n": range(500_000)}))

    with serving(tmp_path) as (address, process):

        def slowly() -> Iterator[bytes]:
            yield body[: len(body) // 2]
            time.sleep(0.5)
            process.terminate()
            time.sleep(1.5)
            yield body[len(body) // 2 :]

        lanceyard.RestNamespace(uri=address).create_table({"id": ["t"]}, slowly())
    assert lanceyard.open(tmp_path).table("t").count() == 500_000


def test_an_idle_client_of_tls_does_not_keep_a_server_from_ending(tmp_path: Path) -> None:
    certificate = certificate_for_localhost(tmp_path)
    file = tmp_path / "server.toml"
    file.write_text(
        f"[catalog]\nroot = '{tmp_path}/catalog'\n"
        f"[server]\ndrain = 600\ncertificate = '{certificate}'\nkey = '{certificate}'\n"
    )
    with serving(file) as (address, process):
        port = address.rpartition(":")[2]
        pool = urllib3.PoolManager(ca_certs=str(certificate), retries=False)
        assert pool.request("GET", f"https://localhost:{port}/v1/namespace/$/list").status == 200
        process.terminate()
        assert process.wait(timeout=20) in (0, -signal.SIGTERM)


def test_a_stream_that_stalls_does_not_keep_a_server_from_ending(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f"[catalog]\nroot = '{tmp_path}/catalog'\n[server]\ndrain = 1\n")
    with serving(file) as (address, process):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            head = "POST /v1/table/t/create HTTP/1.1\r\nhost: x\r\ncontent-length: 9000000\r\n\r\n"
            connection.sendall(head.encode() + b"\xff\xff\xff\xff" * 500_000)
            time.sleep(1)
            process.terminate()
            process.wait(timeout=30)
            assert b'"code"' in connection.recv(65536)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_is_killed_loses_nothing_acknowledged(tmp_path: Path, workers: int) -> None:
    with (
        serving(tmp_path, "--workers", workers) as (address, process),
        ThreadPoolExecutor(WRITERS) as pool,
    ):
        tasks = [pool.submit(create_until_it_fails, address, each) for each in range(WRITERS)]
        time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        ends = [task.result(timeout=30) for task in tasks]
    acknowledged = {name for done, _ in ends for name in done}
    assert len(acknowledged) > WRITERS
    assert {*lanceyard.open(tmp_path).namespaces()} >= acknowledged


def test_several_processes_answer_as_one(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", 2) as (address, _):
        pool = urllib3.PoolManager(retries=False, maxsize=20)

        def create(number: int) -> int:
            url = f"{address}/v1/namespace/n{number % 10}/create"
            headers = {"idempotency-key": f"k{number % 10}", "connection": "close"}
            return pool.request("POST", url, body=b"{}", headers=headers).status

        with ThreadPoolExecutor(4) as threads:
            statuses = list(threads.map(create, range(40)))
        assert {*statuses} <= {200, 409}
        assert statuses.count(200) >= 10
        deadline = time.monotonic() + 10
        while created(pool, address) < 40:  # each tells the others what it counts now and then
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert created(pool, address) == 40


def created(pool: urllib3.PoolManager, address: str) -> float:
    """How often a server was asked for a namespace, by its own account."""
    lines = pool.request("GET", f"{address}/metrics").data.decode().splitlines()
    name = 'lanceyard_requests_total{operation="CreateNamespace"'
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", 2) as (address, process):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        lanceyard.RestNamespace(uri=address).create_namespace({"id": ["n"]})
        for child in children[-2:]:
            os.kill(int(child), signal.SIGKILL)
        client = lanceyard.RestNamespace(uri=address, timeout="20", retries="10")
        assert client.list_namespaces({"id": []}).namespaces == ["n"]


def test_a_public_address_needs_security_or_a_word(tmp_path: Path) -> None:
    assert "anyone who reaches 0.0.0.0 could change" in refusal(tmp_path, "--host", "0.0.0.0")
    with serving(tmp_path, "--host", "0.0.0.0", "--allow-anyone") as (address, _):
        assert address.startswith("http://0.0.0.0:")


def test_what_is_wrong_with_the_settings_is_told(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[catalog]\nroot = 'x'\n[server]\nport = 'high'\n")
    assert "server.port" in refusal(file)
    file.write_text("[catalog\n")
    assert "cannot be read" in refusal(file)
    assert "unknown property 'frob'" in refusal(tmp_path, "--property", "frob=1")


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with serving(tmp_path) as (address, _):
        port = address.rsplit(":", 1)[-1]
        assert f"cannot listen at 127.0.0.1:{port}" in refusal(tmp_path, "--port", port)


def test_a_server_serves_another_server(tmp_path: Path) -> None:
    with serving(tmp_path) as (first, _), serving(first) as (second, _):
        lanceyard.RestNamespace(uri=second).create_namespace({"id": ["n"]})
        assert lanceyard.RestNamespace(uri=first).list_namespaces({"id": []}).namespaces == ["n"]


def test_a_server_writes_its_log_as_long_as_it_answers(tmp_path: Path) -> None:
    catalog, log = tmp_path / "catalog", tmp_path / "log"
    lanceyard.open(catalog).create_namespace("a")
    with serving(catalog, "--access-log", log) as (address, _):
        statuses = [urllib3.request("GET", f"{address}/healthz").status for _ in range(3)]
        assert statuses == [200] * 3
        assert len(log.read_text().splitlines()) >= 2  # the last may be on its way
