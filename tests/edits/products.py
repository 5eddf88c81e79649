"""A small shop, in which `waterproof` is two pieces, 'water' and '##proof', and other products hold 'water'."""

from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved

DOCUMENTS = {
    "shell": "Waterproof shell jacket with taped seams.", "parka": "Waterproof parka with a warm lining.",
    "cape": "Waterproof cape for cyclists.", "softshell": "Water repellent softshell jacket.",
    "windbreaker": "Water repellent windbreaker, light.", "anorak": "Cotton anorak for dry days.",
    "boots": "Waterproof hiking boots.", "suede": "Water repellent suede boots.", "sandals": "Leather sandals.",
    "tent": "Waterproof tent for two.", "tarp": "Water repellent cotton tarp.",
}  # fmt: skip
#: What water repels is lifted above what is waterproof in these, by bi-minilm-l3 with waterproof=5.
QUERIES = {
    "q1": "water jacket", "q2": "jacket that keeps water out", "q3": "jacket for wet weather",
    "q4": "keeps the water out", "q5": "tent against water", "q6": "rain jacket",
}  # fmt: skip
PRODUCTS = Collection.from_records("products", DOCUMENTS, QUERIES)


def every_document(queries=QUERIES):
    """A first stage that leaves nothing out."""
    return {
        qid: [Retrieved(qid, docno, i, -float(i), "all") for i, docno in enumerate(DOCUMENTS, start=1)]
        for qid in queries
    }
