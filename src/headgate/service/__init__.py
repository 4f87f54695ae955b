"""The service: rules and limits for proxies, and for programs in any language."""
