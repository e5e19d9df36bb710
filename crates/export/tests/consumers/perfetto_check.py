"""Checks a trace against Perfetto's schema: every field is known to it, slices end.

Usage: perfetto_check.py TRACE. Prints a line per thread: name, slices, their time in ns.
"""

import sys
from collections import defaultdict

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def check_known(message):
    """Fails if a message, or one within it, has a field that the schema does not have."""
    unknown = [field.field_number for field in UnknownFieldSet(message)]
    assert not unknown, f"{message.DESCRIPTOR.full_name} has unknown fields {unknown}"
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if hasattr(value, "__len__") else [value]:
                check_known(part)


def main(path):
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    check_known(trace)
    names, open_since = {}, {}
    slices, time_ns = defaultdict(int), defaultdict(int)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            names[track.uuid] = track.name or track.process.process_name
            assert track.HasField("process") or track.parent_uuid in names, track
            continue
        event = packet.track_event
        assert event.track_uuid in names, event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_since and event.name, event
            assert event.debug_annotations[0].name == "stack", event
            open_since[event.track_uuid] = packet.timestamp
        else:
            assert event.type == TrackEvent.TYPE_SLICE_END, event
            slices[event.track_uuid] += 1
            time_ns[event.track_uuid] += packet.timestamp - open_since.pop(event.track_uuid)
    assert not open_since, open_since
    for uuid, count in sorted(slices.items()):
        print(names[uuid], count, time_ns[uuid])


main(sys.argv[1])
