"""What 'Pathway to Relevance' reports of cross-encoder/ms-marco-MiniLM-L-12-v2; its numbers are here only."""

from __future__ import annotations

#: What the scoring heads read, and the sign of r that follows.
READS = {"10.1": "rare terms", "10.10": "common terms", "10.4": "mid to rare terms", "10.7": "mid to rare terms"}
COMMON = "10.10"

#: r between the maps of TFC1 and of STMC1.
SETS_TO_LOGITS, SETS_TO_VALUES, SETS_ACTIVATION = 0.99, 0.83, 0.96
#: Mean |r| of the scoring heads' CLS attention with IDF.
SCORING_R = 0.67
#: r of query-to-query attention with IDF.
CONTEXTUALIZATION_R = {"L8.H10": 0.781, "L9.H11": 0.829}
#: Mean r of attention with the cosine of embeddings.
MATCHING_R, OTHERS_R = 0.5, 0.132
U0_MATCHING_R, U0_IDF_R = 0.143, -0.7136
#: The mean logit before and after the 13 matching heads are zeroed.
ZEROED = {"TFC1": "5.146 to -4.394", "STMC1": "-1.998 to -4.611"}
#: The share of unsafe documents below safe ones, and nDCG against the unedited ranking.
SUPPRESSED, SUPPRESSED_NDCG = 0.804, 0.9861
#: Pearson with the cross-encoder's score, by our name of the model.
SEMANTIC_BM_R = {"semantic_bm": 0.8157, "bm25": 0.42}
