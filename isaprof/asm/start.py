"""Starting llvm-objdump on an object as early as can be: most of a disassembly is waiting for it."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from isaprof.arch.targets import wave_sizes
from isaprof.codeobj.image import read_image
from isaprof.codeobj.target import labels_of, target_of
from isaprof.isa.objdump import CodeRange, Reading

if TYPE_CHECKING:
    from isaprof.asm.code import Code
    from isaprof.codeobj.elf import CodeObject


class Started:
    """An object whose code is being read; errors of the file as of :class:`~isaprof.codeobj.elf.CodeObject`.

    ``co`` is the object. ``code()`` waits for the rows; it raises what reading raises.
    """

    def __init__(self, data: bytes, path: str | PathLike[str] | None = None, arch: str | None = None) -> None:
        self.image = read_image(data, path)
        name = target_of(self.image, arch, path)[0]
        co = None
        wave = wave_sizes(name)[0]
        if len(wave_sizes(name)) > 1:
            co = self._object(data, path, arch)
            wave = wave_size(co)
        ranges = [CodeRange(s.address, s.data) for s in self.image.text]
        self._wave = wave
        self._reading = Reading(ranges, name, labels_of(self.image), wave_size=wave)
        self.co = co or self._object(data, path, arch)

    def _object(self, data: bytes, path: str | PathLike[str] | None, arch: str | None) -> CodeObject:
        from isaprof.codeobj.elf import CodeObject

        return CodeObject.of_image(self.image, data, path=path, arch=arch)

    def code(self) -> Code:
        from isaprof.asm.code import code_of

        return code_of(self.co, self._reading.rows(), self._wave)


def wave_size(co: CodeObject) -> int:
    """The wave size that most kernels of ``co`` have; the target's usual one on a tie and where none is said.

    It decides whether lane masks are one register or two, and one assembly takes one of both.
    """
    sizes = [k.wave_size for k in co.kernels]
    usual = wave_sizes(co.arch)[0]
    return max(set(sizes), key=lambda w: (sizes.count(w), w == usual)) if sizes else usual
