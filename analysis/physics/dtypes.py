"""Bytes per stored number, by data type name."""

from __future__ import annotations

_BYTES = {
    **dict.fromkeys(("float32", "fp32", "f32", "float"), 4.0),
    **dict.fromkeys(("bfloat16", "bf16", "float16", "fp16", "f16", "half"), 2.0),
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fn", "fp8_e4m3fnuz", "fp8_inc", "int8"), 1.0),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1.0),
    # A block of 32 numbers and its scales, as ggml packs it.
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    **dict.fromkeys(("q4_0", "iq4_nl"), 18 / 32),
    # 4 bits and one byte of scale for 16 of them.
    **dict.fromkeys(("nvfp4", "fp4_e2m1"), 0.5 + 1 / 16),
}


def bytes_per_number(dtype: str | None, model_dtype: str | None = None) -> float | None:
    """Return the bytes of one number; 'auto' and None mean the model's type. None for an unknown name.

    Per-tensor scales of FP8 are left out: they are too few to matter.
    """
    name = (dtype or "auto").lower().removeprefix("torch.")
    if name == "auto":
        return bytes_per_number(model_dtype) if model_dtype and model_dtype != "auto" else None
    return _BYTES.get(name)
