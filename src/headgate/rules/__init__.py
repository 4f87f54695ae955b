"""Rules: which limits a request meets, and what happens to it when the answer is no.

from headgate.rules import Gatekeeper, Request, Rule, Rules

login = Rule("login", match={"path": "/login"}, key="client.ip", limit="5/min")
keeper = Gatekeeper(Rules([login]))
if not keeper.enter(Request("POST", "/login", client="203.0.113.7")):
    ...  # over the limit
"""

from headgate.rules.clients.client import Client
from headgate.rules.live.alarm import Alarm
from headgate.rules.live.entry import Entry, Refusal
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.tally import Tally
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

__all__ = [
    "Alarm",
    "AsyncGatekeeper",
    "Client",
    "Entry",
    "Gatekeeper",
    "Refusal",
    "Request",
    "Rule",
    "Rules",
    "Tally",
]
