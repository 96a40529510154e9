"""A preset's settings: which keys of it say where and which the model is, and how another model takes their place."""

from __future__ import annotations

from ...gateway.connections.dialects import KEY as DIALECT
from ...gateway.connections.endpoints import canonical_source
from ...gateway.connections.sources import RECORD
from ...gateway.connections.stored import REPLACED
from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, text_of

SOURCE = "chat_completion_source"

_OWN_MODEL_KEY = (
    "openai", "openrouter", "custom", "claude", "vertexai", "deepseek", "cohere", "groq", "moonshot", "nanogpt",
    "chutes", "siliconflow", "workers_ai", "zai", "minimax",
)  # fmt: skip
MODEL_KEYS = {source: f"{source}_model" for source in _OWN_MODEL_KEY} | {"makersuite": "google_model"}
"""By source: the key under which a preset keeps its model."""

_CONNECTION_KEYS = frozenset({*REPLACED, RECORD, DIALECT, "zai_endpoint", "siliconflow_endpoint", "minimax_endpoint"})


def connected(settings: dict[str, Json], source: str, model: str, custom_api_format: str | None) -> dict[str, Json]:
    """The settings with this model in place of whatever model and connection they name.

    Raises InvalidInput `agent.model_request_invalid_source` for a source whose presets keep no model.
    """
    key = _model_key(source)
    kept = {name: value for name, value in settings.items() if not _is_of_connection(name)}
    own: dict[str, Json] = {SOURCE: canonical_source(source), key: model}
    return kept | own | ({"custom_api_format": custom_api_format} if custom_api_format else {})


def model_in(settings: dict[str, Json]) -> str | None:
    """The model that a preset names: under its source's key, else as `model`."""
    source = canonical_source(text_of(settings.get(SOURCE)) or "openai")
    named = text_of(settings.get(MODEL_KEYS.get(source or "", "model")))
    return named or text_of(settings.get("model"))


def _model_key(source: str) -> str:
    key = MODEL_KEYS.get(canonical_source(source) or "")
    if key is None:
        known = ", ".join(MODEL_KEYS)
        raise InvalidInput(
            f"a preset can't be used with the source {source!r}; it can with {known}",
            code="agent.model_request_invalid_source",
        )
    return key


def _is_of_connection(key: str) -> bool:
    return key in _CONNECTION_KEYS or key.endswith("_model")
