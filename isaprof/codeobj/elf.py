"""An AMDGPU code object: target, kernels, code and initialised data."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

from isaprof.arch.targets import CODE_OBJECT_VERSION
from isaprof.codeobj import metadata as notes
from isaprof.codeobj.descriptor import SIZE as DESCRIPTOR_SIZE
from isaprof.codeobj.descriptor import KernelDescriptor
from isaprof.codeobj.image import Image, Section, Symbol, read_image
from isaprof.codeobj.metadata import KernelArg
from isaprof.codeobj.target import MINIMAL_KERNEL_NAME, labels_of, target_of
from isaprof.errors import BadInput, UsageError
from isaprof.files import content


class Kernel(NamedTuple):
    """One kernel of a code object. ``entry`` is its first instruction's virtual address.

    ``size`` is the code size in bytes (from the symbol, else up to the next
    symbol or the end of its section). ``metadata`` is the note's own map.
    """

    name: str
    symbol: str
    entry: int
    size: int
    descriptor: KernelDescriptor
    args: tuple[KernelArg, ...] = ()
    metadata: Mapping[str, Any] = {}

    @property
    def kernarg_size(self) -> int:
        """Bytes of the kernarg segment (the note's figure, else the descriptor's)."""
        n = self.metadata.get(".kernarg_segment_size")
        return n if isinstance(n, int) and n > 0 else self.descriptor.kernarg_size

    @property
    def wave_size(self) -> int:
        """Lanes of a wave: 32 or 64."""
        n = self.metadata.get(".wavefront_size")
        return n if n in (32, 64) else self.descriptor.wave_size

    @property
    def start(self) -> int:
        """Where waves start: with kernarg preload, 256 bytes after the entry.

        The first 256 bytes are then a fall-back for firmware that does not
        preload (LLVM's AMDGPU user guide, "Preloaded Kernel Arguments").
        """
        return self.entry + (256 if self.descriptor.kernarg_preload_length else 0)


class CodeObject(NamedTuple):
    """A loaded code object. Frozen; ``file`` holds the bytes of the whole file."""

    arch: str
    target_id: str  #: with features, ``gfx90a:sramecc+:xnack-``
    code_object_version: int | None  #: None for minimal objects
    e_flags: int
    file: bytes
    kernels: tuple[Kernel, ...]
    text: tuple[Section, ...]  #: executable sections: name, address, data
    labels: dict[int, str]  #: address -> function or kernel name
    minimal: bool = False
    path: str | None = None
    metadata: Mapping[str, Any] = {}
    metadata_note: str | None = None  #: why ``metadata`` is empty, if it is
    sections: tuple[Section, ...] = ()
    segments: tuple[tuple[int, bytes], ...] = ()

    @classmethod
    def load(cls, path: str | PathLike[str], arch: str | None = None) -> "CodeObject":
        """Read the file at ``path``; BadInput as for :meth:`from_bytes`, or when it cannot be read."""
        try:
            data = content(path)
        except OSError as e:
            raise BadInput(f"cannot read: {e.strerror or e}", path=path, kind="unreadable") from None
        return cls.from_bytes(data, path=path, arch=arch)

    @classmethod
    def from_bytes(
        cls, data: bytes, *, path: str | PathLike[str] | None = None, arch: str | None = None
    ) -> "CodeObject":
        """Parse ELF bytes. ``arch`` is needed only for minimal objects (e_machine 0).

        Raises BadInput for anything that is no AMDGPU code object, saying what
        it is, and when ``arch`` contradicts the ELF header.
        """
        return cls.of_image(read_image(data, path), data, path=path, arch=arch)

    @classmethod
    def of_image(
        cls, image: Image, data: bytes, *, path: str | PathLike[str] | None = None, arch: str | None = None
    ) -> "CodeObject":
        """The same for a file that is taken apart already."""
        where = None if path is None else str(path)
        name, target = target_of(image, arch, path)
        meta, why = ({}, "the object has no metadata note") if image.minimal else _metadata(image)
        text = image.text
        labels = labels_of(image)
        kernels = _minimal_kernels(image, name) if image.minimal else _kernels(image, text, name, meta)
        return cls(
            name,
            target,
            None if image.minimal else CODE_OBJECT_VERSION.get(image.abi_version),
            image.e_flags,
            data,
            kernels,
            text,
            labels,
            image.minimal,
            where,
            meta,
            why,
            image.sections,
            image.segments,
        )

    @property
    def sha256(self) -> str:
        """SHA-256 of the file, in hexadecimal."""
        import hashlib  # loads OpenSSL: only where it is asked for

        return hashlib.sha256(self.file).hexdigest()

    def kernel(self, name: str | None = None) -> Kernel:
        """The kernel called ``name`` (or ``name`` without ``.kd``), or the only one.

        Raises BadInput (no kernel at all, unknown name) and UsageError (several and no name).
        """
        if self.minimal and name is not None and self.kernels:
            return self.kernels[0]._replace(
                name=name
            )  # such an object names nothing: the caller's name counts
        names = ", ".join(k.name for k in self.kernels[:20]) + (", ..." if len(self.kernels) > 20 else "")
        if not self.kernels:
            raise BadInput("no kernel in this code object", path=self.path, kind="no_kernel")
        if name is None:
            if len(self.kernels) == 1:
                return self.kernels[0]
            raise UsageError(
                f"{len(self.kernels)} kernels, choose one: {names}",
                path=self.path,
                hint="give --kernel NAME",
                kind="several_kernels",
            )
        for k in self.kernels:
            if name in (k.name, k.symbol):
                return k
        raise BadInput(f"no kernel {name!r}; it has: {names}", path=self.path, kind="unknown_kernel")

    def read(self, address: int, n: int) -> bytes:
        """``n`` initialised bytes at virtual ``address``; BadInput when the image has none there.

        Bytes of a segment's memory beyond its file part (.bss) are not
        initialised and count as absent.
        """
        spans = self.segments or tuple((s.address, s.data) for s in self.sections)
        for base, data in spans:
            if base <= address and address + n <= base + len(data):
                return data[address - base : address - base + n]
        raise BadInput(f"no initialised data at {address:#x} ({n} bytes)", path=self.path, kind="no_data")


def _metadata(image: Image) -> tuple[dict[str, Any], str | None]:
    why = "the object has no metadata note"
    for owner, kind, payload in image.notes:
        if owner == "AMDGPU" and kind == notes.NT_AMDGPU_METADATA:
            meta = notes.decode_note(payload)
            if meta is not None:
                return meta, None
            why = "the metadata note is damaged"
        elif owner == "AMD" and kind == notes.NT_AMD_HSA_METADATA_V2:
            why = "the metadata is of code object version 2 (YAML), which is not read"
    return {}, why


def _kernels(
    image: Image, text: tuple[Section, ...], arch: str, meta: Mapping[str, Any]
) -> tuple[Kernel, ...]:
    """Descriptor symbols joined with the metadata's entries, in metadata order, then by address."""
    by_name = {s.name: s for s in image.symbols}
    entries: dict[str, dict[str, Any]] = {}
    for e in notes.kernel_entries(meta):
        symbol = e.get(".symbol")
        if isinstance(symbol, str):
            entries.setdefault(symbol, e)
    rest = sorted((s.value, s.name) for s in image.symbols if s.name.endswith(".kd") and s.kind == "OBJECT")
    symbols = [s for s in entries if s in by_name] + [n for _, n in rest if n not in entries]
    out = []
    for symbol in symbols:
        address = by_name[symbol].value
        raw = next(
            (
                s.data[address - s.address : address - s.address + DESCRIPTOR_SIZE]
                for s in image.sections
                if address in s
            ),
            b"",
        )
        if len(raw) < DESCRIPTOR_SIZE:
            continue  # a symbol without its 64 bytes is no kernel
        descriptor = KernelDescriptor.parse(raw, arch, address)
        entry = address + descriptor.entry_offset
        section = next((t for t in text if entry in t), None)
        if section is None:
            continue
        meta_entry = entries.get(symbol, {})
        stem = symbol.removesuffix(".kd")
        name = meta_entry.get(".name")
        out.append(
            Kernel(
                name if isinstance(name, str) and name else stem,
                symbol,
                entry,
                _code_size(image.symbols, stem, entry, section),
                descriptor,
                notes.kernel_args(meta_entry),
                meta_entry,
            )
        )
    return tuple(out)


def _code_size(symbols: tuple[Symbol, ...], stem: str, entry: int, section: Section) -> int:
    end = section.address + len(section.data)
    for s in symbols:
        if s.name == stem and s.value == entry and 0 < s.size <= end - entry:
            return s.size
    return min((s.value for s in symbols if s.kind == "FUNC" and entry < s.value < end), default=end) - entry


def _minimal_kernels(image: Image, arch: str) -> tuple[Kernel, ...]:
    """One kernel: the descriptor in .rodata and the start of .text (its entry offset is unusable)."""
    code = image.text[0]
    name = MINIMAL_KERNEL_NAME
    for s in image.sections:
        if not s.executable and len(s.data) >= DESCRIPTOR_SIZE:
            descriptor = KernelDescriptor.parse(s.data, arch, s.address)
            return (Kernel(name, name + ".kd", code.address, len(code.data), descriptor),)
    return ()
