"""The service over HTTP: its API in JSON, and what proxies ask before they let a request in."""
