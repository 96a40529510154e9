"""Where keys come from, who may read them, and that they show themselves nowhere."""

from __future__ import annotations

import stat
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import NoKeyringError, PasswordDeleteError

from treadle.graph.errors import InvalidData, InvalidInput, PermissionDenied, StorageFailed
from treadle.storage.secrets import FILE, EnvironmentSecrets, FileSecrets, KeyringSecrets, SecretChain, secrets_below

KEY = "sk-canary-7f3a9"


@pytest.fixture
def file(tmp_path: Path) -> FileSecrets:
    return FileSecrets(tmp_path / FILE)


class MemoryKeyring(KeyringBackend):
    """A keyring of the system's kind, in memory."""

    priority = 1.0  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.held.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class BrokenKeyring(MemoryKeyring):
    """A keyring whose words quote what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise NoKeyringError(f"no backend for {KEY}")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NoKeyringError(f"no backend for {password}")


@pytest.fixture
def system() -> Iterator[MemoryKeyring]:
    before, made = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_the_environment_answers_by_the_name_that_a_reference_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOM_KEY", KEY)

    assert EnvironmentSecrets().get("env:LOOM_KEY") == KEY
    assert EnvironmentSecrets().get("LOOM_KEY") is None
    assert EnvironmentSecrets().get("env:NOT_SET_AT_ALL") is None


def test_a_file_gives_back_what_it_was_given(file: FileSecrets) -> None:
    file.set("work", KEY)
    file.set("home", "é\nfull of lines")

    assert (file.get("work"), file.get("home"), file.get("none")) == (KEY, "é\nfull of lines", None)
    assert file.names() == ["home", "work"]
    assert (file.remove("work"), file.remove("work")) == (True, False)
    assert file.names() == ["home"]


def test_a_file_that_is_not_there_holds_nothing_and_is_not_made_by_reading(file: FileSecrets) -> None:
    assert (file.get("work"), file.names()) == (None, [])
    assert not file.path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_file_is_for_its_owner_alone_from_the_first_byte(file: FileSecrets) -> None:
    file.set("work", KEY)

    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [path.name for path in file.path.parent.iterdir() if KEY.encode() in path.read_bytes()] == ["secrets.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_file_that_others_may_open_is_refused_with_the_remedy(file: FileSecrets, mode: int) -> None:
    file.set("work", KEY)
    file.path.chmod(mode)

    for use in (lambda: file.get("work"), file.names, lambda: file.set("home", "x"), lambda: file.remove("work")):
        with pytest.raises(PermissionDenied, match="chmod 600") as refused:
            use()
        assert refused.value.error_code == "secret.file_not_private"
    assert stat.S_IMODE(file.path.stat().st_mode) == mode


@pytest.mark.parametrize(
    "text",
    [f"{{{KEY}", "[]", "{}", f'{{"kind":"tauritavern.secrets","secrets":{{"work":["{KEY}"]}}}}', f'"{KEY}"', "\xff"],
)
def test_a_file_that_is_none_of_secrets_is_refused_and_not_quoted(file: FileSecrets, text: str) -> None:
    file.set("work", KEY)
    file.path.write_text(text, "latin-1")

    with pytest.raises(InvalidData, match="not a file of secrets") as refused:
        file.get("work")
    assert KEY not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("name", ["", " ", "a\nb", "env:X", "keyring:x", "x" * 201])
def test_a_name_that_no_reference_can_have_is_refused(file: FileSecrets, name: str) -> None:
    with pytest.raises(InvalidInput, match="a secret's name must be") as refused:
        file.set(name, KEY)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("value", ["", " \n"])
def test_an_empty_secret_is_refused(file: FileSecrets, value: str) -> None:
    with pytest.raises(InvalidInput, match="the secret is empty"):
        file.set("work", value)


def test_a_disk_that_refuses_is_told_without_the_secret(file: FileSecrets) -> None:
    file.path.mkdir(parents=True)

    with pytest.raises(StorageFailed) as refused:
        file.set("work", KEY)
    assert KEY not in "".join(traceback.format_exception(refused.value))


def test_the_keyring_answers_for_its_own_references_only(system: MemoryKeyring) -> None:
    store = KeyringSecrets()
    store.set("work", KEY)

    assert (store.get("keyring:work"), store.get("work"), store.get("keyring:none")) == (KEY, None, None)
    assert system.held == {("treadle", "work"): KEY}
    assert (store.remove("work"), store.remove("work")) == (True, False)


def test_a_keyring_that_can_not_be_used_is_told_without_its_own_words(system: MemoryKeyring) -> None:
    keyring.set_keyring(BrokenKeyring())

    store = KeyringSecrets()
    uses: list[Callable[[], object]] = [lambda: store.get("keyring:work"), lambda: store.set("work", KEY)]
    for use in uses:
        with pytest.raises(StorageFailed, match="NoKeyringError") as refused:
            use()
        assert KEY not in "".join(traceback.format_exception_only(refused.value))
        assert refused.value.__cause__ is None


def test_without_the_extra_the_keyring_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)

    with pytest.raises(InvalidInput, match=r"pip install 'treadle\[keyring\]'"):
        KeyringSecrets().get("keyring:work")
    assert KeyringSecrets().get("work") is None


def test_the_first_store_that_knows_a_reference_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: MemoryKeyring
) -> None:
    monkeypatch.setenv("LOOM_KEY", "from the environment")
    system.held["treadle", "work"] = "from the keyring"
    FileSecrets(tmp_path / FILE).set("work", "from the file")
    chain = secrets_below(tmp_path)

    assert chain.get("env:LOOM_KEY") == "from the environment"
    assert chain.get("keyring:work") == "from the keyring"
    assert chain.get("work") == "from the file"
    assert chain.get("none") is None


def test_no_store_shows_what_it_holds(tmp_path: Path) -> None:
    FileSecrets(tmp_path / FILE).set("work", KEY)
    file = FileSecrets(tmp_path / FILE)
    file.get("work")

    assert KEY not in repr(file) + repr(secrets_below(tmp_path)) + repr(SecretChain([file]).__dict__)
