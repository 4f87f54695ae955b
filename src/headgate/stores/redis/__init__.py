"""State on Redis or Valkey: the script, the wire, the fleet of servers, and the two stores."""
