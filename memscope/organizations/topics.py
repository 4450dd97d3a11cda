"""The topics that every organization starts with."""

from __future__ import annotations

from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.organization import Topic


def built_in_topics() -> tuple[Topic, ...]:
    """HR, Legal and Finance, without guard teams: new ids at each call."""
    return (
        Topic(
            new_id(),
            "hr",
            "HR",
            ("human resources", "people", "personnel"),
            "People at work: hiring and letting go, pay, performance, conduct, absence and health, complaints.",
            ("written warning", "salary review", "performance improvement plan", "sick leave", "notice of termination", "promotion round"),
            Sensitivity.RESTRICTED,
            builtin=True,
        ),
        Topic(
            new_id(),
            "legal",
            "Legal",
            ("law", "counsel", "compliance"),
            "Contracts and negotiations, disputes and lawsuits, advice of counsel, regulators, intellectual property.",
            (
                "attorney-client privilege",
                "settlement offer",
                "breach of contract",
                "cease and desist",
                "regulatory investigation",
                "patent claim",
            ),
            Sensitivity.RESTRICTED,
            builtin=True,
        ),
        Topic(
            new_id(),
            "finance",
            "Finance",
            ("accounting", "treasury", "controlling"),
            "Money of the organization: results before they are published, budgets, funding, debts, acquisitions, taxes, banking.",
            ("quarterly results", "budget cut", "funding round", "cash runway", "acquisition price", "revenue forecast"),
            Sensitivity.RESTRICTED,
            builtin=True,
        ),
    )
