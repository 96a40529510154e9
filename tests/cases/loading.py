"""Cases as files: read, parted into what is run by itself, and named by the features that each needs.

A feature is a kind (`skill_md`), a kind with a provider's format (`model_turns:gemini`), or a kind with a key of its
`given` or with a tool that its calls name (`model_turns+crash`, `chat_file+chat.search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treadle.graph.jsontext import Json, is_list, is_object, loads
from treadle.nodes.registry import KNOWN_TOOLS, canonical_name

from .expects.spelling import loads_spelled
from .faults import CaseFault, an_object, only

UNSUPPORTED = Path(__file__).with_name("unsupported.txt")

ACROSS = ("same_content_hash",)
"""What is expected of several variants together."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is run and judged by itself: a case, or one variant of one."""

    name: str
    given: dict[str, Json]
    expects: tuple[dict[str, Json], ...]
    symptom: str = ""

    @property
    def features(self) -> frozenset[str]:
        return frozenset(features(self.given))


@dataclass(frozen=True, slots=True)
class Together:
    """What is expected of several variants of one case: the fact named by `key` is the same in all."""

    name: str
    key: str
    units: tuple[Unit, ...]

    @property
    def features(self) -> frozenset[str]:
        return frozenset(feature for unit in self.units for feature in unit.features)


@dataclass(frozen=True, slots=True)
class Folder:
    """All cases of a folder, in the order of their names."""

    units: tuple[Unit, ...]
    together: tuple[Together, ...]

    def under(self, line: str) -> list[Unit]:
        return [unit for unit in self.units if line in unit.features]


def read_folder(path: Path) -> Folder:
    """Every `*.json` below `path`; raises CaseFault for a file that is no case."""
    files = sorted(path.rglob("*.json"))
    if not files:
        raise CaseFault(f"{path} holds no case")
    units: list[Unit] = []
    together: list[Together] = []
    for file in files:
        found, across = _parted(_case(file))
        units += found
        together += across
    return Folder(tuple(units), tuple(together))


def unsupported() -> tuple[str, ...]:
    """The features that are listed as not there yet."""
    return tuple(line.strip() for line in UNSUPPORTED.read_text("utf-8").splitlines() if line.strip())


def features(given: dict[str, Json]) -> Iterator[str]:
    """What a case, or one of its variants, needs of the runner and of the product."""
    kind = _kind(given)
    yield kind
    yield from (f"{kind}:{name}" for name in formats_of(given))
    yield from (f"{kind}+{key}" for key in given if key != "kind")
    yield from (f"{kind}+{tool}" for tool in sorted(set(_tools_in(given))))


def formats_of(given: dict[str, Json]) -> Sequence[str]:
    single = given.get("provider_format")
    return [*([] if single is None else [single]), *given.get("provider_formats", [])]


def _kind(given: dict[str, Json]) -> str:
    kind = given.get("kind")
    if not isinstance(kind, str):
        raise CaseFault("given.kind is missing")
    return kind


def _tools_in(value: Json) -> Iterator[str]:
    """The tools that calls name, anywhere: in `calls`, in a script, in the answers of a model."""
    if is_object(value):
        for key, member in value.items():
            if key in ("tool", "name") and isinstance(member, str) and canonical_name(member) in KNOWN_TOOLS:
                yield canonical_name(member)
            elif key in ("body_text", "model_reply") and isinstance(member, str):
                yield from _tools_in_text(member)
            else:
                yield from _tools_in(member)
    elif is_list(value):
        for member in value:
            yield from _tools_in(member)


def _tools_in_text(text: str) -> Iterator[str]:
    try:
        yield from _tools_in(loads(text))
    except ValueError:
        return  # a body that is no JSON calls nothing


def _case(file: Path) -> dict[str, Json]:
    try:
        case = an_object(loads(file.read_bytes()), file.name)
        case["expect"] = an_object(loads_spelled(file.read_bytes())["expect"], f"{file.name}: expect")
        an_object(case["given"], f"{file.name}: given")
    except (KeyError, ValueError) as error:
        raise CaseFault(f"{file.name} is no case: {error!r}") from error
    return {"id": file.stem, **case}


def _parted(case: dict[str, Json]) -> tuple[list[Unit], list[Together]]:
    name, given, expect = case["id"], case["given"], dict(case["expect"])
    symptom = str(case.get("symptom", ""))
    if _kind(given) != "variants":
        return [Unit(name, given, (expect,), symptom)], []
    only(given, ("kind", "variants"), f"{name}: given")
    variants = an_object(given["variants"], f"{name}: variants")
    by_name = an_object(expect.pop("variants", {}), f"{name}: expect.variants")
    each = an_object(expect.pop("each_variant", {}), f"{name}: expect.each_variant")
    only(by_name, variants, f"{name}: expect.variants")
    across = {key: expect.pop(key) for key in ACROSS if key in expect}
    units = {
        variant: Unit(f"{name}-{variant}", held, (each, by_name.get(variant, {}), expect), symptom)
        for variant, held in variants.items()
    }
    return list(units.values()), [
        Together(f"{name}-{key}", key, tuple(units[variant] for variant in names)) for key, names in across.items()
    ]
