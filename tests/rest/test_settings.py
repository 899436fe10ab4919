"""The settings of the server are what its documentation says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lanceyard import errors
from lanceyard.server.security.keys import new_key
from lanceyard.server.settings import ServerSettings, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text()


@pytest.mark.parametrize("name", sorted(ServerSettings.model_fields))
def test_the_documentation_names_every_setting(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_the_example_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "server.toml"
    file.write_text(example.replace('"…"', f'"{new_key()[1]}"'))
    settings = Settings.load(str(file), {}, {})
    assert settings.server.workers == 4
    assert settings.security.is_on
    assert settings.catalog["root"] == "/data/catalog"


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
