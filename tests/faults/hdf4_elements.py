"""HDF4 files as dictionaries of elements, (tag, ref): bytes; fields of the sample stored in other ways.

hdf4_elements.py SAMPLE.hdf FOLDER: writes small seeds for fuzz_hdf4 there."""
# SPDX-License-Identifier: Apache-2.0
import os
import struct
import sys
import zlib

LINKED, COMPRESSED, NUMBER_TYPE, DIMENSIONS, DATA, NUMERIC_GROUP, ATTRIBUTE_HEAD, ATTRIBUTE, VGROUP = 20, 40, 106, 701, 702, 720, 1962, 1963, 1965
SPECIAL = 0x4000
NONE, RUNS, NBIT, DEFLATE = 0, 1, 2, 4


def read(path):
    data, elements, at = open(path, "rb").read(), {}, 4
    while at:
        count, following = struct.unpack_from(">HI", data, at)
        for k in range(count):
            tag, ref, offset, length = struct.unpack_from(">HHii", data, at + 6 + 12 * k)
            if tag != 1 and length >= 0:
                elements[tag, ref] = data[offset:offset + length]
        at = following
    return elements


def write(path, elements):
    head, body = b"", b""
    start = 4 + 6 + 12 * len(elements)
    for (tag, ref), content in elements.items():
        head += struct.pack(">HHii", tag, ref, start + len(body), len(content))
        body += content
    with open(path, "wb") as file:
        file.write(b"\x0e\x03\x13\x01" + struct.pack(">HI", len(elements), 0) + head + body)


def names(elements):
    """Ref of each numeric group: its name."""
    found = {}
    for (tag, _), content in elements.items():
        count = struct.unpack_from(">H", content)[0] if tag == VGROUP else 0
        words = struct.unpack_from(f">{2 * count}H", content, 2)
        length = struct.unpack_from(">H", content, 2 + 4 * count)[0] if tag == VGROUP else 0
        name = content[4 + 4 * count:4 + 4 * count + length].decode()
        if content[4 + 4 * count + length + 2:].startswith(b"Var0.0"):
            found.update({words[count + k]: name for k in range(count) if words[k] == NUMERIC_GROUP})
    return found


def references(elements, ref):
    """Tag: ref of what is in a numeric group."""
    words = struct.unpack(f">{len(elements[NUMERIC_GROUP, ref]) // 2}H", elements[NUMERIC_GROUP, ref])
    return dict(zip(words[::2], words[1::2]))


def put_linked(elements, tag, ref, content, each):
    """Blocks of `each` bytes, two in a table."""
    blocks = [content[k:k + each] for k in range(0, len(content), each)]
    first = 1 + max((r for t, r in elements if t == LINKED), default=0)
    for k in range(0, len(blocks), 2):
        table, pair = first + 3 * (k // 2), blocks[k:k + 2]
        elements[LINKED, table] = struct.pack(">HHH", table + 3 if k + 2 < len(blocks) else 0, table + 1, table + 2 if len(pair) == 2 else 0)
        for i, block in enumerate(pair):
            elements[LINKED, table + 1 + i] = block
    elements[tag | SPECIAL, ref] = struct.pack(">HiiiH", 1, len(content), each, 2, first)


def runs(content):
    out, k = b"", 0
    while k < len(content):
        n = 1
        while k + n < len(content) and n < 130 and content[k + n] == content[k]:
            n += 1
        out += bytes((0x80 | n - 3, content[k])) if n > 2 else bytes((n - 1,)) + content[k:k + n]
        k += n
    return out


def content_of(elements, data):
    """The bytes of a field."""
    if (DATA, data) in elements:
        return elements[DATA, data]
    inner = struct.unpack_from(">H", elements[DATA | SPECIAL, data], 8)[0]
    packed = elements.get((COMPRESSED, inner))
    if packed is None:
        length, _, each, table = struct.unpack_from(">iiiH", elements[COMPRESSED | SPECIAL, inner], 2)
        packed = b""
        while table:
            table, *blocks = struct.unpack_from(f">{each + 1}H", elements[LINKED, table])
            packed += b"".join(elements.get((LINKED, block), b"") for block in blocks if block)
        packed = packed[:length]
    return zlib.decompress(packed)


def store(elements, ref, content, coder, linked=0):
    """A field anew: its numeric group's ref; linked: bytes of a block, 0 = in one piece."""
    data = references(elements, ref)[DATA]
    for key in ((DATA, data), (DATA | SPECIAL, data)):
        elements.pop(key, None)
    if coder == NONE:
        put_linked(elements, DATA, data, content, linked) if linked else elements.update({(DATA, data): content})
        return
    packed = {DEFLATE: zlib.compress, RUNS: runs}.get(coder, bytes)(content)
    for key in ((COMPRESSED, data), (COMPRESSED | SPECIAL, data)):
        elements.pop(key, None)
    elements[DATA | SPECIAL, data] = struct.pack(">HHiHHHH", 3, 0, len(content), data, 0, coder, 6)
    put_linked(elements, COMPRESSED, data, packed, linked) if linked else elements.update({(COMPRESSED, data): packed})


def stored(elements, image, table=(NONE, 0), little_endian=False):
    """A copy whose images and tables are stored so: (coder, bytes of linked blocks)."""
    made = {key: content for key, content in elements.items() if key[0] not in (LINKED, COMPRESSED, COMPRESSED | SPECIAL)}
    for ref, name in names(elements).items():
        inside = references(elements, ref)
        content = content_of(elements, inside[DATA])
        kind = elements[NUMBER_TYPE, inside[NUMBER_TYPE]]
        if little_endian and name != "ImageData":
            size = kind[2] // 8
            content = b"".join(content[k:k + size][::-1] for k in range(0, len(content), size))
            made[NUMBER_TYPE, inside[NUMBER_TYPE]] = kind[:3] + b"\x04"
        store(made, ref, content, *(image if name == "ImageData" else table))
    return made


def small(elements):
    """A copy with images and radiometric tables of 64 x 64 pixels, and no text of the structure."""
    made = stored(elements, (NONE, 0))
    for ref, name in names(elements).items():
        if name in ("ImageData", "RadiometricCorrTable"):
            inside = references(elements, ref)
            size = (64, 64) if name == "ImageData" else (64, 3)
            made[DIMENSIONS, inside[DIMENSIONS]] = struct.pack(">Hii", 2, *size) + made[DIMENSIONS, inside[DIMENSIONS]][10:]
            made[DATA, inside[DATA]] = made[DATA, inside[DATA]][:64 * 64 if name == "ImageData" else 64 * 12]
    return {key: content if len(content) < 8000 else content[:1000] for key, content in made.items()}


def seeds(sample, folder):
    tiny = small(read(sample))
    text = b'OBJECT = SHORTNAME\n  NUM_VAL = 1\n  VALUE = "ASTL1A"\nEND_OBJECT = SHORTNAME\nOBJECT = CALENDARDATE\nVALUE = "20010101"\nEND_OBJECT\n'
    for (tag, ref), content in tiny.items():
        if tag == ATTRIBUTE_HEAD and b"StructMetadata.0" in content:
            tiny[ATTRIBUTE, ref] = text
    for name, image, table in (("plain", (NONE, 0), (NONE, 0)), ("linked", (NONE, 1000), (NONE, 100)),
                               ("deflate", (DEFLATE, 0), (DEFLATE, 0)), ("runs", (RUNS, 500), (RUNS, 0))):
        write(os.path.join(folder, name), stored(tiny, image, table))


if __name__ == "__main__":
    seeds(*sys.argv[1:3])
