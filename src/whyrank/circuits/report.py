"""The report of a circuit."""

from __future__ import annotations

from whyrank.circuits.brought_report import add_brought, brought_sentences
from whyrank.circuits.curves.report import add_curves, curve_sentences
from whyrank.circuits.results import (
    CONTEXTUALIZATION,
    MATCHING,
    ROLES,
    SCORING,
    TESTS,
    Ablated,
    Circuit,
    Edge,
    RandomSets,
    RoleTest,
    Step,
)
from whyrank.circuits.selection_report import add_selection, selection_sentence
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import NOTHING, Estimate, percent
from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report

#: What the paper found in ms-marco-MiniLM-L-12-v2 ('Pathway to Relevance').
PAPER = {
    SCORING: "10.1 10.4 10.7 10.10; mean r of CLS attention with IDF .67, the sign differs by head",
    CONTEXTUALIZATION: "8.10 (r .781) and 9.11 (r .829)",
    MATCHING: "0.8 1.7 2.1 3.1 4.9 5.7 5.9 6.3 6.5 7.9 8.0 8.1 8.8; mean r with cosine .500, other heads .132",
    "between_sets": "TFC1 against STMC1: to the logits r=.99, to the scoring heads r=.83",
    "u0": "U0 against matching score r=.143",
    "queries": "matching heads to the scoring heads' queries: about 0",
    "ablation": "the 13 matching heads zeroed: TFC1 logit 5.146 to -4.394, STMC1 -1.998 to -4.611",
}
#: Heads or senders named in one cell of a table.
NAMED = 12
#: Receivers named there.
RECEIVERS = 8


def circuit_verdict(circuit: Circuit) -> list[str]:
    """How many heads of which role, how they were confirmed, which one matters most, and whether the circuit is
    enough and needed."""
    numbers = {role: len(circuit.roles.get(role, ())) for role in ROLES}
    parts = ", ".join(f"{count} {role}" for role, count in numbers.items() if count)
    count = counted(len(circuit.heads), "head")
    said = [f"The score of {circuit.ranker} passes through {count}: {parts}."]
    if circuit.was_brought:
        said = [f"{count} of {circuit.ranker} were brought ({circuit.name}): {parts}."]
    leading = max(circuit.kept(circuit.steps[0]), key=lambda edge: abs(edge.share.value or 0.0), default=None)
    if leading:
        said[0] += f" Most of the gap reaches the logits through {short_name(leading.sender)}: "
        said[0] += f"{leading.share.percent(1)}."
    if circuit.selection:
        said.append(selection_sentence(circuit.selection))
    if circuit.faithfulness:
        said += _enough_and_needed(circuit)
    said += curve_sentences(circuit.curves)
    if circuit.brought:
        said += brought_sentences(circuit.brought)
    if circuit.queries < FEWEST_QUERIES:
        said.append(f"{TOO_FEW.capitalize()} ({circuit.queries}) for intervals: no head was tested.")
    return said


def _enough_and_needed(circuit: Circuit) -> list[str]:
    name, first = next(iter(circuit.faithfulness.items()))
    kind, found = first.fairest()
    alone, without, random = found.only_circuit.kept, found.without_circuit.kept, found.without_circuit.random
    if alone.value is None or without.value is None:
        return []
    rivals = "" if random.mean is None else f" (without as many random heads {percent(random.mean)})"
    return [
        f"Alone it keeps {alone.percent()} of the gap of {name} ({kind} ablation); without it "
        f"{without.percent()} is left{rivals}."
    ]


def circuit_page(circuit: Circuit) -> Report:
    """The page: the verdict, the graph, then what speaks for each role."""
    page = Report(
        f"The circuit of {circuit.ranker}",
        f"{counted(len(circuit.heads), 'head')}; exact activation and path patching, threshold "
        f"{circuit.threshold} (decided by {circuit.decide}); IDF from {circuit.idf.source}.",
        circuit.verdict(),
    )
    page.heading("The circuit")
    _figures(page, circuit, "graph")
    page.paragraph(f"The search ended: {circuit.ended}.")
    _roles(page, circuit)
    if circuit.selection:
        page.heading("How its heads were selected")
        add_selection(page, circuit.selection)
        _figures(page, circuit, "selection")
    if circuit.brought:
        page.heading("Beside the heads that were brought")
        add_brought(page, circuit, circuit.brought)
    page.heading("Who sends to whom")
    _steps(page, circuit)
    _figures(page, circuit, "to-logits", "step-")
    page.heading("What each head looks at")
    _tests(page, circuit)
    _figures(page, circuit, "tests", "scoring-idf", "example-")
    if circuit.saturation or circuit.length:
        page.heading("Do matching heads count?")
        _figures(page, circuit, "saturation", "count", "length")
    if circuit.senders or circuit.senders_by_token:
        page.heading("What feeds the circuit")
        _figures(page, circuit, "senders")
    if circuit.faithfulness:
        page.heading("Is it enough, is it needed?")
        _faithfulness(page, circuit)
    if circuit.curves:
        page.heading("How much of the ranker does it take?")
        _figures(page, circuit, "curve-")
        add_curves(page, circuit.curves)
    page.heading("Are IDF and matching separate?")
    _independence(page, circuit)
    if circuit.changed_texts:
        circuit.changed_texts.add_to(page, circuit.texts.sentences(circuit.ranker))
    return page


def _figures(page: Report, circuit: Circuit, *prefixes: str) -> None:
    for name, (svg, caption, data) in circuit.drawn.items():
        if name.startswith(prefixes):
            page.figure(svg, caption, data, name)


def _roles(page: Report, circuit: Circuit) -> None:
    rows: list[list[Cell]] = [
        [
            role, _names(heads), *role_cells(circuit.tests.roles.get(role)), _listed(_outside(circuit, role), " "),
            PAPER.get(role),
        ]
        for role, heads in circuit.roles.items()
    ]  # fmt: skip
    page.table(
        ["role", "heads", "mean r", "all other heads", "of this role, not in the circuit", "the paper"],
        rows,
        "r: attention of CLS to query tokens against IDF (scoring), of query tokens to each other against IDF "
        "(contextualization), of query to document tokens against the cosine of their embeddings (matching); "
        "pooled over texts, intervals over queries. All heads of the model were tested; a head may have several "
        "roles.",
    )


def _outside(circuit: Circuit, role: str) -> list[str]:
    """The heads that pass a role's test and are not in the circuit."""
    return [short_name(one.head) for one in circuit.tests.heads if role in one.roles and not one.in_circuit]


def role_cells(test: RoleTest | None) -> list[str]:
    """The mean r of a role's heads, and of all others; dashes for a role without heads or without a test."""
    if test is None or test.role is None or test.others is None:
        return [NOTHING, NOTHING]
    return [test.role.text(), test.others.text()]


def _steps(page: Report, circuit: Circuit) -> None:
    rows: list[list[Cell]] = []
    for step in circuit.steps:
        kept = [_edge_text(edge) for edge in circuit.kept(step)]
        rows.append(
            [
                f"{step.number}: {_receivers(step)}", f"{sum(step.pairs.values())} ({step.queries})",
                _followed(step), _carried(step), _listed(kept, "; "),
                _listed([short_name(edge.sender) for edge in circuit.borderline(step)], " "),
            ]
        )  # fmt: skip
    if any(step.carried for step in circuit.steps):
        page.table(
            ["step: receivers", "pairs (queries)", "senders", "receivers carry (cut-off)",
             "kept (share of what they carry; of the gap)", "not kept"],
            rows,
            "Receivers carry: the share of the gap when all of them have their whole perturbed values, in each "
            "set; in brackets the least share of that which counts. Kept: in every set that decides, above the "
            "cut-off on one half of the queries and confirmed on the other, which the shares are of. Not kept: "
            "chosen, and not confirmed or too small there.",
        )  # fmt: skip
    else:
        page.table(
            ["step: receivers", "pairs (queries)", "senders", "cut-off", "kept (share of the gap)", "borderline"],
            rows,
            "Shares are ratios of sums over all pairs. Senders: all heads below, or the strongest of them on the "
            "first pairs, which alone were patched on the rest.",
        )
    between: list[list[Cell]] = [
        [
            f"{step.number}: {_receivers(step)}",
            f"{one.first} and {one.second}",
            one.pearson.text(),
            one.pearson.pairs,
        ]
        for step in circuit.steps
        if (one := step.between_sets)
    ]
    if between:
        caption = (
            "Pearson over heads between the maps of the first two sets of pairs, on the pairs that all heads "
        )
        caption += f"have. The paper, {PAPER['between_sets']}."
        page.table(["step: receivers", "maps of", "r", "pairs"], between, caption)


def _tests(page: Report, circuit: Circuit) -> None:
    rows: list[list[Cell]] = [
        [
            short_name(one.head), ", ".join(one.roles) or NOTHING, f"{one.query_mass:.3f}",
            *(f"{one.pooled[name].text()}; {_r(one.within[name])}" for name in TESTS),
        ]
        for one in circuit.tests.heads if one.in_circuit
    ]  # fmt: skip
    page.table(
        ["head", "roles", "CLS to query", *(f"r {name}; within" for name in TESTS)],
        rows,
        "All three tests for every head of the circuit (all other heads in circuit.json). CLS to query: the part "
        "of CLS's attention that goes to query tokens. Within: both sides less their mean in each text.",
    )


def _faithfulness(page: Report, circuit: Circuit) -> None:
    rows: list[list[Cell]] = [
        [
            f"{name} ({one.kept.pairs})", kind, label, one.kept.text(), _spread(one.random),
            f"{_scores(found.base, found.perturbed)}; {_scores(one.base, one.perturbed)}",
        ]
        for name, measured in circuit.faithfulness.items()
        for kind, found in measured.kinds.items()
        for label, one in found.each().items()
    ]  # fmt: skip
    page.table(
        ["pairs (n)", "ablation", "what is left", "kept of the gap", "random heads", "scores intact; ablated"],
        rows,
        "Scores: mean of baseline / perturbed. Random heads: as many of each layer, mean (least to most). The "
        f"paper: {PAPER['ablation']}.",
    )


def _independence(page: Report, circuit: Circuit) -> None:
    u0, paths = circuit.u0_against_matching, circuit.matching_to_scoring
    if u0:
        page.paragraph(
            f"U0 against the matching score of a query token: r = {u0.text()}, {counted(u0.pairs, 'token')} of "
            f"{counted(u0.queries, 'query', 'queries')}. The paper: {PAPER['u0']}."
        )
    if paths is None:
        return
    for sent, word in ((paths.v, "values"), (paths.q, "queries"), (paths.k, "keys")):
        if sent:
            page.paragraph(
                f"All matching heads below, together, to the scoring heads' {word}: {sent.share.text()} of the "
                f"gap ({counted(sent.n, 'pair')})."
            )
    page.paragraph(f"The paper: {PAPER['queries']}.")


def ablation_sentence(name: str, kind: str, alone: Ablated, without: Ablated) -> str:
    """What the circuit alone, and the rest without it, keep of the gap."""
    if alone.kept.value is None or without.kept.value is None:
        return f"{name}, {kind} ablation: its pairs have no gap to keep a part of"
    return (
        f"{name}, {kind} ablation: the circuit alone keeps {alone.kept.text()} of the gap, the rest "
        f"{without.kept.text()}"
    )


def _names(heads: tuple[str, ...]) -> str:
    return " ".join(map(short_name, heads)) or NOTHING


def _listed(names: list[str], between: str) -> str:
    return between.join(names[:NAMED]) + (" ..." if len(names) > NAMED else "") or NOTHING


def _r(estimate: Estimate) -> str:
    return NOTHING if estimate.value is None else f"{estimate.value:.3f}"


def _edge_text(edge: Edge) -> str:
    """`10.1 0.31 [0.25, 0.38]; 0.11`: the share of what the receivers carry, and of the gap."""
    whole = edge.share_of_receivers
    if whole is None or edge.part is None:
        return f"{short_name(edge.sender)} {edge.share.text()}"
    return f"{short_name(edge.sender)} {whole.text('.2f')}, {_r(edge.share)}"


def _carried(step: Step) -> str:
    """What the receivers carry in each set, or the one cut-off of select 'gap'."""
    if not step.carried:
        return NOTHING if step.cutoff is None else f"{step.cutoff:.4f}"
    return "; ".join(
        f"{name} {NOTHING if one.share.value is None else f'{one.share.value:.3f}'} "
        f"({one.why_not or (NOTHING if one.cutoff is None else f'{one.cutoff:.3f}')})"
        for name, one in step.carried.items()
    )


def _followed(step: Step) -> str:
    if step.followed == len(step.shares):
        return f"{step.followed}"
    return f"{step.followed} of {len(step.shares)} after {step.chosen_on} pairs"


def _receivers(step: Step) -> str:
    if step.part is None:
        return "logits"
    names = step.receivers
    more = f" and {len(names) - RECEIVERS} more" if len(names) > RECEIVERS else ""
    return f"{step.part} of {_names(names[:RECEIVERS])}{more}"


def _spread(random: RandomSets) -> str:
    if random.mean is None:
        return NOTHING
    return f"{random.mean:.3f} ({random.least:.3f} to {random.most:.3f})"


def _scores(base: float, perturbed: float) -> str:
    return f"{base:.2f} / {perturbed:.2f}"
