"""Section 4.3: letter Wordle, 5 distinct letters, K = 6 sub-episodes. Classic posterior sampling, no model.

    python recipes/psrl/letter_wordle.py [--trials 1000] [--quick] [--json]

The paper plays language models only (figure 8, 40 words); classic agents need a prior over words, which ours have:
all words of the environment, alike. So these are what an agent without mistakes would get with the paper's prior over
our words. The paper says six sub-episodes in section 4.3 and five in appendix I; regret after both is shown.
`solved`: share of words found in six attempts; `in`: mean attempts of those.
"""

from __future__ import annotations

from common import PAPER, arguments, measure, show

import sonde

AGENTS = {
    "random": ("uniform", "not shown"),
    "psrl": ("posterior sampling", "as LLM agent (figure 8)"),
    "ids": ("information-directed", "not shown"),
    "entropy": ("most information", "not shown"),
}


def main() -> None:
    args, env = arguments(__doc__), sonde.make("letter_wordle")
    rows = [
        measure(env, label, sonde.make(f"agents:{name}"), args, (2, 5, 6), paper)
        for name, (label, paper) in AGENTS.items()
    ]
    notes = [f"{len(env.all_codes()):,} words; trials beyond that number play words again with other draws."]
    show(f"{PAPER}, section 4.3: letter Wordle, posterior over words", rows, args, notes)


if __name__ == "__main__":
    main()
