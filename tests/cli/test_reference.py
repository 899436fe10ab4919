"""The page on the command line is what the commands say."""

from __future__ import annotations

import re

import pytest

from lanceyard.cli.exits import BY_CODE, Exit
from lanceyard.errors import ErrorCode
from tests.cli.cases import commands
from tests.cli.reference import PAGE, page


def test_the_page_is_up_to_date() -> None:
    assert page() == PAGE.read_text(), "make reference writes it"


@pytest.mark.parametrize("command", [*commands()])
def test_every_command_has_a_section(command: str) -> None:
    assert re.search(rf"^### {command}$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_every_code_of_an_error_has_an_exit_code(code: ErrorCode) -> None:
    assert BY_CODE[int(code)] is not Exit.DONE
