"""The settings of the server, as files and the command line give them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanceyard import errors
from lanceyard.server.settings import Settings


def test_what_is_said_on_the_command_line_decides(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text("[catalog]\nroot = 'a'\n[server]\nport = 1\nworkers = 2\n")
    settings = Settings.load(str(file), {"port": 3}, {"root": "b"})
    assert (settings.server.port, settings.server.workers) == (3, 2)
    assert settings.catalog == {"root": "b"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[server]\nfrob = 1", "server.frob"),
        ("[server]\nworkers = 0", "server.workers"),
        ("[server]\ncertificate = 'x'", "certificate and its key"),
        ("[security]\nkeys = [{name = 'a', sha256 = 'short'}]", "security.keys.0.sha256"),
        ("[frob]", "frob"),
    ],
)
def test_a_bad_setting_is_named(tmp_path: Path, text: str, where: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f"{text}\n[catalog]\nroot = 'a'\n")
    with pytest.raises(errors.InvalidInputError, match=re.escape(where)):
        Settings.load(str(file), {}, {})
