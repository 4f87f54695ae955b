"""How those are told what to do who take part in the contests of the service."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from string import Template

RULES = Template("""\
version: 1
rules:
  - {name: api, key: header.user, limit: 1000000/s}
service:
  listen: ["http://127.0.0.1:$http", "grpc://127.0.0.1:$grpc", "resp://127.0.0.1:$resp"]
""")
FILES = Template("""\
$user
worker_processes 1;
daemon off;
pid $folder/files.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  server { listen 127.0.0.1:$port; root $folder/files; }
}
""")
ENVOY = Template("""
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: $port}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: clients
          generate_request_id: false
          route_config:
            virtual_hosts:
            - name: files
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route:
                  cluster: files
                  rate_limits:
                  - actions: [{generic_key: {descriptor_key: user, descriptor_value: "42"}}]
          http_filters:
          - name: envoy.filters.http.ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit
              domain: web
              timeout: 1s
              failure_mode_deny: true
              rate_limit_service:
                transport_api_version: V3
                grpc_service: {envoy_grpc: {cluster_name: limits}}
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: files
    load_assignment:
      cluster_name: files
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $upstream}}}
  - name: limits
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: limits
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $asked}}}
""")  # noqa: E501 - its names for types are that long


def rules(ports: dict[str, int]) -> str:
    """The rules of our service: a limit that is never reached."""
    return RULES.substitute(ports)


def ours(file: Path) -> list[str]:
    """How our service is started: one worker."""
    return [sys.executable, "-m", "headgate.cli", "serve", str(file), "--quiet", "--watch", "0"]


def files(folder: Path, port: int) -> str:
    """What nginx is told."""
    (folder / "files").mkdir()
    (folder / "files" / "1024").write_bytes(b"x" * 1024)
    # Its worker would else be somebody who may not look into the folder.
    user = "user root;" if os.getuid() == 0 else ""
    return FILES.substitute(folder=folder, port=port, user=user)


def proxy(port: int, asked: int, upstream: int) -> str:
    """What Envoy is told."""
    return ENVOY.substitute(port=port, asked=asked, upstream=upstream)


def envoy() -> str | None:
    """Where Envoy is, if it is anywhere."""
    beside = Path(sys.executable).with_name("envoy")
    return str(beside) if beside.exists() else shutil.which("envoy")
