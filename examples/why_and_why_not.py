# %% [markdown]
# # Why, and why not
#
# Why is this document first? Why is it above that one? Why is the one I expected not on top? What changed since
# the last ranker? Each answer is one call; effects are differences of real scores, in the ranker's own unit.
# %%
import matplotlib.pyplot as plt

import whyrank

ranker = whyrank.load("ce-minilm-l12")
collection = whyrank.collection("demo")
run = whyrank.rank("bm25", collection, depth=10).run  # what the first stage found
query = collection.queries["q21"]
ranking = ranker.rank(query, collection.texts([row.docno for row in run["q21"]]))
print(query)
for one in ranking[:5]:
    print(one.rank, one.docno, f"{one.score:6.2f}", one.text[:60])
# %% [markdown]
# ## Why is it first?
#
# Each word is replaced by fillers that keep all other words in their place, and the text is scored again. `budget`
# bounds how many texts are scored (400 unless set): the fewer, the fewer words are tried, and the answer says so.
# %%
first = whyrank.explain(ranker, query, ranking[0].docno, collection=collection, budget=60)
print(first.in_words())
# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
first.plot(axes)
plt.show()
# %% [markdown]
# ## Why is it above that one?
#
# The difference of the two scores word by word, and the smallest change found that makes them change places. The
# change is scored, not estimated.
# %%
above = whyrank.explain(ranker, query, ranking[0].docno, versus=ranking[1].docno, collection=collection, budget=60)
print(above.in_words())
for one in above.versus.words[:5]:
    print(f"{one.word:12} {one.difference:+.2f}")
# %% [markdown]
# ## Why is this one not on top?
#
# Another query: d022 is about keeping snakes and judged relevant. What does it lack, and what would lift it into
# the first three?
# %%
expected = whyrank.explain(ranker, "q10", "d022", run=run, collection=collection, top=3, budget=60)
print(expected.query)
print(expected.in_words())
for lift in expected.why_not.lifts:
    print(lift.way, lift.words, f"score {lift.score:.2f}, rank {lift.rank}")


# %% [markdown]
# ## As search engines write theirs
#
# Value, description, details: for tools that show a search engine's explain output. `to_json()` holds everything
# else, `Explanation.schema()` is its JSON schema.
# %%
def show(node, depth=0, most=4):
    print(f"{'    ' * depth}{node.value:.2f}  {node.description}")
    for one in node.details[:most]:
        show(one, depth + 1, most)


show(first.tree())
# %% [markdown]
# ## What changed since the last ranker?
#
# Two rankings of the same queries: what moved, what that gained or lost, and the words behind the largest moves.
# %%
before = whyrank.rank("bm25", collection, depth=5, queries=6).run
after = whyrank.rank(ranker, collection, depth=5, queries=6).run
changed = whyrank.diff(
    before,
    after,
    collection=collection,
    rankers=["bm25", ranker],
    measure="nDCG@5",
    depth=5,
    queries=2,
    documents=1,
    budget=40,
)
print(*changed.verdict(), sep="\n")
for row in changed.rows:
    for move in row.moves:
        words = ", ".join(one.word for one in move.words[:3])
        print(f"'{row.query}': {move.docid} from {move.before} to {move.after}; words: {words}")
changed.to_pandas()
# %% [markdown]
# On the command line: `whyrank explain --ranker ce-minilm-l12 --query "..." --doc TEXT`, `--versus`, `--top`, and
# `whyrank diff RUN_A RUN_B`. A result is saved as a page to send to a colleague by `first.save("runs/why")`.
