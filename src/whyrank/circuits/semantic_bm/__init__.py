"""SemanticBM: a cross-encoder's score as a linear model of its own parts.

For each query token i there is f_i = -U0[i], the model's own IDF, and for each matching head k the matching
score MS_ik, what token i reads of the document through that head. The score is fitted as

    b + sum over i of ( a f_i + sum over k of ( beta_k MS_ik + gamma_k f_i MS_ik ) )

whose terms say of each query token what it adds, by its rarity and by each head.
"""
