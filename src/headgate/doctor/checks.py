"""Checks: everything that is looked at, why it matters, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """What is looked at, in a few words; why that matters; and how to mend it."""

    title: str
    why: str
    mend: str


CHECKS = {
    "rules.read": Check(
        "the rule file can be read, and says nothing wrong",
        "Nothing starts by rules that are broken, and what runs goes on by the old ones.",
        "Mend what is named; headgate check shows each place.",
    ),
    "rules.lint": Check(
        "nothing in the rules is probably not meant",
        "Rules that say something else than they seem to refuse the wrong ones, or nobody.",
        "Change it as the message says, or leave it if it is meant.",
    ),
    "rules.alone": Check(
        "several workers count together",
        "In memory:// each worker counts by itself, so every limit is as many times as wide.",
        "Write store: shared://NAME for one machine, or redis://HOST for several.",
    ),
    "client.trust": Check(
        "only proxies of one's own are believed",
        "Whoever is believed may say that they are anybody, and are counted as that.",
        "Name the networks of your own proxies in client.trusted_proxies, and no others.",
    ),
    "client.hops": Check(
        "hops are counted only where nobody gets past the proxies",
        "Whoever reaches the listener past the proxies chooses their own address.",
        "Name the proxies in client.trusted_proxies as well, or listen on 127.0.0.1.",
    ),
    "client.header": Check(
        "the header that names the client is read",
        "Of a header that nobody is believed to write, nothing is read: a proxy is the client.",
        "Say in client.trusted_proxies who writes it, or leave client.header out.",
    ),
    "client.near": Check(
        "clients are told apart behind a proxy on this machine",
        "Who listens on this machine alone is reached through a proxy, and then all who come "
        "through it have its address: they share one limit.",
        "Write client: {trusted_proxies: [127.0.0.1]}, if a proxy here passes requests on.",
    ),
    "gateway.admin": Check(
        "the admin's token cannot be guessed",
        "Who has the token reads what clients do, and has the gateway drain.",
        "Leave it out and one is made, or take one of 32 random letters and digits.",
    ),
    "gateway.plain": Check(
        "what others reach speaks TLS, or a proxy that is believed does",
        "In plain text everybody on the way reads keys and cookies, and changes answers.",
        "Say tls for the listener, or have it listen on 127.0.0.1 behind a proxy with TLS.",
    ),
    "files.secrets": Check(
        "a file with secrets is read by its owner alone",
        "Who can read a rule file with a password in it has the password.",
        "chmod 600 FILE, or write ${VARIABLE} in the file and the secret elsewhere.",
    ),
    "files.keys": Check(
        "private keys are there, and read by their owner alone",
        "Who has the private key can pose as this server.",
        "Name a file that is there, and chmod 600 it.",
    ),
    "machine.extras": Check(
        "what the rules need is installed",
        "What is missing is noticed when it is needed, and then nothing starts.",
        "Install the extra that is named.",
    ),
    "machine.form": Check(
        "the core is compiled",
        "Interpreted, a decision takes several times as long, and a gateway carries less.",
        "Install with a C compiler at hand, or from a wheel for this platform.",
    ),
    "machine.files": Check(
        "enough files may be open",
        "A connection is an open file; where there are no more, clients are turned away.",
        "Raise the hard limit, as LimitNOFILE= of a unit, or lower limits.connections.",
    ),
    "machine.clock": Check(
        "the clock of this machine is set by others",
        "Days and months begin too early or too late, and times in headers and logs are wrong.",
        "Run chrony or systemd-timesyncd.",
    ),
    "shared.memory": Check(
        "there is room for shared:// in memory",
        "Where the memory files are full nobody can count; on a disk every decision may wait.",
        "Give /dev/shm more room, as with --shm-size, or keep fewer limits.",
    ),
    "store.reach": Check(
        "the store answers",
        "Without it every process goes by its own share of each limit.",
        "Look at the address, the password, and the network between.",
    ),
    "store.version": Check(
        "the store is new enough",
        "Scripts need a server that sends on to replicas what they did, and not the script.",
        "Use Redis 6.2 or newer, or any Valkey.",
    ),
    "store.eviction": Check(
        "the store gives up no key that is in use",
        "A key that is evicted is forgotten with all that was spent: its limit begins anew.",
        "CONFIG SET maxmemory-policy noeviction, and use a server for limits alone.",
    ),
    "store.memory": Check(
        "the store has room",
        "A server that is full refuses to write, and every process goes by its own share.",
        "Raise maxmemory; a key of one limit takes about 200 bytes.",
    ),
    "store.role": Check(
        "the store can be written to",
        "A replica takes no writes, so that nothing can be counted there.",
        "Name the primary, or let redis+sentinel:// or redis+cluster:// find it.",
    ),
    "store.writes": Check(
        "nothing keeps the store from writing",
        "A server that could not save its data, or is still loading it, refuses to write.",
        "Look into its log; CONFIG SET stop-writes-on-bgsave-error no goes on without saving.",
    ),
    "store.failover": Check(
        "somebody takes over when a primary is gone",
        "Without a replica the keys of a primary that is gone cannot be counted anywhere; with "
        "one, each failover may forget what was not sent on: at most one burst a key.",
        "Give every primary a replica.",
    ),
    "store.cluster": Check(
        "the cluster is whole",
        "Keys whose slots nobody serves cannot be counted.",
        "CLUSTER INFO and CLUSTER NODES on any node tell what is missing.",
    ),
    "store.clock": Check(
        "the clocks of this machine and of the store agree",
        "The store decides by its own clock: times in headers, logs and budgets are off by as "
        "much, and after a failover so are limits.",
        "Set all clocks by NTP.",
    ),
    "store.permissions": Check(
        "the user may do what is done there",
        "A command that is refused is a store that cannot be asked, at every decision.",
        "ACL SETUSER as docs/how-to/limit-a-fleet.md has it, with the keys headgate:*.",
    ),
    "store.latency": Check(
        "the store answers well within its budget",
        "An answer that comes later than the budget is not waited for, and the limit is only "
        "that of this process.",
        "Bring the server nearer, or say ?budget=0.2 in its URL.",
    ),
    "store.tls": Check(
        "what goes to the store over a network cannot be read",
        "In plain text everybody on the way reads the password and all keys.",
        "Use rediss:// and leave ssl_cert_reqs out.",
    ),
    "store.open": Check(
        "the store asks for a password",
        "Whoever reaches it forgets what was counted, or reads who was.",
        "Set a user with ACL SETUSER, and take the default user its rights.",
    ),
    "chain.reach": Check(
        "the echo is reached through the proxies",
        "What is not reached cannot be looked at.",
        "Start headgate doctor RULES --echo ADDRESS where the proxies send requests.",
    ),
    "chain.spoof": Check(
        "a client that says it is another is not believed",
        "Whoever can choose their address is never limited, and can have others refused.",
        "Trust only your own proxies, and have the first of them replace the header.",
    ),
    "chain.seen": Check(
        "the address that is seen is the client's",
        "Where a proxy is taken for the client, all who come through it share one limit.",
        "Name that proxy in client.trusted_proxies, or count it in client.trusted_hops.",
    ),
}
