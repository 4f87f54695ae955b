"""HTTP without a wire: what is said of a decision in headers and bodies, and what others say."""
