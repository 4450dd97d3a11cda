"""A one-file plugin that judges sensitivity and always fails: what administrators see of a broken plugin."""

from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.hookspecs import hookimpl


@hookimpl
def memscope_classify_sensitivity(text: str) -> SensitivityVerdict:
    """Fails, and says of what kind."""
    raise LookupError("model file missing")
