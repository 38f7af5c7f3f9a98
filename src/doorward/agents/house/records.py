"""Questions about records: a request becomes a query by matching its words to collections, fields and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doorward.agents.house.plan import Reading, Steps
from doorward.agents.house.record_answers import answer
from doorward.agents.house.record_calls import QueryBuilder
from doorward.agents.house.record_followups import read_followup, refers_back
from doorward.agents.house.record_query import RecordQuery, describe_conditions, nouns
from doorward.agents.house.record_reader import RecordReader, RecordReading
from doorward.agents.house.record_targets import choose_targets
from doorward.agents.house.request_context import RequestContext


def read(context: RequestContext) -> Iterable[Reading]:
    """Return the readings of a request as a question about records."""
    if not context.lexicon.collections or not context.offered("data/list", "data/query", "data/count"):
        return
    found = list(read_queries(context))
    complete = any(context.request.meaningful <= one.explained for one in found)
    followup = read_followup(context, read_queries) if refers_back(context) or not complete else None
    if followup is not None and context.request.meaningful <= followup.explained:
        found = [followup]
    for one in found:
        yield make_reading(context, one)


def read_queries(context: RequestContext) -> Iterator[RecordReading]:
    """Return the queries that a request can mean, each with the words that it explains."""
    for target, preference in choose_targets(context):
        reading = RecordReader(context, target).read(preference)
        if reading is not None:
            yield reading


def make_reading(context: RequestContext, found: RecordReading) -> Reading:
    query = found.query

    def steps() -> Steps:
        if found.question:
            yield from ()
            return found.question
        (result,) = yield [QueryBuilder(context, query).step()]
        return answer(context, query, result)

    return Reading(
        name=f"{query.measure} records",
        steps=steps,
        explained=found.explained,
        score=found.score,
        says=describe(query),
        depends=found.depends,
    )


def describe(query: RecordQuery) -> str:
    """Return a query as a noun phrase, such as `the number of orders with status open`."""
    _, many = nouns(query.collection)
    what = {"count": "the number of ", "sum": "the total of ", "avg": "the average of ", "list": "", "exists": ""}
    of = f" {' '.join(query.of)}" if query.of else ""
    group = f" for each {' '.join(query.group)}" if query.group else ""
    order = f" by {' '.join(query.order)}" if query.order else ""
    return f"{what.get(query.measure, query.measure + ' of ')}{many}{of}{describe_conditions(query)}{group}{order}"
