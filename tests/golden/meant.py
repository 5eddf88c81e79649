"""Every difference from the frozen results that is meant or cannot be avoided, and why."""

from typing import NamedTuple


class Meant(NamedTuple):
    """Cases and differences by `fnmatch` patterns of their names and lines."""

    case: str
    what: str
    why: str


#: Per-query values stood in evaluation.json and in per_query.parquet.
ONCE = "the values per query are in per_query.parquet alone"
#: Of each set of pairs the study keeps what its pages show; `whyrank patch` on the same pairs has the rest.
SHOWN = "the study's file keeps shares, effects and their tests, and the gaps; patch has the rest"
#: t-SNE magnifies the last digit of its input, which another processor rounds otherwise.
CHAOTIC = "coordinates of t-SNE; the vectors' cosines beside them are compared"
#: `edit --experiment` and `suppress` by the old rule and the old threshold are compared by cases of their own.
SD = "the two-token experiment counts in sd, against 20 random directions; suppressed rises are at least 0.1 sd"
#: The control of saturation had words of the query, other than the term, among its tokens.
CONTROL = "the control of saturation is document tokens that are not in the query"
#: Heads that were scoring by the share of CLS's attention are so by its r with IDF, which six queries do not show.
ROLES = "roles are tested for all heads of the model, with Holm's correction"
LAYERS = "random heads are of the same layers as the circuit's"
#: `circuit` compares the search of before, with --select gap.
HALVES = "the study's heads are chosen by their total effect"
MEANT = [
    Meant("eval", "evaluation.json: per_query.*", ONCE),
    Meant("eval", "name q*", ONCE),
    Meant("study-term-frequency", "*.mean_of_ratios was *", SHOWN),
    Meant("study-term-frequency", "*.gap.base was *", SHOWN),
    Meant("study-term-frequency", "*.gap.perturbed was *", SHOWN),
    Meant("study-semantic-circuit", "circuit/circuit.json: saturation.other tokens.*", CONTROL),
    Meant("study-disentangled", "*.alike.*.spearman was *", "maps of heads are compared by Pearson's r alone"),
    Meant("study-disentangled", "study.json: figures.t_sne.*.points.* was *", CHAOTIC),
    Meant("study-disentangled", "stages/*t-sne.json: *.points.* was *", CHAOTIC),
    Meant("study-semantic-circuit", "two-tokens/*", SD),
    Meant("study-semantic-circuit", "suppress/*", SD),
    Meant("suppress", "suppress.json: threshold was *", "the least rise is in standard deviations of the scores"),
    Meant("suppress", "suppress.json: control.*", "the control is several random directions, not one"),
    Meant("circuit", "circuit.json: faithfulness.*.random.*", LAYERS),
    Meant("circuit", "circuit.json: example.scoring.*", ROLES),
    Meant("circuit", "circuit.json: tests.by_idf.*", ROLES),
    Meant("circuit", "circuit.json: tests.roles.scoring.*", ROLES),
    Meant("circuit", "count 5 *", ROLES),
    Meant("study-semantic-circuit", "circuit/circuit.json: *", HALVES),
    Meant("study-semantic-circuit", "semantic-bm/*", HALVES),
    Meant("study-disentangled", "count 6 *", "trainings without a better epoch are counted from their epochs"),
]
