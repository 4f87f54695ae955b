"""A Flask app behind rules: `gunicorn --workers 4 examples.flask_app:app`.

The workers of one machine share the store: 100 a minute are 100 a minute, whoever answers.
"""

import os

from flask import Flask

from headgate.adapters.flask import Headgate, limit
from headgate.rules import Rule, Rules

app = Flask(__name__)
Headgate(
    app,
    Rules(
        [
            Rule(
                "api",
                match={"path": "/api/**"},
                key="client.ip",
                limit="100/min",
                by="sliding_log",
            ),
            Rule("banned", match={"client.ip": "203.0.113.0/24"}, deny=True),
        ],
        store=os.environ.get("HEADGATE_STORE", "shared://flask-example"),
    ),
)


@app.get("/api/hello")
def hello() -> dict[str, str]:
    """Say hello, a hundred times a minute."""
    return {"hello": "world"}


@app.post("/login")
@limit("5/min", key="client.ip", counts={"status": 401})
def login() -> tuple[str, int]:
    """Let nobody in: five of these a minute."""
    return "wrong password", 401
