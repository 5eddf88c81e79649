"""IR axioms as minimal pairs: one file each, and what an axiom of your own is made of."""

from whyrank.axioms.axiom import Axiom, Draft, Material, Skip, appended, parameter
from whyrank.text.alignment import Slotted

__all__ = ["Axiom", "Draft", "Material", "Skip", "Slotted", "appended", "parameter"]
