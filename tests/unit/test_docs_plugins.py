"""The worked example of docs/plugins.md works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

from memscope.contracts.guard import GuardContext, TopicDescription
from memscope.hooks import Hooks
from memscope.model.audience import Sensitivity
from memscope.plugin_manager import Plugins
from memscope.settings import load

DOCS = Path(__file__).parents[2] / "docs" / "plugins.md"


def test_the_classifier_in_the_documentation_runs(tmp_path: Path) -> None:
    code = re.search(r"```python\n# pilots\.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    file = tmp_path / "pilots.py"
    file.write_text(code.group(1))
    config = tmp_path / "memscope.toml"
    config.write_text(f'[plugins]\nfiles = ["{file}"]\nblocked = ["spacy"]\n')
    settings = load(config, {}, data_dir=tmp_path)
    hooks = Hooks(Plugins(settings.plugins), settings)
    context = GuardContext(topics=(TopicDescription("pilots", "Pilots"),))
    ((plugin, verdict),) = hooks.classify_sensitivity("The pilot roster for June is final.", context).values
    assert (plugin, verdict.sensitivity) == ("pilots", Sensitivity.RESTRICTED)
    assert [(match.key, match.spans[0].start, match.spans[0].end) for match in verdict.topics] == [("pilots", 4, 9)]
    assert hooks.classify_sensitivity("Lunch is at noon.", context).values == ()
