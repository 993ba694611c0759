"""Prompts made of common words, each one token with its space in most vocabularies.

No word is longer than six letters, which the simulated engine counts as one token, so there the
count is exact; elsewhere it is near, and what the engine reports as usage is what counts. Every
prompt starts with words of its own: no two share a prefix long enough to be found in a cache.
"""

from __future__ import annotations

import numpy as np

_VOCABULARY = (
    " able about above across act add after again age ago air all almost along also always among"
    " animal answer any appear area arm around art ask away back bad ball bank base bear beat"
    " bed before begin behind best better big bird black blue board boat body book both box boy"
    " bring brown build burn busy buy call camp can car care carry case cat catch cause cell"
    " cent center chair chance change check child church circle city class clean clear close"
    " cloud coast cold color come common cook cool copy corn corner cost cotton could count"
    " course cover cross crowd cry cut dance dark day dead deal death decide deep degree depend"
    " desert design differ direct divide doctor dog door double down draw dream dress drink"
    " drive drop dry during each early earth east easy eat edge effect egg eight either else end"
    " enemy energy engine enough enter equal even event ever every exact except expect eye face"
    " fact fair fall family famous far farm fast father favor fear feed feel feet field fight"
    " figure fill final find fine finger finish fire first fish fit five flat floor flow flower"
    " fly follow food foot force forest form four free fresh friend from front fruit full fun"
    " game garden gas gather gentle girl give glad glass gold gone good govern grand grass gray"
    " great green ground group grow guess guide hair half hand happen happy hard"
)
WORDS = tuple(_VOCABULARY.split())


def fresh(tokens: int, rng: np.random.Generator) -> str:
    """``tokens`` words drawn anew."""
    picks = rng.integers(0, len(WORDS), tokens)
    return " ".join([WORDS[pick] for pick in picks.tolist()])
