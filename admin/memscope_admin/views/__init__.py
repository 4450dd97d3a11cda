"""Pages: one module a subject."""

from __future__ import annotations

from memscope_admin.views import (
    access,
    audit,
    confirmations,
    connections,
    dashboard,
    groups,
    me,
    memories,
    people,
    plugins,
    review,
    settings,
    setup,
    sign_in,
    topics,
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
        audit,
        plugins,
        settings,
        me,
    )
)
