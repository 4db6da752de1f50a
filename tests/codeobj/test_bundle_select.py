"""Which object of several is meant: exact, compatible, generic; what is not exact is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.codeobj.bundle_target import GENERIC, Fit, TargetId, split_entry_id
from isaprof.codeobj.source import load_object
from isaprof.errors import BadInput, UsageError
from isaprof.isa.llvm import processors
from tests import synthetic_bundle as make


@pytest.mark.parametrize(
    ("entry", "kind", "target"),
    [
        ("hipv4-amdgcn-amd-amdhsa--gfx1201", "hipv4", "gfx1201"),
        ("hip-amdgcn-amd-amdhsa-gfx906", "hip", "gfx906"),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "hipv4", "gfx90a:sramecc+:xnack-"),
        ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+", "hipv4", "gfx90a:sramecc+:xnack-"),
        ("openmp-amdgcn-amd-amdhsa--gfx9-4-generic:xnack-", "openmp", "gfx9-4-generic:xnack-"),
        ("hipv4-amdgcn-amd-amdhsa--gfx11-generic", "hipv4", "gfx11-generic"),
        ("host-x86_64-unknown-linux-gnu-", "host", None),
        ("host-x86_64-unknown-linux--", "host", None),
        ("hip-spirv64-amd-amdhsa--amdgcnspirv", "hip", None),
        ("gfx1100", "gfx1100", "gfx1100"),
    ],
)
def test_entry_ids(entry: str, kind: str, target: str | None) -> None:
    assert split_entry_id(entry) == (kind, target)


@pytest.mark.parametrize(
    ("wanted", "have", "fit"),
    [
        ("gfx90a:xnack-", "gfx90a:xnack-", Fit.EXACT),
        ("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack-", Fit.EXACT),
        ("gfx90a", "gfx90a:xnack-", Fit.FEATURES),
        ("gfx90a:xnack-", "gfx90a", Fit.FEATURES),
        ("gfx90a:xnack-", "gfx90a:xnack+", None),
        ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+", None),
        ("gfx1151", "gfx11-generic", Fit.GENERIC),
        ("gfx942:xnack+", "gfx9-4-generic:xnack+", Fit.GENERIC),
        ("gfx942:xnack+", "gfx9-4-generic:xnack-", None),
        ("gfx11-generic", "gfx11-generic", Fit.EXACT),
        ("gfx11-generic", "gfx1151", None),
        ("gfx1151", "gfx1150", None),
        ("gfx1030", "gfx10-1-generic", None),
    ],
)
def test_fit(wanted: str, have: str, fit: Fit | None) -> None:
    a, b = TargetId.parse(wanted), TargetId.parse(have)
    assert a is not None
    assert b is not None
    assert a.fit(b) is fit


@given(st.text(max_size=20))
def test_target_ids_are_read_back(text: str) -> None:
    target = TargetId.parse(text)
    if target is not None:
        assert TargetId.parse(str(target)) == target


def test_generic_targets_are_llvms() -> None:
    """Every generic processor that the installed LLVM knows and we read is in the table."""
    from isaprof.isa.llvm import find_tools

    known = processors(str(find_tools().mc))
    assert {n for n in known if n.endswith("-generic")} <= GENERIC.keys()
    newest = {n for names in GENERIC.values() for n in names} - {"gfx940", "gfx941"}
    assert newest - {"gfx1251"} <= known


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bundles: gfx90a with both xnack settings, gfx1030, gfx11-generic; a second kernel set."""
    targets = ("gfx90a:xnack+", "gfx90a:xnack-", "gfx1030", "gfx11-generic")
    first = {t: make.code_object(t, "copy_f32", "_Z5scaleIfEvPT_i") for t in targets}
    second = {t: make.code_object(t, "copy_f16") for t in ("gfx1030", "gfx1100")}
    path = tmp_path_factory.mktemp("lib") / "lib.so"
    path.write_bytes(make.elf_host([make.compressed(make.by_target(b)) for b in (first, second)]))
    return path


def test_exact(library: Path) -> None:
    _, co, origin = load_object(library, target="gfx90a:xnack-")
    assert (co.target_id, origin.notes) == ("gfx90a:xnack-", ())
    assert origin.embedded
    assert origin.path == library


def test_compatible_features_are_said(library: Path) -> None:
    _, co, origin = load_object(library, target="gfx90a:xnack+:sramecc+")
    assert co.target_id == "gfx90a:xnack+"
    assert origin.notes == (
        "no object for exactly gfx90a:sramecc+:xnack+: the one for gfx90a:xnack+ is taken",
    )


def test_two_settings_of_a_feature_are_ambiguous(library: Path) -> None:
    with pytest.raises(UsageError, match=r"(?s)2 code objects fit --target gfx90a.*xnack\+.*xnack-") as e:
        load_object(library, target="gfx90a")
    assert "gfx90a:xnack-" in (e.value.hint or "")


def test_exact_goes_before_generic_and_generic_is_said(library: Path) -> None:
    _, co, origin = load_object(library, target="gfx1100")
    assert (co.target_id, origin.notes) == ("gfx1100", ())
    _, co, origin = load_object(library, target="gfx1151")
    assert co.target_id == "gfx11-generic"
    assert "whose code runs on it" in origin.notes[0]


def test_the_kernel_decides_before_the_fit(library: Path) -> None:
    """copy_f32 is not in the exact object, but in the generic one."""
    _, co, origin = load_object(library, target="gfx1100", kernel="copy_f32")
    assert (co.target_id, origin.kernel) == ("gfx11-generic", "copy_f32")


def test_a_kernel_tells_bundles_apart(library: Path) -> None:
    with pytest.raises(UsageError, match="2 code objects fit --target gfx1030") as e:
        load_object(library, target="gfx1030")
    assert "--kernel" in (e.value.hint or "")
    assert load_object(library, target="gfx1030", kernel="copy_f16")[1].kernels[0].name == "copy_f16"


def test_nothing_given_lists_all(library: Path) -> None:
    with pytest.raises(UsageError, match="6 code objects fit") as e:
        load_object(library)
    for target in ("gfx90a:xnack+", "gfx90a:xnack-", "gfx1030", "gfx11-generic", "gfx1100"):
        assert target in str(e.value)
    assert e.value.exit_code == 2


@pytest.mark.parametrize("given", ["scale", "_Z5scale", "void scale<float>(float*, int)", "scale<float>"])
def test_part_of_a_name(library: Path, given: str) -> None:
    _, co, origin = load_object(library, target="gfx90a:xnack+", kernel=given)
    assert origin.kernel == "_Z5scaleIfEvPT_i"
    assert co.kernel(origin.kernel).name == origin.kernel
    assert origin.notes == (f"--kernel {given}: _Z5scaleIfEvPT_i, which is void scale<float>(float*, int)",)


def test_part_of_several_names(library: Path) -> None:
    with pytest.raises(UsageError, match="'copy' is part of 2 kernels' names"):
        load_object(library, target="gfx1030", kernel="copy")


def test_nothing_fits(library: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)nothing for gfx1201.*gfx1030.*copy_f32"):
        load_object(library, target="gfx1201")
    with pytest.raises(BadInput, match="no kernel 'nope' for gfx1030; there are 3: copy_f32"):
        load_object(library, target="gfx1030", kernel="nope")
    with pytest.raises(UsageError, match="'sm_90' is no target"):
        load_object(library, target="sm_90")


def test_identical_copies_are_one(tmp_path: Path) -> None:
    bundle = make.by_target({"gfx1030": make.code_object("gfx1030")})
    path = tmp_path / "two.so"
    path.write_bytes(make.elf_host([bundle, bundle]))
    _, co, origin = load_object(path, target="gfx1030")
    assert co.arch == "gfx1030"
    assert origin.notes == ("2 identical copies of the object: the first is taken",)


def test_a_container_that_names_another_target_than_the_object(tmp_path: Path) -> None:
    path = tmp_path / "b"
    path.write_bytes(make.plain([(make.entry_id("gfx1100"), make.code_object("gfx1030"))]))
    _, _, origin = load_object(path)
    assert origin.notes == ("the container says gfx1100, the object's own header gfx1030",)


def test_minimal_objects_need_a_target(data_dir: Path) -> None:
    path = data_dir / "sqtt/gfx1100/sync_run0/kernel0.co"
    with pytest.raises(BadInput, match="does not say for which GPU"):
        load_object(path)
    _, co, origin = load_object(path, target="gfx1100", kernel="mine")
    assert (co.minimal, origin.arch, co.kernel(origin.kernel).name) == (True, "gfx1100", "mine")


def test_bare_objects(tmp_path: Path) -> None:
    path = tmp_path / "k.co"
    path.write_bytes(make.code_object("gfx11-generic", "only"))
    _, co, origin = load_object(path, target="gfx1151", kernel="onl")
    assert (co.arch, origin.kernel, origin.embedded, origin.label) == (
        "gfx11-generic",
        "only",
        False,
        str(path),
    )
    assert len(origin.notes) == 2
    path.write_bytes(make.code_object("gfx90a:xnack+"))
    assert load_object(path, target="gfx90a")[2].notes == ()
    with pytest.raises(BadInput, match=r"built for gfx90a:xnack\+, not for gfx90a:xnack-"):
        load_object(path, target="gfx90a:xnack-")
    with pytest.raises(BadInput, match="built for gfx90a, not for gfx942"):
        load_object(path, target="gfx942")
