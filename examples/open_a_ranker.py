# %% [markdown]
# # Open a ranker
#
# Which heads carry a query term into the score? Minimal pairs say what changes, patching says which head it goes
# through, a head's attention says where it looks, and a trace reads or replaces anything.
# %%
import matplotlib.pyplot as plt

import whyrank

ranker = whyrank.load("ce-minilm-l12")
pairs = whyrank.pairs("TFC1:append", "demo", ranker, documents=24).pairs
pair = pairs[0]
print(len(pairs), "pairs; the first:", pair.query)
print("baseline ", "...", pair.baseline[-60:])
print("perturbed", "...", pair.perturbed[-60:])
# %% [markdown]
# ## Patching: the way from a head to the score
#
# Path patching: a head's output is taken from the run over the perturbed text and put into the run over the baseline,
# all other heads held; what reaches the logits is its direct effect. All 144 heads, exactly, and the share of the gap
# that each makes up, with an interval that is clustered by query.
# %%
direct = whyrank.patch(ranker, pairs, method="path", to="logits")
print(*direct.verdict(), sep="\n")
# %%
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
direct.plot(axes)
plt.show()
# %% [markdown]
# Activation patching lets everything above the head go on from the patch: its total effect. Head 7.9 is not among
# those that write the score; what it finds takes the way through heads above it.
# %%
total = whyrank.patch(ranker, pairs, sites="7.9,10.1,10.10")
shares = {one.site: one.share for one in direct.sites}
for one in total.sites:
    print(f"{one.site:9} total {one.share.text('.1%'):24} direct {shares[one.site].text('.1%')}")
# %% [markdown]
# ## Where it looks
#
# The attention of one head on one pair: each row is a token that reads, each column one that is read.
# %%
query, text = "how big is berlin", "Berlin has 3.5 million inhabitants. The city is big."
looks = whyrank.attention(ranker, "7.9", query, text)
print(*looks.verdict(), sep="\n")
print(looks.strongest(4))
figure, axes = plt.subplots(figsize=(6, 5.5), layout="constrained")
looks.plot(axes)
plt.show()
# %% [markdown]
# ## Read and replace
#
# A site prints as it parses: `L10.H1.z`, short `10.1`, is a head's output, `L4.resid@cls` the residual stream at the
# first token. What is the score without the head that matches words?
# %%
plain = ranker.trace([(query, text)], read=["7.9", "L4.resid@cls"])
without = ranker.trace([(query, text)], replace={"7.9": 0.0})
print("tokens", plain.tokens[0])
print("shapes", {site: tuple(plain.values[site].shape) for site in ("7.9", "L4.resid@cls")})
print(f"score {plain.scores[0].item():.2f}, without head 7.9 {without.scores[0].item():.2f}")
# %% [markdown]
# On the command line: `whyrank pairs`, `whyrank patch` (a map of all heads in report.html), `whyrank attention --head`.
# The paths between heads: [interventions](../docs/interventions.md); what each head is for: [circuits](../docs/circuits.md).
