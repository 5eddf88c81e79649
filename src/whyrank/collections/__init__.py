"""Collections: documents, queries, judgements and first-stage runs, from the formats the field uses."""

from whyrank.collections.bm25 import BM25Index, TermScore, first_stage
from whyrank.collections.catalogue import available, fetch, open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.fields import Fields
from whyrank.collections.formats import read_documents, read_qrels, read_queries, read_run
from whyrank.collections.records import Document, Judgement, Qrels, Queries, Query, Retrieved, Run
from whyrank.collections.trec import write_qrels, write_run

__all__ = [
    "BM25Index",
    "Collection",
    "Document",
    "Fields",
    "Judgement",
    "Qrels",
    "Queries",
    "Query",
    "Retrieved",
    "Run",
    "TermScore",
    "available",
    "fetch",
    "first_stage",
    "open_collection",
    "read_documents",
    "read_qrels",
    "read_queries",
    "read_run",
    "write_qrels",
    "write_run",
]
