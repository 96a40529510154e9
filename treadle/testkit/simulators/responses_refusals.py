"""How OpenAI's Responses refuses a request: the texts, codes and parameters of its public error bodies."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ..replies import Reply, error


class RequestRefused(Exception):
    """The request breaks a rule; the text is what the server says."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None, status: int = 400) -> None:
        self.message = message
        self.param = param
        self.code = code
        self.status = status
        super().__init__(message)

    def reply(self) -> Reply:
        return error(self.status, self.message, code=self.code, param=self.param)


def is_one_of(value: object, names: Container[str]) -> bool:
    return isinstance(value, str) and value in names


def missing(where: str) -> RequestRefused:
    return RequestRefused(f"Missing required parameter: '{where}'.", where, "missing_required_parameter")


def unknown(where: str) -> RequestRefused:
    return RequestRefused(f"Unknown parameter: '{where}'.", where, "unknown_parameter")


def wrong_type(where: str, wanted: str, value: object) -> RequestRefused:
    message = f"Invalid type for '{where}': expected {wanted}, but got {_named(value)} instead."
    return RequestRefused(message, where, "invalid_type")


def wrong_value(where: str, value: object, supported: Iterable[str]) -> RequestRefused:
    names = [f"'{name}'" for name in sorted(supported)]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"
    return RequestRefused(f"Invalid value: '{value}'. Supported values are: {listed}.", where, "invalid_value")


def no_such_response(response_id: str) -> RequestRefused:
    return RequestRefused(
        f"Previous response with id '{response_id}' not found.", "previous_response_id", "previous_response_not_found"
    )


def _named(value: object) -> str:
    if value is None:
        return "null"
    kinds: dict[type, str] = {
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
        str: "a string",
        list: "an array",
    }
    return kinds.get(type(value), "an object")
