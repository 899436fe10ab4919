"""Java: what is found, what is good enough, and what is said if it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceyard.spark.java import JavaError, check_java, find_java, java_version

BANNERS = {
    'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)': 17,
    'java version "1.8.0_392"\nJava(TM) SE Runtime Environment (build 1.8.0_392-b08)': 8,
    'java version "21.0.2" 2024-01-16 LTS': 21,
    'openjdk version "21-ea" 2023-09-19': 21,
    "openjdk 21-ea 2023-09-19": 21,
    'openjdk version "11.0.21" 2023-10-17\nIBM Semeru Runtime Open Edition': 11,
    'Picked up JAVA_TOOL_OPTIONS: -Dversion="8" -Xmx1g\nopenjdk version "17.0.9" 2023-10-17': 17,
    'NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx1g\nopenjdk version "25" 2025-09-16': 25,
}


@pytest.mark.parametrize(("text", "version"), BANNERS.items(), ids=str)
def test_the_version_is_read_whoever_built_it(text: str, version: int) -> None:
    assert java_version(text) == version


def test_a_text_without_a_version_has_none() -> None:
    assert java_version("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n") is None


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for Java; the environment knows no other."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def install(home: Path, banner: str, code: int = 0) -> str:
    """A program that answers as Java does."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n[ \"$1\" = -version ] && echo '{banner}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return str(java)


def test_a_recent_java_on_the_path_is_fine(home: Path) -> None:
    install(home, 'openjdk version "17.0.15" 2025-04-15')
    check_java()


def test_java_home_comes_before_the_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(home, 'java version "1.8.0_392"')
    newer = install(home / "newer", 'openjdk version "21.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(home / "newer"))
    assert find_java() == newer
    check_java()


def test_an_empty_java_home_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    java = install(home, 'openjdk version "17.0.15"')
    assert find_java() == java


def test_without_java_the_error_says_where_it_was_looked_for(home: Path) -> None:
    with pytest.raises(JavaError, match=r"no java on PATH: install Java 17 or newer.*JAVA_HOME"):
        check_java()


def test_a_java_home_without_java_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(home, 'openjdk version "17.0.15"')
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(JavaError, match="JAVA_HOME is '/nowhere', which has no bin/java"):
        check_java()


def test_a_java_that_is_too_old_is_named_with_its_version(home: Path) -> None:
    java = install(home, 'java version "1.8.0_392"')
    with pytest.raises(JavaError, match=f"{java} is Java 8, and Spark needs 17 or newer: install"):
        check_java()


def test_a_java_that_does_not_run_is_quoted(home: Path) -> None:
    install(home, "Unable to locate a Java Runtime.", code=1)
    with pytest.raises(JavaError, match=r"exit code 1 .*Unable to locate a Java Runtime"):
        check_java()


def test_a_java_that_is_no_program_is_named(home: Path) -> None:
    java = Path(install(home, ""))
    java.write_bytes(b"\x7fELF")
    with pytest.raises(JavaError, match=f"{java} does not run"):
        check_java()


def test_a_vendor_whose_version_cannot_be_read_gets_a_chance(home: Path) -> None:
    install(home, "Some JVM, release seventeen")
    check_java()
