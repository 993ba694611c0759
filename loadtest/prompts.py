"""Prompts made of common words, each one token with its space in most vocabularies.

The simulated engine counts one token a word, so there the count is exact; elsewhere it is near,
and what the engine reports as usage is what counts. Every prompt starts with words of its own:
two requests share no prefix long enough to be found in a cache.
"""

from __future__ import annotations

import numpy as np

WORDS = tuple(
    """
    able about above across act add after again against age ago air all almost along already also
    always among animal answer any appear area arm around art ask away back bad ball bank base bear
    beat bed before begin behind best better between big bird black blue board boat body book both
    box boy bring brother brown build burn business busy buy call camp can capital car care carry
    case cat catch cause cell cent center certain chair chance change check child church circle
    city class clean clear close cloud coast cold collect color come common company compare
    complete consider contain control cook cool copy corn corner correct cost cotton could count
    country course cover cross crowd cry current cut dance dark day dead deal death decide deep
    degree depend desert design develop differ difficult direct discuss distance divide doctor
    dog door double down draw dream dress drink drive drop dry during each early earth east easy
    eat edge effect egg eight either electric else end enemy energy engine enough enter equal even
    evening event ever every exact example except expect experience experiment express eye face
    fact fair fall family famous far farm fast father favor fear feed feel feet field fight figure
    fill final find fine finger finish fire first fish fit five flat floor flow flower fly follow
    food foot force forest form forward four free fresh friend from front fruit full fun game
    garden gas gather general gentle girl give glad glass gold gone good govern grand grass gray
    great green ground group grow guess guide hair half hand happen happy hard
    """.split()
)


def fresh(tokens: int, rng: np.random.Generator) -> str:
    """``tokens`` words drawn anew."""
    picks = rng.integers(0, len(WORDS), tokens)
    return " ".join([WORDS[pick] for pick in picks.tolist()])
