"""Bytes in and out: connections of clients and to servers. Others decide what comes of them."""
