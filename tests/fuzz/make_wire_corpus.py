#!/usr/bin/env python3
"""Writes corpus/wire: the starting files of wire_fuzz, each with its reason."""
import pathlib
import random


def varint(value, width=0):
    out = bytearray()
    while value > 0x7F or len(out) + 1 < width:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number, kind):
    return varint(number << 3 | kind)


def field(number, payload, width=0):
    return tag(number, 2) + varint(len(payload), width) + payload


def group(number, content):
    return tag(number, 3) + content + tag(number, 4)


def tree(rng, depth=0):
    out = b""
    for _ in range(rng.randrange(1, 5)):
        if depth < 5 and rng.random() < 0.6:
            child = tree(rng, depth + 1)
            out += field(1, child, rng.choice([0, 0, 2, 3, 5]))
        elif rng.random() < 0.3:
            out += field(9, b"o" * rng.randrange(150))
        else:
            out += field(2, b"f" * rng.choice([0, 3, 120, 127, 128, 300]), rng.choice([0, 3]))
    return out


CORPUS = {
    "empty": b"",
    "every_wire_type": tag(1, 0) + varint(300) + tag(2, 1) + b"12345678" + field(3, b"abc") + tag(4, 5) + b"1234"
    + group(5, tag(6, 0) + b"\1"),
    "field_zero": tag(0, 0) + b"\1",
    "wire_type_7": tag(1, 7),
    "groups_100_deep": tag(9, 3) * 100 + tag(9, 4) * 100,
    "groups_101_deep": tag(9, 3) * 101 + tag(9, 4) * 101,
    "group_closed_by_another": tag(5, 3) + tag(6, 4),
    "length_padded_to_5": tag(1, 2) + varint(3, 5) + field(2, b"x"),
    "length_padded_to_6": tag(1, 2) + varint(3, 6) + field(2, b"x"),
    "length_2_to_the_64": tag(1, 2) + b"\xff" * 9 + b"\1",
    "varint_of_11_bytes": tag(1, 0) + b"\x80" * 10 + b"\0",
    "tag_with_bits_past_the_32nd": b"\x92\x80\x80\x80\x7f\1a",
    "width_lost_when_tagged": field(1, field(2, b"x"), 2),
    "recorded_width": field(1, field(2, b"x") + field(9, b"o" * 200)) + field(10, varint(1) + varint(2)),
    "damaged_record": field(1, field(2, b"x" * 200)) + field(10, varint(1) + varint(1) + varint(7) + varint(99)),
    "ours_between_others": field(2, b"a") + field(9, b"1") + field(1, field(9, b"2") + field(2, b"b") + field(9, b"3"))
    + field(9, b"4"),
}
for seed in range(6):
    CORPUS[f"tree_{seed}"] = tree(random.Random(seed))

folder = pathlib.Path(__file__).parent / "corpus" / "wire"
folder.mkdir(parents=True, exist_ok=True)
for name, content in CORPUS.items():
    (folder / name).write_bytes(content)
