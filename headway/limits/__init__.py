"""Limits for your own script: hold any async client to a policy, in a few lines.

    from headway.limits import Limit

    limit = Limit("adaptive-bdp")

    async def ask(question):
        return await limit.call(client.chat.completions.create, model="m", messages=question)

    answers = await asyncio.gather(*(ask(question) for question in questions))

See docs/use-as-a-library.md.
"""

from headway.limits.errors import BadPolicy, LimitError, Misuse, SelfRefused
from headway.limits.limit import Limit
from headway.limits.request import Request

__all__ = ["BadPolicy", "Limit", "LimitError", "Misuse", "Request", "SelfRefused"]
