"""Pages: one module a subject."""

from __future__ import annotations

from memscope_admin.views import (
    access,
    activity,
    audit,
    confirmations,
    connections,
    consent,
    dashboard,
    groups,
    help,
    insights,
    me,
    memories,
    mine,
    people,
    plugins,
    reveal,
    review,
    security,
    settings,
    setup,
    sign_in,
    topics,
    trash,
)

PAGES = tuple(
    module.pages
    for module in (
        sign_in,
        setup,
        dashboard,
        confirmations,
        review,
        memories,
        access,
        topics,
        people,
        groups,
        connections,
        consent,
        audit,
        plugins,
        insights,
        help,
        settings,
        me,
        security,
        activity,
        mine,
        reveal,
        trash,
    )
)
