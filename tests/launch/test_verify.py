"""The verdict: tolerance, never-written outputs, padding, non-finite values, samples."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.errors import BadInput, UsageError
from isaprof.launch import LaunchFile, ResolvedLaunch

from .kernels import GEMM


def launch(text: str = GEMM) -> tuple[ResolvedLaunch, np.ndarray]:
    """A resolved 32x32x16 launch and its right output as an f32 matrix."""
    r = LaunchFile.parse(text, "t").resolve("32,32,16")
    want = r.operand("A").values() @ r.operand("B").values().T
    return r, want.astype(np.float32)


def packed(r: ResolvedLaunch, c: np.ndarray) -> dict[str, bytes]:
    data = r.operand("C").data.copy()
    data[: c.size * 4] = c.reshape(-1).view(np.uint8)
    return {"C": data.tobytes()}


def test_right_output_is_verified() -> None:
    r, c = launch()
    v = r.verify(packed(r, c))
    assert v.verified is True
    assert (v.checked, v.total, v.unwritten, v.nonfinite) == (1024, 1024, 0, 0)
    assert v.max_abs_err is not None
    assert v.max_abs_err < 1e-5
    assert v.cosine == pytest.approx(1.0)
    assert v.rel_floor == pytest.approx(0.01 * np.sqrt((c.astype(float) ** 2).mean()), rel=1e-3)


def test_one_wrong_element_fails_and_is_named() -> None:
    r, c = launch()
    c[3, 7] += 1.0
    v = r.verify(packed(r, c))
    assert v.verified is False
    assert v.failed == 1
    assert v.max_abs_err == pytest.approx(1.0, rel=1e-5)
    assert "C[3, 7]" in v.message


def test_never_written_output_is_noticed() -> None:
    r, c = launch()
    data = bytearray(packed(r, c)["C"])
    data[40:44] = r.operand("C").data[40:44].tobytes()
    v = r.verify({"C": bytes(data)})
    assert v.verified is False
    assert (v.unwritten, v.nonfinite) == (1, 1)
    assert "1 never written" in v.message


def test_untouched_output_fails() -> None:
    r, _ = launch()
    v = r.verify({"C": r.operand("C").data.tobytes()})
    assert v.verified is False
    assert v.unwritten == 1024
    assert v.max_abs_err is None


def test_infinity_where_a_number_belongs_fails() -> None:
    r, c = launch()
    c[0, 0] = np.inf
    v = r.verify(packed(r, c))
    assert v.verified is False
    assert v.nonfinite == 1
    assert v.max_abs_err is not None
    assert np.isfinite(v.max_abs_err)


def test_written_padding_fails() -> None:
    r, c = launch()
    data = bytearray(packed(r, c)["C"])
    data[-1] ^= 1
    v = r.verify({"C": bytes(data)})
    assert v.verified is False
    assert v.padding_written == 1


def test_wrong_everywhere_within_a_loose_tolerance_fails_by_cosine() -> None:
    r, c = launch(GEMM.replace("atol = 1e-3", "atol = 1e9"))
    v = r.verify(packed(r, -c))
    assert v.verified is False
    assert "cosine" in v.message


def test_sample_checks_only_the_tiles_that_ran() -> None:
    r, c = launch()
    part = np.frombuffer(r.operand("C").data[: 1024 * 4].tobytes(), np.float32).reshape(32, 32).copy()
    part[16:, :16] = c[16:, :16]
    v = r.verify(packed(r, part), [(0, 1, 0)])
    assert v.verified is True
    assert (v.checked, v.total) == (256, 1024)
    missing = r.verify(packed(r, part), [(0, 1, 0), (1, 1, 0)])
    assert missing.verified is False
    assert missing.unwritten == 256


def test_a_tile_that_has_no_value_is_said_before_the_run() -> None:
    with pytest.raises(UsageError, match="tile of operand C"):
        launch(GEMM.replace('"wg_x*16"]', '"log2(wg_x)"]'))


def test_a_tile_that_has_no_value_in_the_middle_is_bad_input() -> None:
    text = GEMM.replace('"wg_x*16"]', '"16 // (wg_x + wg_y*2 - 1)"]')  # workgroup 1,0
    r, c = launch(text)
    with pytest.raises(BadInput, match="workgroup 1,0,0: division by zero"):
        r.verify(packed(r, c), [(1, 0, 0)])


def test_sample_without_tiles_checks_what_was_written_and_says_so() -> None:
    text = GEMM.replace('tile = { start = ["wg_y*16", "wg_x*16"], size = [16, 16] }\n', "")
    r, c = launch(text)
    part = np.frombuffer(r.operand("C").data[: 1024 * 4].tobytes(), np.float32).reshape(32, 32).copy()
    part[:16, :16] = c[:16, :16]
    v = r.verify(packed(r, part), [(0, 0, 0)])
    assert v.verified is True
    assert v.checked == 256
    assert "were written" in v.message
    nothing = r.verify({"C": r.operand("C").data.tobytes()}, [(0, 0, 0)])
    assert nothing.verified is False


def test_integers_compare_exactly() -> None:
    text = GEMM.replace('dtype = "f32"', 'dtype = "i32"').replace('fill = "normal"', 'fill = "integers"')
    text = text.replace("rtol = 1e-3", "").replace("atol = 1e-3", "")
    r = LaunchFile.parse(text, "t").resolve("32,32,16")
    want = (r.operand("A").values() @ r.operand("B").values().T).astype(np.int32)
    assert r.verify(packed(r, want)).verified is True
    want[0, 0] += 1
    assert r.verify(packed(r, want)).verified is False


def test_json_has_no_infinities() -> None:
    import json

    r, _ = launch()
    json.dumps(r.verify({"C": r.operand("C").data.tobytes()}).to_dict(), allow_nan=False)
    json.dumps(r.describe(), allow_nan=False)
