"""Explain: why a request got its answer, or would get it, told so that one can check it.

    explain(keeper, request)      what the rules would say, and why; nothing is spent
    record(request, entry, ...)   what a gateway writes of a refusal
    account(line, rules)          that line, in words

Nothing here decides: what the rules do is asked of the rules.
"""
