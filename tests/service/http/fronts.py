"""Real proxies with the configurations that are shipped, between a client and an app."""

from __future__ import annotations

from pathlib import Path

from tests.servers import nginx
from tests.servers.caddy import caddy
from tests.servers.front import Front

DEPLOY = Path(__file__).parents[3] / "deploy"
# What an nginx needs around what is included.
AROUND = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {inner}
}}
"""
# The lines by which those who are not refused are let in while nobody can be asked.
OPEN = {
    "nginx": "        error_page 500 = @app;\n",
    "caddy": "\thandle_errors 502 504 {\n\t\treverse_proxy 127.0.0.1:9000\n\t}\n",
}


def text(name: str, port: int, guard: int, app: int, closed: bool) -> str:
    """A configuration, with its ports for those of the test; if `closed`, without letting in."""
    place = {"nginx": "nginx/headgate.conf", "caddy": "caddy/Caddyfile"}[name]
    found = (DEPLOY / place).read_text()
    if closed:
        assert OPEN[name] in found
        found = found.replace(OPEN[name], "")
    for usual, own in (("8080", port), ("8081", guard), ("9000", app)):
        found = found.replace(usual, str(own))
    return found


def front(name: str, guard: int, app: int, closed: bool = False) -> Front:
    """An nginx or a Caddy, before an app, that asks at the port `guard`."""
    if name == "caddy":
        return caddy(
            lambda port: text(name, port, guard, app, closed).replace(
                f"\n:{port} {{", f"\n:{port} {{\n\tbind 127.0.0.1", 1
            )
        )
    program = nginx.find()

    def plan(port: int, folder: Path) -> str:
        inner = text(name, port, guard, app, closed)
        return AROUND.format(
            folder=folder, inner=inner.replace(f"listen {port}", f"listen 127.0.0.1:{port}")
        )

    return Front(
        "nginx.conf",
        plan,
        lambda folder: (str(program), "-p", f"{folder}/", "-c", "nginx.conf", "-e", "stderr"),
    )
