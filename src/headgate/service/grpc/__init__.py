"""gRPC: calls over HTTP/2, in the clear or over TLS, for proxies and programs that speak it."""
