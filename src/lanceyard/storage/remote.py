"""A store on an object store (S3, Azure, GCS), through obstore."""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import obstore
from obstore import exceptions
from obstore.store import from_url

from lanceyard.errors import InvalidInputError
from lanceyard.storage.base import Entry, File, Stat, Store

# obstore panics when it meets these inside `config`: they belong to the HTTP client.
CLIENT_OPTIONS = {
    "allow_http": "allow_http",
    "allow_invalid_certificates": "allow_invalid_certificates",
    "aws_allow_http": "allow_http",
    "connect_timeout": "connect_timeout",
    "proxy_url": "proxy_url",
    "timeout": "timeout",
    "user_agent": "user_agent",
}
# Options that only Lance knows; obstore refuses them.
LANCE_OPTIONS = frozenset(
    {
        "client_max_retries",
        "client_retry_timeout",
        "download_retry_count",
        "expires_at_millis",
        "google_storage_token",
        "refresh_offset_millis",
    }
)
RETRY = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}


class RemoteStore(Store):
    """Objects below a prefix of a bucket."""

    def __init__(self, root: str, options: Mapping[str, str], store: Any = None) -> None:
        """Take the URI of the root; `store` replaces the obstore store that it names."""
        self._root = root.rstrip("/")
        self.options = with_plain_http(options)
        self._store = store if store is not None else open_remote(self._root, self.options)

    def location(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def relative(self, location: str) -> str | None:
        scheme, _, path = location.partition("://")
        normal = f"{scheme}://{posixpath.normpath(path)}"
        if normal == self._root:
            return ""
        return normal[len(self._root) + 1 :] if normal.startswith(self._root + "/") else None

    def put_if_absent(self, path: str, data: bytes) -> bool:
        try:
            with os_errors(path):
                obstore.put(self._store, path, data, mode="create")
        except FileExistsError:
            return False
        return True

    def copy_if_absent(self, source: str, target: str) -> bool:
        # Not every store can copy on that condition; manifests are small.
        data = self.get(source)
        if data is None:
            raise FileNotFoundError(errno.ENOENT, "is gone", source)
        return self.put_if_absent(target, data)

    def get(self, path: str) -> bytes | None:
        try:
            with os_errors(path):
                return bytes(obstore.get(self._store, path).bytes())
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        try:
            with os_errors(path):
                obstore.head(self._store, path)
        except FileNotFoundError:
            return self.has_file(path)
        return True

    def entries(self, path: str) -> Iterator[Entry]:
        prefix = path or None
        with os_errors(path):
            found = obstore.list_with_delimiter(self._store, prefix)
        for folder in found["common_prefixes"]:
            yield Entry(posixpath.basename(folder.rstrip("/")), is_directory=True)
        for item in found["objects"]:
            yield Entry(posixpath.basename(item["path"]), is_directory=False)

    def has_file(self, path: str) -> bool:
        with os_errors(path):
            return any(len(page) for page in obstore.list(self._store, path, chunk_size=1))

    def files(self, path: str) -> Iterator[File]:
        with os_errors(path):
            for page in obstore.list(self._store, path):
                for item in page:
                    yield File(item["path"], item["last_modified"].timestamp())

    def changed(self, path: str) -> float | None:
        return max((file.modified for file in self.files(path)), default=self.modified(path))

    def move(self, source: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(f"{target!r} exists")
        with os_errors(source):
            obstore.copy(self._store, source, target)
        self.delete(source)

    def move_tree(self, source: str, target: str) -> None:
        self.link_tree(source, target)
        self.delete_tree(source)

    def link_tree(self, source: str, target: str) -> None:
        present = set(self._below(target))
        for path in sorted(self._below(source), key=lambda path: "_versions/" in path):
            copy = target + path.removeprefix(source)
            if copy not in present:
                with os_errors(path):
                    obstore.copy(self._store, path, copy)

    def delete(self, path: str) -> None:
        try:
            with os_errors(path):
                obstore.delete(self._store, path)
        except FileNotFoundError:
            return

    def delete_tree(self, path: str, *, last: Sequence[str] = ()) -> None:
        kept = [f"{path}/{name}" for name in last]
        doomed = [found for found in self._below(path) if found not in kept]
        if doomed:
            with os_errors(path):
                obstore.delete(self._store, doomed)
        for found in kept:
            self.delete(found)

    def sync_tree(self, path: str) -> None:
        """Nothing to do: an object store answers a write once it is durable."""

    def stat(self, path: str) -> Stat | None:
        try:
            with os_errors(path):
                found = obstore.head(self._store, path)
        except FileNotFoundError:
            return None
        return Stat(found["size"], found["last_modified"].timestamp(), found["e_tag"])

    def _below(self, path: str) -> list[str]:
        return [file.path for file in self.files(path)]


def open_remote(root: str, options: Mapping[str, str]) -> Any:
    """Open the obstore store that a URI names, with Lance's option names."""
    client = {
        CLIENT_OPTIONS[k]: _client_value(v) for k, v in options.items() if k in CLIENT_OPTIONS
    }
    config = {
        k: v for k, v in options.items() if k not in CLIENT_OPTIONS and k not in LANCE_OPTIONS
    }
    try:
        return from_url(root, config=config, client_options=client, retry_config=RETRY)  # type: ignore[call-overload]
    except (exceptions.BaseError, ValueError) as cause:
        raise InvalidInputError(f"cannot open root {root!r}: {cause}") from cause


def with_plain_http(options: Mapping[str, str]) -> dict[str, str]:
    """Allow plain HTTP where the endpoint asks for it; Lance fails without, after retries."""
    endpoints = [v for k, v in options.items() if k.endswith(("endpoint", "endpoint_url"))]
    plain = any(endpoint.startswith("http://") for endpoint in endpoints)
    return {**({"allow_http": "true"} if plain else {}), **options}


def _client_value(text: str) -> str | bool:
    return {"true": True, "false": False}.get(text.lower(), text)


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Raise what obstore raises as the `OSError` a local file system would raise."""
    try:
        yield
    except exceptions.NotFoundError as cause:
        raise FileNotFoundError(errno.ENOENT, str(cause), path) from cause
    except (exceptions.AlreadyExistsError, exceptions.PreconditionError) as cause:
        raise FileExistsError(errno.EEXIST, str(cause), path) from cause
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as cause:
        raise PermissionError(errno.EACCES, str(cause), path) from cause
    except exceptions.BaseError as cause:
        raise OSError(errno.EIO, str(cause), path) from cause
