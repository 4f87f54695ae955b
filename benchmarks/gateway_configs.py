"""Configurations of the proxies, as their manuals would have them for speed, and the load on them.

What stands after an @ is filled in. Everybody has one worker, keeps connections on both sides, has
a limit that is never reached, tells the upstream of the client's address, and writes no log of
requests. The limit is one by address, but for Envoy's, which is one for all: that is less work.
"""

from __future__ import annotations

from string import Template


class Form(Template):
    """A text with places to fill in; nginx has other uses for the dollar."""

    delimiter = "@"


NGINX = """
daemon off;
user root;
worker_processes 1;
pid @folder/@name.pid;
error_log @folder/@name.error crit;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  client_body_temp_path @folder/@name.body;
  proxy_temp_path @folder/@name.proxy;
  fastcgi_temp_path @folder/@name.fastcgi;
  uwsgi_temp_path @folder/@name.uwsgi;
  scgi_temp_path @folder/@name.scgi;
"""

# The files behind everybody: nginx does nothing faster.
FILES = Form(
    f"""{NGINX}
  sendfile on;
  open_file_cache max=100;
  server {{ listen 127.0.0.1:@port backlog=2048; root @folder/www; }}
}}
"""
)

# A file of 100 KB fits into the buffers of one request.
NGINX_PROXY = Form(
    f"""{NGINX}
  @client
  limit_req_zone $binary_remote_addr zone=clients:32m rate=@rate;
  limit_req_status 429;
  proxy_buffers 16 64k;
  proxy_buffer_size 64k;
  proxy_busy_buffers_size 128k;
  upstream files {{
    server 127.0.0.1:@upstream;
    keepalive 256;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }}
  server {{
    listen 127.0.0.1:@port backlog=2048;
    location / {{
      limit_req zone=clients burst=@burst nodelay;
      proxy_pass http://files;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $remote_addr;
    }}
  }}
}}
"""
)

HAPROXY = Form("""
global
  nbthread 1
  maxconn 4096
defaults
  mode http
  option forwardfor
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend clients
  bind 127.0.0.1:@port backlog 2048
  stick-table type ip size 100k expire 60s store http_req_rate(1s)
  http-request track-sc0 src
  http-request deny deny_status 429 if { sc_http_req_rate(0) gt 1000000 }
  default_backend files
backend files
  http-reuse always
  server files 127.0.0.1:@upstream
""")

ENVOY = Form("""
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: @port}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: clients
          use_remote_address: true
          generate_request_id: false
          route_config:
            virtual_hosts:
            - {name: files, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: files}}]}
          http_filters:
          - name: envoy.filters.http.local_ratelimit
            typed_config:
              "@@type": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
              stat_prefix: limit
              token_bucket: {max_tokens: 1000000, tokens_per_fill: 1000000, fill_interval: 1s}
              filter_enabled: {default_value: {numerator: 100}}
              filter_enforced: {default_value: {numerator: 100}}
          - name: envoy.filters.http.router
            typed_config:
              "@@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              suppress_envoy_headers: true
  clusters:
  - name: files
    load_assignment:
      cluster_name: files
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {socket_address: {address: 127.0.0.1, port_value: @upstream}}
""")  # noqa: E501 - its names for types are that long

HEADGATE = Form("""
version: 1
store: @store
@client
rules:
  - {name: clients, key: client.ip, limit: @limit}
gateway:
  listen: 127.0.0.1:@port
  routes:
    - {match: {path: /**}, upstream: "http://127.0.0.1:@upstream"}
""")

# Arguments: how many requests take turns, none or many, whose turn it is, and of how many addresses
# the next proxy in the chain tells. What was seen is the last line that is printed.
WRK = """
function init(args)
  local count, turn, addresses = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  if count == 0 then return end
  local requests = {}
  for number = 0, count - 1 do
    local who = number % addresses
    local upper, middle = math.floor(who / 65536), math.floor(who / 256) % 256
    wrk.headers["X-Forwarded-For"] = string.format("10.%d.%d.%d", upper, middle, who % 256)
    requests[number] = wrk.format()
  end
  request = function()
    turn = (turn + 1) % count
    return requests[turn]
  end
end

function done(summary, latency)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format(
    '{"requests": %d, "seconds": %f, "unserved": %d, "broken": %d, "p50_ms": %f, "p99_ms": %f}',
    summary.requests, summary.duration / 1e6, errors.status, broken,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end
"""
