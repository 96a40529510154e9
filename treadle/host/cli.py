"""The command line: its commands, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from .. import __version__
from ..graph.errors import InvalidData, InvalidInput, NotFound, PermissionDenied, TreadleError
from . import (
    approve_command,
    chats_commands,
    connection_commands,
    demo_command,
    doctor_command,
    graph_command,
    mcp_commands,
    profile_commands,
    resume_commands,
    rewind_commands,
    run_command,
    runs_commands,
    secret_commands,
    skill_commands,
    wire_command,
)

FAILED, BAD_INPUT, CANCELLED = 1, 2, 130

_ENDS = """Exit codes: 0 completed, 1 failed, 2 bad input, 4 partial success (something was committed before it \
failed), 130 cancelled."""

app = typer.Typer(
    name="treadle",
    add_completion=False,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    epilog=_ENDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo_command.demo)
app.command("run")(run_command.run)
app.command("graph")(graph_command.graph)
runs_commands.app.command("diff")(rewind_commands.diff)
runs_commands.app.command("checkpoints")(rewind_commands.checkpoints)
runs_commands.app.command("rollback")(rewind_commands.rollback)
app.add_typer(runs_commands.app, name="runs")
app.add_typer(chats_commands.app, name="chats")
app.add_typer(connection_commands.app, name="connections")
app.add_typer(profile_commands.app, name="profiles")
app.add_typer(secret_commands.app, name="secrets")
app.add_typer(skill_commands.app, name="skills")
app.add_typer(mcp_commands.app, name="mcp-servers")
app.command("wire")(wire_command.wire)
app.command("approve")(approve_command.approve)
app.command("resume")(resume_commands.resume)
app.command("cancel")(resume_commands.cancel)
app.command("doctor")(doctor_command.doctor)


@app.callback()
def treadle(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", metavar="", help="Say the version, and end.")] = False,
) -> None:
    """Run a writing agent over a chat as an explicit, resumable state machine."""
    if version:
        typer.echo(f"treadle {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command that the program was called with, and leave with its exit code."""
    code = exit_code(sys.argv[1:])
    gc.freeze()  # spares the leaving interpreter a walk over all that was imported: a tenth of a short command
    sys.exit(code)


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command; whatever the user can mend is one line on stderr, never a traceback."""
    try:
        ended = get_command(app).main(list(arguments), prog_name="treadle", standalone_mode=False)
    except typer.TyperException as error:
        return _say(f"{error.format_message().rstrip('.')}. {_where_to_look(error)}", BAD_INPUT)
    except typer.Abort:
        return _say("stopped; nothing was changed", CANCELLED)
    except KeyboardInterrupt:
        return _say("left; a run that was under way can go on: treadle resume RUN", CANCELLED)
    except TreadleError as error:
        bad_input = isinstance(error, InvalidInput | NotFound | InvalidData | PermissionDenied)
        return _say(f"{error.message}{_code(error)}", BAD_INPUT if bad_input else FAILED)
    except BrokenPipeError:  # the reader of a pipe has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _say(f"{error.filename or 'the system'}: {error.strerror or error}", FAILED)
    return ended if isinstance(ended, int) else 0


def _say(text: str, code: int) -> int:
    line = " ".join(text.split())
    print(f"treadle: {line}", file=sys.stderr)
    return code


def _code(error: TreadleError) -> str:
    """The code, where it says more than the class of the error."""
    general = {InvalidInput.code, NotFound.code}
    return "" if error.error_code in general else f" ({error.error_code})"


def _where_to_look(error: typer.TyperException) -> str:
    context: typer.Context | None = getattr(error, "ctx", None)
    return f"See: {context.command_path if context else 'treadle'} --help"
