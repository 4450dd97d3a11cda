"""Detection of text that gives orders to an AI: normalising, unpacking, families of wording in many languages, a linear model."""

from __future__ import annotations

from memscope.contracts.guard import GuardContext
from memscope.contracts.instructions import InstructionVerdict
from memscope.hookspecs import hookimpl


@hookimpl
def memscope_detect_instructions(text: str, context: GuardContext) -> InstructionVerdict | None:
    """The verdict of this plugin; always one."""
    from memscope_instructions.detect import detect

    return detect(text, context)
