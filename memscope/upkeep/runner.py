"""The runner: what is due now, done once. The server calls it every minute, in one process at a time."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from memscope.core import Core
from memscope.upkeep.audit_exports import drop_old
from memscope.upkeep.census import census
from memscope.upkeep.emptying import empty_group, removals
from memscope.upkeep.purge import purge
from memscope.upkeep.reindex import BATCH, add_vectors

log = logging.getLogger(__name__)

RECORDS = "upkeep"
PURGE_EVERY = timedelta(hours=1)
CENSUS_EVERY = timedelta(hours=24)


def run_due(core: Core) -> None:
    """Erase what has been in the trash long enough, finish removing groups, drop old exports, and make vectors that saves went without.

    The caller leads: `storage.lead("upkeep")`.
    """
    for organization in core.storage.organizations():
        if _due(core, organization.id, "purge", PURGE_EVERY):
            for _ in purge(core, organization.id):
                pass
            _done(core, organization.id, "purge")
        if _due(core, organization.id, "census", CENSUS_EVERY):
            census(core, organization.id)
            _done(core, organization.id, "census")
        drop_old(core, organization.id)
        for group in removals(core, organization.id):
            for _ in empty_group(core, organization.id, group):
                pass
        if core.embedding.ready and core.storage.serving_model() == core.embedding.model.identity:
            while add_vectors(core, organization.id) == BATCH:
                pass


def _due(core: Core, organization: str, job: str, every: timedelta) -> bool:
    last = core.storage.records(RECORDS).get(organization, f"last/{job}")
    return last is None or core.clock() - datetime.fromisoformat(last["at"]) >= every


def _done(core: Core, organization: str, job: str) -> None:
    core.storage.records(RECORDS).put(organization, f"last/{job}", {"at": core.clock().isoformat()})
