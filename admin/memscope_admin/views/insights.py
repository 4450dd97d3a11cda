"""Insights: figures of a range of days, as charts with their tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from flask import Blueprint, Response, abort, render_template, request, url_for

from memscope import usage
from memscope.errors import InvalidArgument
from memscope.memories.insights import Insights, insights
from memscope.memories.noting import DECIDE_WITHIN_S
from memscope_admin.charts import Chart, Series, as_csv, number_text
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.texts import several

pages = Blueprint("insights", __name__, url_prefix="/insights")
pages.before_request(admins_only)
CHOICES = (7, 30, 90)
KINDS = ("fact", "decision", "procedure", "handoff", "note", "none")
TARGET_H = DECIDE_WITHIN_S / 3600


@pages.get("")
def show() -> str | tuple[str, int]:
    """All charts of a range."""
    since, until, problem = _range()
    found = None
    if problem is None:
        try:
            found = insights(core(), principal(), since, until)
        except InvalidArgument as error:
            problem = error.message
    page = render_template(
        "insights/show.html",
        charts=_charts(found) if found else [],
        found=found,
        since=since,
        until=until,
        chosen=_days(),
        choices=CHOICES,
        problem=problem,
        given=request.args,
        csv={chart.id: _csv_url(chart.id) for chart in _charts(found)} if found else {},
    )
    return page, 422 if problem else 200


@pages.get("/<chart_id>.csv")
def export(chart_id: str) -> Response:
    """One chart's table."""
    since, until, problem = _range()
    if problem is not None:
        raise InvalidArgument("since", problem)
    charts = {chart.id: chart for chart in _charts(insights(core(), principal(), since, until))}
    chart = charts.get(chart_id) or abort(404)
    headers = {"Content-Disposition": f'attachment; filename="{chart_id}_{since}_{until}.csv"'}
    return Response(as_csv(chart), mimetype="text/csv", headers=headers)


def _csv_url(name: str) -> str:
    given: dict[str, Any] = {key: value for key, value in request.args.items() if key in ("days", "since", "until")}
    return url_for("insights.export", chart_id=name, **given)


def _days() -> int | None:
    """The chosen number of days; None for a range of its own."""
    if request.args.get("since") or request.args.get("until"):
        return None
    days = request.args.get("days", "30")
    return int(days) if days.isascii() and days.isdigit() and len(days) <= 4 else None


def _range() -> tuple[date, date, str | None]:
    """First and last day, and what is wrong with what was asked for."""
    today = core().usage.today(visitor().principal.organization)
    days = _days()
    if days is not None:
        return today - timedelta(days=max(days, 1) - 1), today, None if days else "A range has at least one day."
    if "days" in request.args and not (request.args.get("since") or request.args.get("until")):
        return today, today, f"{request.args['days'][:20]} is no number of days."
    found = []
    for name, otherwise in (("since", today - timedelta(days=29)), ("until", today)):
        given = request.args.get(name, "").strip()
        try:
            found.append(date.fromisoformat(given) if given else otherwise)
        except ValueError:
            return today, today, f"{given[:20]} is no day; write it as 2026-01-31."
    return found[0], found[1], None


def _charts(found: Insights) -> list[Chart]:
    days = [day.isoformat() for day in found.days]

    def column(figure: str, key: str, name: str) -> Series:
        return Series(name, [found.daily[figure].get(day, {}).get(key, 0) for day in found.days])

    def total(figure: str, keys: Iterable[str] | None = None) -> int:
        counts = found.totals[figure]
        return sum(counts.values()) if keys is None else sum(counts.get(key, 0) for key in keys)

    kinds = [kind for kind in KINDS if kind in found.totals[usage.SAVED]] or ["none"]
    saved, recalled = total(usage.SAVED), total(usage.RECALLED)
    return [
        Chart(
            "saved",
            "Saved",
            "Memories saved, by kind.",
            days,
            [column(usage.SAVED, kind, "no kind" if kind == "none" else kind) for kind in kinds],
            figure=f"{saved:,} saved",
            total=saved,
        ),
        Chart(
            "recalled",
            "Recalled",
            "Recalls by agents: those that found something, and those that found nothing.",
            days,
            [column(usage.RECALLED, "found", "found something"), column(usage.RECALLED, "empty", "found nothing")],
            figure=several(recalled, "recall"),
            total=recalled,
        ),
        _opened(found, days),
        _by_topic(
            "empty",
            "Found nothing, by topic",
            "Recalls that found nothing, by the topics that they named as a filter or in their words. Words are not kept; one recall may name several topics.",
            found.empty_about,
            found.few,
            "recalls",
            "recall",
        ),
        Chart(
            "repeats",
            "Repeated and replaced",
            "Saves that nearly repeat, or seem to update, something that their author could read; and saves that replaced an older memory.",
            days,
            [
                column(usage.RELATED, "duplicate", "nearly repeats"),
                column(usage.RELATED, "update", "seems to update"),
                column(usage.RELATED, "superseding", "replaced one"),
            ],
            figure=_share(total(usage.RELATED), saved, "of saves"),
            total=total(usage.RELATED),
        ),
        _waited(found, days),
        _by_topic(
            "held",
            "Held now, by topic",
            "Shared memories that wait for a review. A memory on two topics counts for both.",
            found.held,
            found.few,
            "held",
        ),
        _stale(found),
        *_groups(found),
    ]


def _opened(found: Insights, days: Sequence[str]) -> Chart:
    opened = [found.daily[usage.OPENED].get(day, {}).get("", 0) for day in found.days]
    recalls = [found.daily[usage.RECALLED].get(day, {}).get("found", 0) for day in found.days]
    count, all_ = found.totals[usage.OPENED].get("", 0), found.totals[usage.RECALLED].get("found", 0)
    return Chart(
        "opened",
        "Recalls of which a result was opened",
        "The share of recalls that found something, and of which the agent opened a result by its id within half an hour. An agent that was given "
        "the whole text has no need to.",
        days,
        [Series("share", [_percent(a, b) for a, b in zip(opened, recalls, strict=True)], summed=False)],
        unit=" %",
        kind="line",
        figure=_share(count, all_, "of recalls that found something"),
        total=count + all_,
        extra=[Series("opened", opened), Series("found something", recalls)],
    )


def _waited(found: Insights, days: Sequence[str]) -> Chart:
    decided = [sum(found.daily[usage.DECIDED].get(day, {}).values()) for day in found.days]
    seconds = [found.daily[usage.WAITED].get(day, {}).get("seconds", 0) for day in found.days]
    in_time = [found.daily[usage.WAITED].get(day, {}).get("in_time", 0) for day in found.days]
    count, good = sum(found.totals[usage.DECIDED].values()), found.totals[usage.WAITED].get("in_time", 0)
    hours = found.totals[usage.WAITED].get("seconds", 0) / 3600
    average = f"{number_text(hours / count)} hours on average; " if count else ""
    return Chart(
        "waited",
        "Time to a decision in the queue",
        "How long decided reviews had waited, on average of the day on which they were decided. The target is a day.",
        days,
        [Series("hours", [s / 3600 / n if n else None for s, n in zip(seconds, decided, strict=True)], summed=False)],
        unit=" h",
        kind="line",
        figure=f"{average}{_share(good, count, 'within a day')}",
        total=count + good,
        target=TARGET_H,
        target_name="target: 24 hours",
        extra=[Series("decided", decided), Series("within a day", in_time)],
    )


def _by_topic(id_: str, title: str, about: str, counts: Mapping[str, int] | None, few: bool, noun: str, one: str | None = None) -> Chart:
    known = counts or {}
    total = sum(known.values())
    return Chart(
        id_,
        title,
        about,
        list(known),
        [Series(noun, list(known.values()))],
        kind="rows",
        figure=several(total, one or noun, noun),
        total=total,
        head="Topic",
        few=["The organization"] if few else [],
    )


def _stale(found: Insights) -> Chart:
    census = found.census
    live, stale, superseded = ((getattr(census, name).get(usage.ALL, 0) if census else 0) for name in ("live", "stale", "superseded"))
    return Chart(
        "stale",
        "Of the shared memories that there are",
        "Stale: saved at least 90 days ago, and not returned by a recall in the last 90. Replaced: a newer memory stands for it. Held and personal "
        "memories are not counted.",
        ["in use or new", "stale", "replaced"],
        [Series("memories", [live - stale - superseded, stale, superseded])],
        kind="rows",
        figure=f"{_share(stale, live, 'stale')}, {_share(superseded, live, 'replaced')}" if live else "",
        total=live,
        head="What",
    )


def _groups(found: Insights) -> list[Chart]:
    shown = [group for group in found.groups if group.saved is not None]
    few = [group.name for group in found.groups if group.saved is None]
    names = [group.name for group in shown]
    rest = [
        Series("recalls", [group.recalled for group in shown]),
        Series("there now", [group.live for group in shown]),
        Series("stale", [group.stale for group in shown]),
    ]
    saved = [group.saved or 0 for group in shown]
    total = sum(saved) + sum(group.recalled or 0 for group in shown)
    if not found.groups:
        return []
    return [
        Chart(
            "groups",
            "Teams and projects",
            f"Memories saved for them, and in the table recalls that named them or returned something of theirs. Only groups of {usage.FEW} people or more.",
            names,
            [Series("saved", saved)],
            kind="rows",
            figure=f"{sum(saved):,} saved, {several(total - sum(saved), 'recall')}",
            extra=rest,
            head="Group",
            few=few,
        )
    ]


def _percent(part: float, whole: float) -> float | None:
    return part / whole * 100 if whole else None


def _share(part: int, whole: int, of: str) -> str:
    percent = _percent(part, whole)
    return f"{part:,} of {whole:,}" + (f" ({percent:.0f} %)" if percent is not None else "") + f" {of}"
