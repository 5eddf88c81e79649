"""The terms of the field and of this tool that reports use; axioms are defined in their own files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Term:
    """A term and its meaning in one or two sentences. `written`: a regular expression of how pages write it, in
    whole words; the name itself, whatever its case, and its plural, unless given."""

    name: str
    meaning: str
    written: str = ""

    @property
    def id(self) -> str:
        """The entry's place in the page."""
        return f"term-{re.sub(r'[^a-z0-9]+', '-', self.name.lower()).strip('-')}"

    @property
    def is_name(self) -> bool:
        """Whether it is a name, such as TFC1 or share of the gap, and no word that any text may hold."""
        return self.name != self.name.lower() or (" " in self.name and "," not in self.name)

    @cached_property
    def found(self) -> re.Pattern[str]:
        written = self.written or rf"(?i:{re.escape(self.name)}s?)"
        return re.compile(rf"(?<![\w-])(?:{written})(?![\w-])")


TERMS = (
    # What is asked: pairs, scores, outcomes.
    Term(
        "minimal pair",
        "A query with two versions of a document that differ in one feature only.",
        r"(?i:minimal pairs?)",
    ),
    Term(
        "baseline and perturbed",
        "The two documents of a minimal pair: the one to start from, and the one in which the feature was"
        " changed.",
        r"(?i:baselines?|perturbed)",
    ),
    Term(
        "axiom",
        "A rule from information retrieval research that says which of two documents that differ in one "
        "feature should score higher.",
    ),
    Term(
        "holds, neutral, violates",
        "What a ranker does on a pair: it scores the side that the axiom prefers higher (holds), lower "
        "(violates), or there is hardly a difference (neutral).",
        r"(?i:holds|neutral|violat(?:es?|ed|ing|ions?))",
    ),
    Term(
        "delta",
        "Differences of scores up to delta are neutral. Unless set it is 1% of the standard deviation of "
        "the ranker's own scores.",
        r"delta(?<!Cliff's delta)",
    ),
    Term(
        "adherent",
        "A pair is adherent when the ranker scores the side higher that the axiom prefers.",
        r"(?i:adherents?|adher(?:es?|ing))",
    ),
    Term(
        "k",
        "How often the term occurs, or how many times a change was made.",
        r"k(?: = \d+)?",
    ),
    Term(
        "filler",
        "A word without meaning for the query, such as 'a', that stands where the other side has a term, "
        "so that both sides are equally long.",
        r"(?i:fillers?)",
    ),
    Term(
        "IDF",
        "Inverse document frequency: how rare a word is in a collection. Rare words have a high IDF.",
        r"IDFs?",
    ),
    Term(
        "term frequency",
        "How often a query term occurs in a document.",
        r"(?i:term frequenc(?:y|ies))|TF",
    ),
    Term(
        "token",
        "A piece of text as the model reads it: a word, or a part of one (word piece).",
        r"(?i:tokens?|word pieces?|pieces?)",
    ),
    Term(
        "cls, query, inj, qterm, other, sep",
        "Categories of tokens: cls (the start), query, inj (the injected term), qterm+ and qterm- (query "
        "terms in the document that are or are not the injected one), other, sep (separators).",
        r"(?i:cls|inj|sep)|qterm[+-]?",
    ),
    # Causes.
    Term(
        "gap",
        "The score of the perturbed document less that of the baseline: what the change is worth to the ranker.",
        r"(?i:gaps?)",
    ),
    Term(
        "share of the gap",
        "How much of the gap one part of the model carries: 0 is nothing, 1 (100%) all of it, below 0 it "
        "works against it. Shares of several parts need not sum to 1.",
        r"(?i:shares? of the gap)",
    ),
    Term(
        "ratio of sums",
        "The sum of all pairs' effects divided by the sum of their gaps. Pairs with a tiny gap cannot "
        "distort it, as they would a mean of ratios.",
        r"(?i:ratios? of (?:the )?sums)",
    ),
    Term(
        "mean of ratios",
        "The mean over pairs of effect divided by gap, of pairs whose gap is not too small.",
        r"(?i:means? of ratios)",
    ),
    Term(
        "activation patching",
        "Putting what a part of the model computes on one document of a pair into the run on the other, "
        "to see how much of the score moves with it.",
        r"(?i:activation patching|patch(?:ed|ing))",
    ),
    Term(
        "path patching",
        "Activation patching of one connection only: from one part of the model to another, with all others held.",
        r"(?i:path patching|paths?)",
    ),
    Term(
        "attribution",
        "A fast estimate of activation patching from gradients.",
        r"(?i:attribution(?: patching)?)",
    ),
    Term(
        "ablation",
        "Replacing what a part of the model computes by zeros, by its mean, or by its value on other "
        "pairs (resample), to see what is lost.",
        r"(?i:ablat(?:ions?|ed?|ing))",
    ),
    Term(
        "denoise",
        "Patch from the perturbed document into the run on the baseline, to see which part is enough to "
        "raise the score.",
        r"(?i:denois(?:e|ing))",
    ),
    Term(
        "noise",
        "Patch from the baseline into the run on the perturbed document, to see which part is needed for "
        "the higher score.",
        r"(?i:nois(?:e|ing))",
    ),
    Term(
        "site",
        "A place in the model that can be patched: L4.attn is the attention of layer 4, L4.mlp its feed-"
        "forward part, L4.resid the layer's input. Layers count from 0.",
        r"(?i:sites?)|L\d+\.(?:attn|mlp|resid)",
    ),
    Term(
        "head, such as 10.1",
        "An attention head: one of the parallel parts of a layer that move information between tokens. "
        "10.1, or L10.H1, is head 1 of layer 10; both count from 0.",
        r"(?i:heads?)|L\d+\.H\d+(?:\.\w+)?",
    ),
    Term(
        "logits",
        "The model's output: the score before anything is done to it.",
        r"(?i:logits?)",
    ),
    Term(
        "circuit",
        "The parts of a model that together do a task, and how they are connected.",
        r"(?i:circuits?)",
    ),
    Term(
        "matching head",
        "A head that finds, for a query token, the same and related words in the document; it computes a "
        "soft term frequency.",
        r"(?i:matching(?: heads?)?)",
    ),
    Term(
        "contextualization head",
        "A head that lets query tokens exchange what was found for them.",
        r"(?i:contextuali[sz]ation(?: heads?)?)",
    ),
    Term(
        "scoring head",
        "A head late in the model that gathers what was found for the query tokens into the score.",
        r"(?i:scoring heads?|scoring)(?! the)",
    ),
    Term(
        "faithfulness",
        "How much of the whole model's behaviour a circuit alone still shows: 1 (100%) is all.",
        r"(?i:faithful(?:ness)?)",
    ),
    Term(
        "SemanticBM",
        "A formula in the manner of BM25 that predicts a cross-encoder's score from its matching heads "
        "and an IDF that is read from its embeddings.",
        r"(?i:semantic[ -]?bm(?:25)?)",
    ),
    Term(
        "U0",
        "The direction of the token embeddings with the largest spread (the first singular vector). Along"
        " it cross-encoders tend to hold the IDF of a word.",
        r"U0",
    ),
    Term(
        "singular vectors",
        "The directions of a matrix, here the embeddings, in the order of how much of its spread they carry.",
        r"(?i:singular (?:vectors?|values?))",
    ),
    Term(
        "dial",
        "Moving a word's embedding along U0, so that the model takes it for rarer (up) or commoner (down).",
        r"(?i:dials?|dialed|dialled)",
    ),
    Term(
        "suppress",
        "Editing the model so that texts with given words are no longer raised by them.",
        r"(?i:suppress(?:ed|ion|ing)?)",
    ),
    # Rankers and collections.
    Term(
        "BM25",
        "The classic ranking formula: it rewards rare query terms, each further occurrence less, and "
        "makes long documents pay. It knows words only, no meaning.",
        r"(?i:bm25)",
    ),
    Term(
        "cross-encoder",
        "A neural ranker that reads query and document together.",
        r"(?i:cross-encoders?)",
    ),
    Term(
        "bi-encoder",
        "A neural ranker that turns query and document into a vector each and compares the vectors.",
        r"(?i:bi-encoders?)",
    ),
    Term(
        "DGRe",
        "The re-ranker that keeps same-word, near and other relations of words apart in graphs before it "
        "scores a document.",
        r"DGRe|dgre",
    ),
    Term(
        "LGRe",
        "A re-ranker that reads a document through its graph of words.",
        r"LGRe|lgre",
    ),
    Term(
        "first stage",
        "The fast ranking, mostly BM25, whose top documents are the candidates that are re-ranked.",
        r"(?i:first[ -]stages?|candidates?)",
    ),
    Term(
        "judgements",
        "What people said about which documents answer a query (qrels).",
        r"(?i:judge?ments?|judged|qrels)",
    ),
    Term(
        "fold",
        "One of several ways to split the queries into those to learn from and those to test on.",
        r"(?i:folds?)",
    ),
    Term(
        "seed",
        "The number that random choices start from; the same seed makes the same choices.",
        r"(?i:seeds?)",
    ),
    Term(
        "epoch",
        "One pass of training over all its examples.",
        r"(?i:epochs?)",
    ),
    # Measures.
    Term(
        "nDCG@10",
        "How good the first ten results are, from 0 to 1: graded judgements, the first places count most.",
        r"nDCG(?:@\d+)?",
    ),
    Term(
        "RR@10",
        "Reciprocal rank: 1 divided by the place of the first relevant result, 0 beyond the tenth.",
        r"M?RR(?:@\d+)?",
    ),
    Term(
        "AP",
        "Average precision: the mean of the precision at each relevant result.",
        r"M?AP(?:@\d+)?",
    ),
    Term(
        "P@10",
        "Precision: the share of relevant documents among the first ten.",
        r"P@\d+",
    ),
    Term(
        "R@100",
        "Recall: the share of all relevant documents that is among the first hundred.",
        r"R@\d+",
    ),
    Term(
        "correlation (r)",
        "How closely two quantities go together, from -1 (opposite) over 0 (not at all) to 1. Pearson's "
        "compares values, Spearman's and Kendall's compare orders.",
        r"(?i:correlat(?:ions?|es?|ed))|Pearson(?:'s)?|Spearman(?:'s)?|Kendall(?:'s)?|r",
    ),
    Term(
        "R2",
        "How much of the variation a fitted curve explains: 1 is all of it.",
        r"R2|R²",
    ),
    Term(
        "AICc",
        "A measure of how well a curve fits for its number of parameters; the lowest is best.",
        r"AICc?",
    ),
    Term(
        "Cliff's delta",
        "How often values of one group are above those of another, less how often below: from -1 to 1, 0 "
        "where the groups do not differ.",
        r"Cliff's delta",
    ),
    # How sure.
    Term(
        "interval",
        "A 95% interval: where the true value lies with 95% confidence, from drawing the queries anew "
        "(bootstrap). An interval that excludes 0 means that the sign is sure.",
        r"(?i:intervals?)",
    ),
    Term(
        "bootstrap",
        "Drawing the queries again and again, with repetition, to see how far a number would vary.",
        r"(?i:bootstrap(?:s|ped)?)",
    ),
    Term(
        "p",
        "How likely a difference at least this large would be if there were none. Below 0.05 it is called"
        " significant.",
        r"p|p-values?|(?i:significan(?:t|ce)(?:ly)?)",
    ),
    Term(
        "Holm",
        "A correction of p-values for many comparisons at once, so that chance findings do not pile up.",
        r"Holm(?:'s|-corrected)?",
    ),
    Term(
        "Benjamini-Hochberg",
        "A milder correction of p-values for many comparisons: it limits the share of false findings "
        "among all findings.",
        r"Benjamini-Hochberg(?:'s)?|BH",
    ),
    Term(
        "too few queries",
        "With fewer than 6 queries there is neither an interval nor a p-value: they say too little about "
        "other queries.",
        r"(?i:too few queries)",
    ),
    Term(
        "no spread",
        "All values are the same, so that there is nothing to make an interval from.",
        r"(?i:no spread)",
    ),
)
