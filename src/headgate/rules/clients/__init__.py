"""Who a request comes from, in spite of what it says."""
