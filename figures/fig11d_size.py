"""How much memory keeps misses to a target, policy by policy (the inverse of the paper's figure 11)."""

from __future__ import annotations

from functools import partial

from matplotlib.axes import Axes

from figures import axes, budget, replayed, style
from figures.sentence import Sentence, clause, lacking, say, text
from figures.source import ResultsLike, Row, known, rows, value_of
from figures.spec import FigureSpec, Panel

MOST_POLICIES = 6
FEW_CALLS = 100
_SUBJECT = "how much memory a target needs"

#: Targets that are published as numbers, and the words for them; the tightest first.
_TARGETS = {"t10": "a tenth", "t20": "a fifth", "t50": "half"}
_TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
_MEASURES = {"misses": "calls that may miss", "missed-tokens": "context tokens that may be missed"}
_OTHERS = {"fnu": "FNU, which knows the future,", "mrr": "MRR, which keeps compressed copies,"}


def _panel(ax: Axes, results: ResultsLike, measure: str) -> None:
    data = [r for r in rows(results, "replay_size") if r["measure"] == measure]
    data = [r for r in data if replayed.cell(r) == replayed.cell(data[0])]
    if not data:
        return axes.note(ax, "nothing was replayed")
    for i, policy in enumerate(replayed.ordered(data)[:MOST_POLICIES]):
        look, of = style.series(i), [r for r in data if r["policy"] == policy]
        points = sorted((r["target_share"], r["point_bytes"]) for r in of if r["point_bytes"] is not None)
        ax.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            label=replayed.policy(policy),
        )
        for r in of:
            _ends(ax, r, look)
    axes.bytes_axis(ax.yaxis, log=True)
    ax.set_xscale("log")
    shown = [target for target in _TICKS if any(r["target_share"] == target for r in data)]
    ax.set_xticks(shown, [f"{target * 100:g}%" for target in shown])
    ax.set_xticks([], minor=True)
    ax.invert_xaxis()
    ax.set_xlabel(_MEASURES[measure])
    ax.set_ylabel("budget")
    axes.legend(ax, 3)
    return None


def _ends(ax: Axes, row: Row, look: style.Series) -> None:
    """The replayed budgets around a point; where there is no point, an arrow to where the answer lies."""
    if row["state"] == "between":
        ends = row["above_bytes"], row["reached_bytes"]
        ax.vlines(row["target_share"], *ends, color=look.colour, linewidth=1, alpha=0.5)
    elif row["state"] in ("at_most", "beyond"):
        less = row["state"] == "at_most"
        ax.plot(
            [row["target_share"]],
            [row["reached_bytes" if less else "above_bytes"]],
            "v" if less else "^",
            color=look.colour,
            markerfacecolor=style.BACKGROUND,
        )


def _headline(results: ResultsLike) -> Sentence:
    base = budget.subject(results)
    if not base:
        nulls = [key for key in results.numbers if key.startswith("replay.") and not known(results, key)]
        return lacking(results, _SUBJECT, tuple(nulls[:1]))
    where = budget.STREAMS[base.split(".")[1]]
    for target, words in _TARGETS.items():
        lru = _key(base, "lru", "misses", target)
        if known(results, lru):
            others = {_key(base, name, "misses", target): said for name, said in _OTHERS.items()}
            others = {key: said for key, said in others.items() if known(results, key)}
            also = "".join(f", {said} {{{key}}}" for key, said in others.items())
            return say(
                results,
                f"{_verdict(results, base, lru, list(others))}: to keep the misses {where} to {words} of the calls, "
                f"LRU needs {{{lru}}}{also}.",
            )
    return _without(results, base, where)


def _verdict(results: ResultsLike, base: str, lru: str, others: list[str]) -> str:
    calls = value_of(results, f"{base}.calls")
    if calls is not None and calls < FEW_CALLS:
        return "These are few calls to size memory by"
    if not others:
        return "Memory buys hits"
    least = min(value_of(results, key) for key in others)
    return "A better policy saves memory" if least <= 0.75 * value_of(results, lru) else "Only memory buys hits"


def _without(results: ResultsLike, base: str, where: str) -> Sentence:
    """What is said where no target lies between two replayed budgets of LRU."""
    floor = value_of(results, f"{base}.floor")
    if floor is not None and floor > 0.5:
        return say(
            results,
            f"Memory cannot keep misses low here: {{{base}.floor}} of the calls {where} are first touches, which miss "
            "whatever the budget.",
        )
    if not any(key.startswith(f"{base}.size.lru.") for key in results.numbers):
        return text("LRU was not replayed, which the sentence speaks of; the lines say what the others need.")
    return say(
        results,
        f"The budgets that were replayed do not tell what LRU needs {where}: none of the targets lies between two of "
        f"them; {{{base}.floor}} of the calls miss whatever the budget.",
    )


def _detail(results: ResultsLike) -> Sentence:
    base = budget.subject(results)
    if not base:
        return Sentence()
    found = Sentence()
    for target, words in _TARGETS.items():
        tokens = _key(base, "lru", "missed_tokens", target)
        if known(results, tokens):
            found = say(results, f"To keep missed tokens to {words} of the context, LRU needs {{{tokens}}}.")
            break
    return found + _order(results, f"{base}.order_differs")


def _order(results: ResultsLike, key: str) -> Sentence:
    """Whether it matters what is counted."""
    if value_of(results, key) == 0:
        return text("By misses and by missed tokens no two policies stand in opposite orders at any budget.")
    return clause(
        results,
        f"At {{{key}|budget}} the order of policies by missed tokens, and so by the money for them, contradicts "
        "that by misses.",
    )


def _key(base: str, policy: str, measure: str, target: str) -> str:
    return f"{base}.size.{policy}.{measure}.{target}"


_KEYS = tuple(
    _key(base, policy, measure, target)
    for objects in budget.OBJECTS
    for base in budget.bases(objects)
    for policy in ("lru", *_OTHERS)
    for measure in ("misses", "missed_tokens")
    for target in ("t10",)
)
_FLOORS = tuple(f"{base}.floor" for objects in budget.OBJECTS for base in budget.bases(objects))
_ORDERS = tuple(key.replace(".floor", ".order_differs") for key in _FLOORS)

FIGURE = FigureSpec(
    name="fig11d",
    paper="beyond Fig. 11",
    question="How much memory does a target need?",
    kind="replayed",
    tables=("replay_size", "replay_order"),
    keys=(*_KEYS, *_FLOORS, *_ORDERS),
    needs=(),
    subject=_SUBJECT,
    panels=tuple(
        Panel(
            measure,
            title,
            "replay_size",
            partial(_panel, measure=measure),
            _FLOORS,
            style.Margins(left=0.185, top=0.83),
        )
        for measure, title in (("misses", "Budget by share of calls"), ("missed-tokens", "Budget by share of tokens"))
    ),
    headline=_headline,
    detail=_detail,
    definition="The smallest budget from which on every replayed one keeps to the target lies between two replayed "
    "budgets, which the bar joins. The point is that of a straight line between them. A hollow marker that points down "
    "is the smallest replayed budget, which is enough; one that points up the largest, which is not. Shown are the "
    "objects that were replayed first.",
    population="calls with a session id, of the window or of its busiest hour; of the sampled sessions, where a sample "
    "was asked for",
    counts=tuple((key, f"calls {budget.STREAMS[key.split('.')[1]]}") for key in _FLOORS)
    + tuple((key, "budgets replayed") for key in _ORDERS),
    wording="The sentence speaks of the tightest of a tenth, a fifth and half of the calls that lies between two "
    "budgets replayed under LRU. A better policy “saves memory” when the best one named needs at most three quarters "
    "of LRU’s, else “only memory” buys hits. Under a hundred calls no verdict is given.",
    caution="Counterfactual: nobody ran these policies. Nothing is extrapolated: where a line ends, no replayed budget "
    "keeps to the target, or all do. The straight line asks for more than a curve that falls ever slower. The numbers "
    "in brackets are the replayed budgets around a point, no confidence interval. kvcensus size tells the same for any "
    "target, in GPUs and money, too.",
    in_summary=False,
)
