"""What the scripted writer answers: a rate limit, a draft, a slip and its correction, two commits, and the end."""

from __future__ import annotations

from ...testkit.replies import call
from ...testkit.turns import Refusal, Turn, says

DRAFT = """\
Odile holds the hem up to the lamp, and the light comes through the hole as round as a coin.

"Six aboard going out," she says. "Now count them coming in."

You count. Tam at the tiller, the two Pell sisters, the boy with the hens, the priest who would not sit. Yourself. \
Six, and you open your mouth to say so, and there at the rim of your memory sits a seventh: grey coat, wet cuffs, \
one hand on the boom as if on the neck of a dog.

"There," says Odile, who has been watching your face. "That one never pays in coin."\
"""

MISREMEMBERED = "a grey coat with wet cuffs"
FOUND = "grey coat, wet cuffs"
BETTER = "grey coat, cuffs quite dry in all that spray"

THREADS = """\
- A seventh passenger (grey coat, dry cuffs) loosed the keeping-knot off Gannet Rock. Only Bram remembers him.
- A keeping-knot opens only for somebody who was promised something. What was he promised, and by whom?
"""

CODA = """\


She threads the shuttle with red, which she has never done in front of anyone. "By morning I can weave you another \
sail. It will have a knot in it, and the knot will have his name. So go down to the slip, ferryman, while the fog \
holds, and ask him what it is."\
"""


def turns() -> tuple[Refusal | Turn, ...]:
    """One answer for each request of the demo's run, in order, in no provider's words."""
    return (
        Refusal(429, "Out of breath; ask again."),
        says(
            "I draft the reply.",
            call("workspace.write_file", path="output/main.md", content=DRAFT),
            reasoning="What would stay with me is the coin of light, and who does not pay.",
        ),
        says(
            "Dry cuffs would be stranger.",
            call("workspace.apply_patch", path="output/main.md", old_string=MISREMEMBERED, new_string=BETTER),
        ),
        says(
            "I misremembered my own line; I read it again.",
            call("workspace.read_file", path="output/main.md"),
            call("workspace.apply_patch", path="output/main.md", old_string=FOUND, new_string=BETTER),
            reasoning="The patch must quote the text as it stands.",
        ),
        says("Did I tell of him before?", call("workspace.search_files", query="seventh passenger coat")),
        says(
            "",
            call("workspace.write_file", path="persist/threads.md", content=THREADS),
            call("workspace.commit", path="output/main.md", reason="the reply is ready"),
        ),
        says(
            "",
            call("workspace.write_file", path="output/coda.md", content=CODA),
            call("workspace.commit", path="output/coda.md", mode="append", reason="one more beat"),
        ),
        says("", call("workspace.finish", reason="the reply stands in the chat")),
    )
