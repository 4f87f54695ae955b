"""Messages: what Envoy says and hears, on the wire as its own protocol files have it.

The numbers and types of the fields are Envoy's, the package is ours and so is the pool: a program
that has Envoy's own classes as well has both. What is newer than this table is passed over.

Texts of a request are bytes in `Heard`. A client may send any bytes in a header, Envoy hands them
on, and a call that could not be read would be let in by whoever lets errors in.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

PACKAGE = "headgate.rls"
FOREIGN = (duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
# A value of a set stands in the scope of its set.
SETS = {
    "Code": "UNKNOWN OK OVER_LIMIT",
    "Unit": "UNKNOWN SECOND MINUTE HOUR DAY MONTH YEAR WEEK",
    "Blanket": "ALLOW_ALL DENY_ALL",
}
# Each field is a number, a type and a name; `*` says that it comes any number of times, and what
# follows `|` excludes what stands so before it.
TABLE = {
    "Entry": "1 string key, 2 string value",
    "Override": "1 uint32 requests_per_unit, 2 Unit unit",
    "Descriptor": "1 Entry* entries, 2 Override limit, 3 google.UInt64Value hits_addend, "
    "4 bool is_negative_hits",
    "Request": "1 string domain, 2 Descriptor* descriptors, 3 uint32 hits_addend",
    "HeardEntry": "1 bytes key, 2 bytes value",
    "HeardDescriptor": "1 HeardEntry* entries, 2 Override limit, "
    "3 google.UInt64Value hits_addend, 4 bool is_negative_hits",
    "Heard": "1 bytes domain, 2 HeardDescriptor* descriptors, 3 uint32 hits_addend",
    "Limit": "1 uint32 requests_per_unit, 2 Unit unit, 3 string name, "
    "4 google.UInt32Value unit_multiplier",
    "Quota": "1 uint32 requests, 2 google.Timestamp valid_until, 3 string id",
    "Status": "1 Code code, 2 Limit current_limit, 3 uint32 limit_remaining, "
    "4 google.Duration duration_until_reset, 5 Quota quota",
    "HeaderValue": "1 string key, 2 string value, 3 bytes raw_value",
    "Response": "1 Code overall_code, 2 Status* statuses, 3 HeaderValue* response_headers_to_add, "
    "4 HeaderValue* request_headers_to_add, 5 bytes raw_body, 6 google.Struct dynamic_metadata, "
    "7 Quota quota",
    "Pair": "1 string key, 2 string value",
    "BucketId": "1 Pair* bucket",
    "Usage": "1 BucketId bucket_id, 2 google.Duration time_elapsed, "
    "3 uint64 num_requests_allowed, 4 uint64 num_requests_denied",
    "Reports": "1 string domain, 2 Usage* bucket_quota_usages",
    "PerUnit": "1 uint64 requests_per_time_unit, 2 Unit time_unit",
    "TokenBucket": "1 uint32 max_tokens, 2 google.UInt32Value tokens_per_fill, "
    "3 google.Duration fill_interval",
    "Strategy": "1 |Blanket blanket_rule, 2 |PerUnit requests_per_time_unit, "
    "3 |TokenBucket token_bucket",
    "Assignment": "2 google.Duration assignment_time_to_live, 3 Strategy rate_limit_strategy",
    "Abandon": "",
    "Action": "1 BucketId bucket_id, 2 |Assignment quota_assignment_action, "
    "3 |Abandon abandon_action",
    "Quotas": "1 Action* bucket_action",
}
SCALARS = {"string": 9, "bytes": 12, "bool": 8, "uint32": 13, "uint64": 4}
MESSAGE, SET = 11, 14
ONCE, REPEATED = 1, 3


def described() -> Any:
    """The table as protobuf describes a file."""
    file = descriptor_pb2.FileDescriptorProto(
        name="headgate/rls.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[module.DESCRIPTOR.name for module in FOREIGN],
    )
    for name, words in SETS.items():
        values = file.message_type.add(name=f"{name}Set").enum_type.add(name=name)
        for number, word in enumerate(words.split()):
            values.value.add(name=word, number=number)
    for name, fields in TABLE.items():
        message = file.message_type.add(name=name)
        # A mapping is a list of pairs on the wire, and so is this.
        for told in filter(None, fields.split(", ")):
            fill(message, *told.split())
    return file


def fill(message: Any, number: str, kind: str, name: str) -> None:
    """Add a field to a message."""
    plain = kind.strip("*|")
    field = message.field.add(name=name, number=int(number))
    field.label = REPEATED if kind.endswith("*") else ONCE
    if plain in SCALARS:
        field.type = SCALARS[plain]
    elif plain in SETS:
        field.type, field.type_name = SET, f".{PACKAGE}.{plain}Set.{plain}"
    else:
        own, foreign = f".{PACKAGE}.{plain}", plain.replace("google.", ".google.protobuf.")
        field.type, field.type_name = MESSAGE, foreign if "." in plain else own
    if kind.startswith("|"):
        if not message.oneof_decl:
            message.oneof_decl.add(name="either")
        field.oneof_index = 0


def gathered() -> dict[str, Any]:
    """The classes of all messages."""
    pool = descriptor_pool.DescriptorPool()
    for module in FOREIGN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(described().SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in TABLE
    }


CLASSES = gathered()
Request, Heard, Response = CLASSES["Request"], CLASSES["Heard"], CLASSES["Response"]
Reports, Quotas = CLASSES["Reports"], CLASSES["Quotas"]
# The numbers of what is said in words.
UNKNOWN, OK, OVER_LIMIT = range(3)
UNITS = SETS["Unit"].split()
ALLOW_ALL, DENY_ALL = range(2)
