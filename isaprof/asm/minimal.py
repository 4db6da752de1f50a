"""Minimal ELF files: e_machine 0, no flags, symbols or notes; some programs hand these to the GPU driver.

Three sections at addresses equal to their file offsets: code, data (the kernel
descriptor first), section names. Such a file names neither target nor kernel,
so the text says the target and the code begins at the start of ``.text``.
"""

from __future__ import annotations

import struct

from isaprof.codeobj.tables import read_tables
from isaprof.errors import BadInput

_TEXT_AT = 256


def write(co: bytes) -> bytes:
    """The minimal file with the code and data of the linked object ``co``.

    The code's first byte is at 256 (the hardware's alignment of kernel
    entries), data at the next multiple of 64. BadInput where ``co`` has more
    than one section of either kind.
    """
    loaded = [s for s in read_tables(co).sections if s.flags & 2 and s.type == 1 and not s.flags & 1]
    code = [s for s in loaded if s.flags & 4]
    data = [s for s in loaded if not s.flags & 4]
    if len(code) != 1 or len(data) > 1:
        raise BadInput(
            f"a minimal ELF has one section of code and one of data, not {len(code)} and {len(data)}",
            kind="minimal_sections",
        )
    names = b"\0.text\0.rodata\0.strtab\0"
    body = bytearray(_TEXT_AT) + code[0].data
    heads = [(1, 1, 6, _TEXT_AT, _TEXT_AT, len(code[0].data))]
    if data:
        body += bytes(-len(body) % 64)
        heads.append((7, 1, 2, len(body), len(body), len(data[0].data)))
        body += data[0].data
    heads.append((15, 3, 0, 0, len(body), len(names)))
    body += names
    body[:64] = (
        b"\x7fELF\x02"
        + bytes(11)
        + struct.pack("<HHIQQQIHHHHHH", 0, 0, 0, 0, 0, len(body), 0, 0, 0, 0, 0, len(heads), len(heads) - 1)
    )
    for head in heads:
        body += struct.pack("<IIQQQQIIQQ", *head, 0, 0, 0, 0)
    return bytes(body)
