"""The launcher through the real Python bindings, with a HIP library of our own under them.

The library keeps "device" memory on the heap and its kernel copies A to C,
reading the addresses out of the raw kernarg buffer: what is checked is that
the arguments arrive through ``rocm-bindings-hip`` as HIP's C interface has them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HIP = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int hipInit(unsigned flags) { return flags; }
int hipSetDevice(int device) { return device; }
int hipMalloc(void **p, size_t n) { *p = malloc(n); return 0; }
int hipFree(void *p) { free(p); return 0; }
int hipMemset(void *p, int value, size_t n) { memset(p, value, n); return 0; }
int hipMemcpy(void *to, const void *from, size_t n, int kind) {
    if (kind != 1 && kind != 2) return 1;
    memcpy(to, from, n);
    return 0;
}
int hipModuleLoadData(void **module, const void *image) {
    *module = (void *)image;
    return memcmp(image, "code", 4) ? 200 : 0;
}
int hipModuleUnload(void *module) { return module ? 0 : 1; }
int hipModuleGetFunction(void **function, void *module, const char *name) {
    *function = module;
    return strcmp(name, "copy") ? 500 : 0;
}
int hipDeviceSynchronize(void) { return 0; }
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
                          unsigned bx, unsigned by, unsigned bz,
                          unsigned lds, void *stream, void **parameters, void **extra) {
    if (!f || stream || parameters || lds != 512) return 1;
    if (gx != 2 || gy != 3 || gz != 4 || bx != 64 || by != 2 || bz != 1) return 1;
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3 || *(size_t *)extra[3] != 16)
        return 2;
    uint64_t *kernarg = extra[1];
    memcpy((void *)kernarg[1], (void *)kernarg[0], 8);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_launch_reaches_hip_as_documented(tmp_path: Path) -> None:
    pytest.importorskip(
        "rocm.bindings", reason="rocm-bindings-hip is not installed (pip install 'isaprof[rocm]')"
    )
    (tmp_path / "lib").mkdir()
    (tmp_path / "hip.c").write_text(HIP)
    library = tmp_path / "lib/libamdhip64.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "hip.c"], check=True)
    for name in ("buffers", "outputs"):
        (tmp_path / name).mkdir()
    (tmp_path / "copy.co").write_bytes(b"code")
    (tmp_path / "buffers/a.bin").write_bytes(b"12345678")
    spec = {
        "schema": "isaprof-launcher",
        "schema_version": 1,
        "kernel": "copy",
        "code_object": {"path": str(tmp_path / "copy.co"), "sha256": hashlib.sha256(b"code").hexdigest()},
        "grid": [2, 3, 4],
        "workgroup": [64, 2, 1],
        "dynamic_lds": 512,
        "kernarg": {
            "size": 16,
            "bytes": bytes(16).hex(),
            "relocations": [
                {"offset": 0, "buffer": "A", "addend": 0},
                {"offset": 8, "buffer": "C", "addend": 0},
            ],
        },
        "buffers": [
            {
                "name": "A",
                "role": "input",
                "size": 8,
                "file": "buffers/a.bin",
                "sha256": hashlib.sha256(b"12345678").hexdigest(),
            },
            {"name": "C", "role": "output", "size": 8, "fill": 255, "output": "outputs/c.bin"},
        ],
        "warmup": 1,
        "iterations": 1,
    }
    (tmp_path / "launch.json").write_text(json.dumps(spec))
    command = [sys.executable, "-m", "isaprof.backends.hip_launcher", str(tmp_path / "launch.json")]
    environment = {**os.environ, "ROCM_PATH": str(tmp_path), "LD_LIBRARY_PATH": str(tmp_path / "lib")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outputs/c.bin").read_bytes() == b"12345678"
