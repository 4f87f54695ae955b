"""Real proxies with the configurations that are shipped, between a client and an app."""

from __future__ import annotations

from pathlib import Path

from tests.servers.caddy import caddy
from tests.servers.nginx import nginx_command
from tests.servers.process import ServerProcess

DEPLOY = Path(__file__).parents[3] / "deploy"
# What an nginx needs around what is included.
AROUND = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 512; }
http {
    access_log off;
    client_body_temp_path FOLDER/body;
    proxy_temp_path FOLDER/proxy;
    fastcgi_temp_path FOLDER/fastcgi;
    uwsgi_temp_path FOLDER/uwsgi;
    scgi_temp_path FOLDER/scgi;
    INNER
}
"""
# The lines by which those who are not refused are let in while nobody can be asked.
OPEN = {
    "nginx": "        error_page 500 = @app;\n",
    "caddy": "\thandle_errors 502 504 {\n\t\treverse_proxy 127.0.0.1:9000\n\t}\n",
}


def text(name: str, guard: int, app: int, closed: bool) -> str:
    """A configuration for PORT, with the ports of the test; if `closed`, without letting in."""
    place = {"nginx": "nginx/headgate.conf", "caddy": "caddy/Caddyfile"}[name]
    found = (DEPLOY / place).read_text()
    if closed:
        assert OPEN[name] in found
        found = found.replace(OPEN[name], "")
    for usual, own in (("8080", "PORT"), ("8081", str(guard)), ("9000", str(app))):
        found = found.replace(usual, own)
    return found


def front(name: str, guard: int, app: int, closed: bool = False) -> ServerProcess:
    """An nginx or a Caddy, before an app, that asks at the port `guard`."""
    found = text(name, guard, app, closed)
    if name == "caddy":
        return caddy(found.replace("\n:PORT {", "\n:PORT {\n\tbind 127.0.0.1", 1))
    inner = found.replace("listen PORT", "listen 127.0.0.1:PORT")
    return ServerProcess("nginx", nginx_command(), {"nginx.conf": AROUND.replace("INNER", inner)})
