"""Treadle runs a writing agent over a chat as an explicit state machine on LangGraph."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedding import build_run_graph
    from .engine.engine import Engine
    from .graph.errors import TreadleError
    from .host.chat_folder import ChatFolderHost

__all__ = ["ChatFolderHost", "Engine", "TreadleError", "__version__", "build_run_graph"]
__version__ = "0.1.0"

# Importing the graph runtime costs seconds, so a name's room is opened when it is first asked for.
_ROOMS = {
    "ChatFolderHost": ".host.chat_folder",
    "Engine": ".engine.engine",
    "TreadleError": ".graph.errors",
    "build_run_graph": ".embedding",
}

if not TYPE_CHECKING:  # to a checker, a name that is not offered stays an error

    def __getattr__(name: str) -> object:
        if name not in _ROOMS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_ROOMS[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
