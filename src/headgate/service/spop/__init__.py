"""SPOP: what HAProxy asks an agent, frame by frame."""
