# %% [markdown]
# # Audit and gate
#
# Does a ranker do what IR axioms say, and is the next version as good as the last one? Both answers can stop a
# build: exit code 3 and a JUnit file.
# %%
import os
import shlex
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt

import whyrank

audit = whyrank.audit(["bi-minilm-l6", "bm25"], "demo", "TFC1,LNC1", documents=20)
print(*audit.verdict(), sep="\n")
# %% [markdown]
# One row per axiom and ranker, with intervals that are clustered by query; below, the pair that violates most:
# LNC1 says that sentences of another topic should not raise a score, and here they do.
# %%
for one in audit.axioms:
    print(f"{one.ranker:13} {one.axiom:15} holds {one.holds.text('.0%')}, violates {one.violates.text('.0%')}")
worst = next(one for one in audit.axioms if one.worst).worst[0]
print(f"\n'{worst.query}': {worst.baseline:.3f} without, {worst.perturbed:.3f} with the change, in")
print(worst.perturbed_text)
# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
audit.plot(axes)
plt.show()


# %% [markdown]
# ## A gate on the audit
#
# A condition says when a number fails, the command then ends with exit code 3. The value decides; the line says its
# interval, too. This is what a CI job runs.
# %%
def sh(command):
    plain = {**os.environ, "FORCE_COLOR": "", "COLUMNS": "110"}
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, env=plain)
    gate = [line for line in done.stderr.splitlines() if line.startswith("gate")]
    print(f"$ {command}\n{done.stdout}", *gate, f"exit code {done.returncode}", sep="\n")


sh(
    "whyrank audit --ranker bi-minilm-l6 --collection demo --axiom TFC1,LNC1 --documents 20 -o runs/audit "
    "--fail-if 'TFC1 < 0.9' --junit axioms.xml"
)
# %%
print(Path("axioms.xml").read_text())


# %% [markdown]
# ## A gate on a new version
#
# May the ranker of three layers replace that of six? Rank with both, compare, and fail if nDCG@10 falls by more
# than 0.01.
# %%
for name in ("bi-minilm-l6", "bi-minilm-l3"):
    whyrank.rank(name, "demo", depth=20, out=f"runs/{name}")
sh(
    "whyrank diff runs/bi-minilm-l6 runs/bi-minilm-l3 --collection demo "
    "--ranker bi-minilm-l6 --ranker bi-minilm-l3 --queries 2 --documents 1 --budget 60 "
    "--fail-if 'nDCG@10 < -0.01' --junit gate.xml"
)
# %%
print(Path("gate.xml").read_text())
# %% [markdown]
# The same ranker against itself passes:
# %%
sh("whyrank diff runs/bi-minilm-l6 runs/bi-minilm-l6 --qrels demo --fail-if 'overlap < 1'")
