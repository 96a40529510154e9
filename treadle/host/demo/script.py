"""What the scripted writer answers: a rate limit, what it reads first, a draft, a slip, two commits, and the end."""

from __future__ import annotations

from ...testkit.replies import call
from ...testkit.turns import Refusal, Turn, says

DRAFT = """\
Odile holds the hem up to the lamp, and the light comes through the hole as round as a coin.

"Five coppers in your tin," she says, "and one of them wet. You told me so yourself. Now count who paid."

You count. The two Pell sisters, the boy with the hens, the priest who would not sit. Four, and you open your mouth \
to say so, and there at the rim of your memory sits a fifth: grey coat, wet cuffs, one hand on the boom as if on the \
neck of a dog.

"There," says Odile, who has been watching your face. "That one pays first, and asks afterwards."\
"""

MISREMEMBERED = "a grey coat with wet cuffs"
FOUND = "grey coat, wet cuffs"
BETTER = "grey coat, cuffs quite dry in all that spray"

THREADS = """\
- A fifth fare (grey coat, dry cuffs, a wet copper) loosed the keeping-knot off Gannet Rock. Only Bram remembers him.
- A keeping-knot opens only for somebody who was promised something. What was he promised, and by whom?
"""

SKILL = "slow-reveal"

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
            "The prompt holds the last four messages only. What came before, and what do I have to work with?",
            call("chat.search", query="coppers in the tin, fares counted"),
            call("worldinfo.read_activated"),
            call("skill.list"),
        ),
        says(
            "",
            call("chat.read_messages", messages=[{"index": 1}, {"index": 2}]),
            call("worldinfo.read_activated", entries=[{"ref": "worldinfo:Sill Harbour#7"}]),
            call("skill.read", name=SKILL),
        ),
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
        says("Did I tell of him before?", call("workspace.search_files", query="fifth fare grey coat")),
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
