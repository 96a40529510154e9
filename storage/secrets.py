"""Where keys come from: the environment, a file for its owner alone, the system's keyring, or several in a row."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar, cast

from ..graph.errors import InvalidData, InvalidInput, StorageFailed
from ..graph.jsontext import Json, dumps, is_object, loads
from ..graph.ports import SecretStore
from .disk import storage_failed
from .folder_lock import folder_lock
from .private_files import read_private, write_private

PREFIX = "env:"
KEYRING_PREFIX = "keyring:"
FILE = Path("_tauritavern") / "secrets.json"
SERVICE = "treadle"
"""Under which the system's keyring keeps our secrets."""

_KIND = "tauritavern.secrets"
_LOCK_FILE = "secrets.lock"
_NAME_CHARS = 200
_PREFIXES = (PREFIX, KEYRING_PREFIX)

T = TypeVar("T")


class EnvironmentSecrets:
    """References are `env:NAME`; the value never leaves this object but as the answer to `get`."""

    def get(self, reference: str) -> str | None:
        """The variable's value; None where it is unset or empty, or the reference is of another kind."""
        if not reference.startswith(PREFIX):
            return None
        return os.environ.get(reference.removeprefix(PREFIX)) or None


class FileSecrets:
    """References are plain names; one JSON file, mode 0600, that is refused where others may read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"FileSecrets({self.path})"

    def get(self, reference: str) -> str | None:
        if reference.startswith(_PREFIXES):
            return None
        return self._read().get(reference) or None

    def names(self) -> list[str]:
        return sorted(self._read())

    def set(self, name: str, value: str) -> None:
        """Raises InvalidInput for a name that can't be one, or a blank value."""
        _check(name, value)
        with self._changing() as held:
            held[name] = value

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        with self._changing() as held:
            return held.pop(name, None) is not None

    @contextmanager
    def _changing(self) -> Generator[dict[str, str]]:
        """The secrets, to be changed under the folder's lock; they are written only where they were."""
        try:
            with folder_lock(self.path.parent, _LOCK_FILE):
                held = self._read()
                before = dict(held)
                yield held
                if held != before:
                    document = {"schemaVersion": 1, "kind": _KIND, "secrets": held}
                    write_private(self.path, dumps(document, pretty=True) + b"\n")
        except OSError as error:
            raise storage_failed(error, f"changing {self.path.name}") from error

    def _read(self) -> dict[str, str]:
        try:
            data = read_private(self.path)
        except OSError as error:
            raise storage_failed(error, f"reading {self.path.name}") from error
        if data is None:
            return {}
        held = _secrets_in(data)
        if held is None:  # no cause: it would quote the file
            raise InvalidData(f"{self.path} is not a file of secrets; mend it, or remove it and set them again")
        return held


class Keyring(Protocol):
    """What we use of the module `keyring`."""

    def get_password(self, service_name: str, username: str) -> str | None: ...

    def set_password(self, service_name: str, username: str, password: str) -> None: ...

    def delete_password(self, service_name: str, username: str) -> None: ...


class KeyringSecrets:
    """References are `keyring:NAME`; the keyring's module is loaded when one is first asked for."""

    def get(self, reference: str) -> str | None:
        """Raises InvalidInput where the extra is missing, StorageFailed where the system has no keyring or denies it."""
        if not reference.startswith(KEYRING_PREFIX):
            return None
        name = reference.removeprefix(KEYRING_PREFIX)
        return _asked(lambda keyring: keyring.get_password(SERVICE, name)) or None

    def set(self, name: str, value: str) -> None:
        _check(name, value)
        _asked(lambda keyring: keyring.set_password(SERVICE, name, value))

    def remove(self, name: str) -> bool:
        """Whether there was one."""
        if self.get(KEYRING_PREFIX + name) is None:
            return False
        _asked(lambda keyring: keyring.delete_password(SERVICE, name))
        return True


class SecretChain:
    """The first that knows the reference answers."""

    def __init__(self, stores: Sequence[SecretStore]) -> None:
        self._stores = tuple(stores)

    def get(self, reference: str) -> str | None:
        return next((value for store in self._stores if (value := store.get(reference)) is not None), None)


def secrets_below(data_root: Path) -> SecretChain:
    """A data root's own: `env:NAME`, `keyring:NAME`, and plain names in its file of secrets."""
    return SecretChain([EnvironmentSecrets(), KeyringSecrets(), FileSecrets(data_root / FILE)])


def _asked(ask: Callable[[Keyring], T]) -> T:
    """The keyring's answer; the cause of a refusal is not kept, as a backend's message may quote a value."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise InvalidInput("the system's keyring needs the extra keyring: pip install 'treadle[keyring]'") from None
    try:
        return ask(cast(Keyring, keyring))
    except KeyringError as error:
        kind = type(error).__name__
    raise StorageFailed(f"the system's keyring can't be used ({kind}); use the file of secrets, or env:NAME")


def _check(name: str, value: str) -> None:
    if not name.strip() or len(name) > _NAME_CHARS or not name.isprintable() or name.startswith(_PREFIXES):
        raise InvalidInput(
            f"a secret's name must be 1 to {_NAME_CHARS} printable characters and not begin with env: or keyring:"
        )
    if not value.strip():
        raise InvalidInput("the secret is empty; give its value on standard input, or type it when asked")


def _secrets_in(data: bytes) -> dict[str, str] | None:
    """None for what is no file of secrets."""
    try:
        document = loads(data)
    except ValueError:
        return None
    held: Json = document.get("secrets") if is_object(document) and document.get("kind") == _KIND else None
    if not is_object(held) or not all(isinstance(value, str) for value in held.values()):
        return None
    return held
