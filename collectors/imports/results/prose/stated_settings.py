"""Reads the model, the engine, its settings and the GPU that a text states, where it states only one of each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from collectors.imports.results.prose.gpus import gpu_of
from collectors.imports.results.prose.quantizations import (
    is_example,
    names_other_quantization,
    quantization_in_name,
    quantization_of,
    without_quantization,
)

MAX_TEXT_CHARS = 400_000
PERCENTILES = {50, 75, 90, 95, 98, 99}  # 'TP99' is the 99th percentile, too
MOST_WORDS = 4  # of a model's name
_NAME = r"[\w./-]{2,200}(?::\d[\w.-]{0,40})?"  # 'tiny:8b'
_LABELLED_MODEL = re.compile(
    r"(?:^|[\s*|])model(?: name| path| id)?[`*]{0,4} ?[:=][`* ]{0,40}(?P<model>[^\n|,;()*`\"']{2,200})",
    re.IGNORECASE | re.MULTILINE,
)
_CODED_MODEL = re.compile(  # a name without a digit has its marks: 'Model: `o/tiny-small`'
    r"(?:^|[\s*|])model(?: name| path| id)?[*]{0,2} ?(?:[:=]|\|)[* ]{0,40}"
    r"`(?P<model>[A-Za-z][\w.]{0,60}[/-][\w./-]{2,100})`(?=[ *]{0,3}(?:[|,.;(]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = r"[ *`]{0,6}"
_END_OF_ROW = rf"{_MARKS}\|?[ ]{{0,9}}$(?!\n[ ]{{0,3}}\|?[ :]{{0,9}}-{{2}})"  # no head, below which a rule stands
_MODEL_OF_ROW = re.compile(  # of a table of fields and their values
    rf"^[ ]{{0,3}}\|?{_MARKS}model(?: name| path| id)?{_MARKS}\|{_MARKS}(?P<model>[^|`*\n]{{2,100}}?){_END_OF_ROW}",
    re.IGNORECASE | re.MULTILINE,
)
_DEGREE_OF_ROW = re.compile(
    rf"^[ ]{{0,3}}\|?{_MARKS}(?:TP|tensor[- ]parallel(?:ism)?)(?: size| degree)?{_MARKS}\|{_MARKS}"
    rf"(?P<degree>\d{{1,3}}){_END_OF_ROW}",
    re.IGNORECASE | re.MULTILINE,
)
_SIZE_OF_MODEL = re.compile(
    r"[~≈<>]?\s?\d[\d.,]* ?(?:[KMGT]i?B|tok\S*|ms|s|%)", re.IGNORECASE
)  # 'draft model: ~268 MiB'
_TAG = re.compile(r"[a-z][\w./-]{1,80}:[\w.-]{1,60}")  # as Ollama names models
_SIZE = re.compile(r"(?<![\w.])\d{1,4}(?:\.\d{1,2})?b\b")  # 'tiny-8b'
_FILE_OF_MODEL = re.compile(r"(?:[-.](?:ud-)?i?q\d\w{0,8})?\.gguf$")  # 'tiny-8b-q4_k_m.gguf' is a file of tiny-8b
_NEXT_SETTING = re.compile(r"\s\w{1,40}=")  # 'model=gpt2 prompt=512'
_SERVED_MODEL = re.compile(
    rf"(?:(?<!\S)--model(?:[-_]path)?(?:=| {{1,4}})|\bvllm serve |\btrtllm-serve "
    r"|(?:\bllama-[a-z-]{2,20}(?:\.exe)?|\./(?:main|server)) (?:(?:[^\n]|(?<=\\)\n){0,200} )?-(?:m|hf) )"
    rf"[\"']?(?P<model>{_NAME})"
)
_NAMED_MODEL = re.compile(
    r"(?<![A-Za-z\d_./-])(?P<model>(?:[A-Za-z][\w-]{1,40}/)?(?:Qwen|QwQ|Llama|DeepSeek|Gemma|Mistral|Mixtral|Ministral|Devstral|"
    r"Magistral|GLM|gpt-oss|Kimi|MiniMax|Nemotron|Phi|Granite|Falcon|OLMo|ERNIE|Hunyuan|InternLM|Seed-OSS|LFM2|SmolLM|"
    r"EXAONE|Apertus|Jamba)[\w.]{0,20}(?:-[\w.-]{1,100}(?: \d{1,4}B\b)?|"
    r"(?: \d\.\d)? \d{1,4}(?:\.\d)?B(?:-?A\d{1,3}(?:\.\d)?B)?\b))",
    re.IGNORECASE | re.ASCII,
)
_NO_MODEL = re.compile(
    r"\bsha256\b|\.(?:cpp|log|sh|json|jsonl|py|ya?ml|txt|csv|md)$|^llama\.?cpp|^llama-(?:b\d|bench|server|cli|swap|spec|batched|sweep|perplexity|box)",
    re.IGNORECASE,
)
_TAGGED_MODEL = re.compile(
    r"(?<![\w./:-])(?P<model>[a-z][a-z\d.-]{1,40}:\d{1,4}(?:\.\d)?b(?:-[\w.-]{1,40})?)(?![\w:])", re.ASCII
)  # as Ollama names models
_COMPARISON = re.compile(
    r"(?:和|与|跟|比|\b(?:than|as|vs\.?|versus|unlike|(?:compared|similar) (?:to|with)))\s*$", re.IGNORECASE
)
_FAMILIES = (
    "Qwen", "Llama", "DeepSeek", "Gemma", "Mistral", "Mixtral", "GLM", "Kimi", "MiniMax", "Nemotron", "Phi", "Granite",
)  # fmt: skip
_FAMILY = re.compile(rf"(?<![A-Za-z])(?P<name>{'|'.join(_FAMILIES)})[- ]?(?=[VR]?\d)", re.IGNORECASE)
_TENSOR_PARALLEL = re.compile(
    r"(?<![\w-])(?:TP ?[=:]? ?|TP size ?[=:] {0,40}|--?tp(?:-size)?[ =]"
    r"|(?:--)?tensor[-_ ]parallel(?:ism)?(?:[-_ ]size)?(?: ?[=:] ?| (?:of )?))(?P<degree>\d{1,3})(?![\w.])",
    re.IGNORECASE,
)
_GPU_COUNT = re.compile(r"(?<![\w.])(?P<count>\d{1,3}) ?[x×]? ?GPUs?\b", re.IGNORECASE)
_ENGINE_NAMES = r"vLLM|SGLang|llama\.cpp|TensorRT-LLM|Ollama|LMDeploy|ExLlama(?:V[23])?|MLC-LLM"
_ENGINE = re.compile(
    rf"(?<![\w-])(?P<name>{_ENGINE_NAMES})\b(?:[` :(*]{{1,4}}"
    r"(?:v?(?P<version>\d{1,3}\.\d{1,3}[\w.+-]{0,60})|(?:build:? |b)(?P<build>\d{4,5})\b)"
    r"(?! ?(?:\w{1,12} )?(?:tok|t/s|tps|ms\b|s\b)))?",
    re.IGNORECASE,
)
_OTHER_VERSION = re.compile(  # without the engine's name
    r"\b(?:on|to|from|than|with|in|vs\.?|versus|version) v?(\d{1,3}\.\d{1,3}\.\d{1,4})(?![\w.%])"
    r"|\*\*v?(\d{1,3}\.\d{1,3}\.\d{1,4}):?\*\*"
)
_NUMBER_OF_GPUS = re.compile(r"^\d{1,3}x ")
_OTHER_BUILD = re.compile(rf"(?<![\w-])(?:{_ENGINE_NAMES}) (?:nightly|main|master|HEAD)\b", re.IGNORECASE)
_OTHER_PROGRAM = re.compile(r"(?<![\w-])(?:LM ?Studio|KoboldCpp|TabbyAPI|oMLX)\b", re.IGNORECASE)
ENGINE_HEAD = re.compile(
    rf"(?:{_ENGINE_NAMES}|TRT-LLM|TGI|Transformers|MLX)(?: v?[\d.]{{1,20}}| ?\([^()]{{1,40}}\))?",
    re.IGNORECASE,
)  # of a column


_ENGINE_OF_ARM = re.compile(
    rf"(?<![\w./-])(?:{_ENGINE_NAMES}|TRT-LLM|TGI|MLX|KTransformers|LightLLM|Aphrodite|ik_llama\.cpp)\b",
    re.I,
)
_ADVICE_LINE = re.compile(  # of a program
    r"^\s{0,8}(?:\(\w{1,40} pid=\d{1,9}\) )?\[?(?:WARN(?:ING)?|TIP|HINT)\b[^\n]*", re.IGNORECASE | re.MULTILINE
)
_TAG_OF_IMAGE = re.compile(r"\d\d\.\d\d-py\d")  # of NVIDIA's containers, no version of the engine


class StatedSettings(NamedTuple):
    """What a text states; None where it states nothing or several."""

    model: str | None
    engine: str | None  # with its version: 'SGLang 0.5.7'
    tensor_parallel: int | None
    gpu: str | None = None  # with their number: '2x H100'
    quantization: str | None = None  # of the weights

    @property
    def sentence(self) -> str | None:
        """A note on where the settings come from; None without any."""
        tensor_parallel = f"tensor parallel {self.tensor_parallel}" if self.tensor_parallel else None
        words = (self.model, self.engine, tensor_parallel, self.gpu, self.quantization)
        settings = [text for text in words if text]
        return f"Read from the words around the results: {', '.join(settings)}." if settings else None


def read_settings(
    text: str, models_in_tables: Iterable[str] = (), words_around: str | None = None, headings: Iterable[str] = ()
) -> StatedSettings:
    """Return what the words of a text state of the measured server; its tables may compare the model with others.

    `words_around`: the text without its tables, whose rows may compare servers; the text itself if there are none.
    `headings`: of the tables; if they name models, that of a command is an example.
    """
    text = _ADVICE_LINE.sub("", text[:MAX_TEXT_CHARS])
    words = text if words_around is None else _ADVICE_LINE.sub("", words_around[:MAX_TEXT_CHARS])
    matches_of_degrees = list(_TENSOR_PARALLEL.finditer(words))
    degrees = {int(match["degree"]) for match in (*matches_of_degrees, *_DEGREE_OF_ROW.finditer(text))} - PERCENTILES
    is_of_example = matches_of_degrees and all(is_example(words, match) for match in matches_of_degrees)
    degrees = set() if is_of_example else degrees
    gpu_counts = {match["count"] for match in _GPU_COUNT.finditer(text)}  # several are compared with each other
    tensor_parallel = degrees.pop() if len(degrees) == 1 and len(gpu_counts) < 2 else None
    model = _model_of(text)
    names = {name for cell in models_in_tables if (name := cell.strip("*` "))}
    model = next(iter(names)) if model is None and len(names) == 1 and _is_name_of_model(*names) else model
    cells = {name.lower() for name in names}
    sizes = {match[0] for cell in cells for match in _SIZE.finditer(cell)}
    is_compared = model is not None and (
        len(sizes) > 1
        or any(_names_other(cell, model) for cell in cells)
        or _are_others(cells, model.rpartition("/")[2].lower())
    )
    is_compared = is_compared or len({size for words in headings for size in _SIZE.findall(words.lower())}) > 1
    has_several_models = len(_distinct(names)) > 1 or _names_several_models(text)
    quantization = quantization_of(text, has_several_models)
    if is_compared and quantization and quantization in (model or ""):
        quantization = None  # of the only file that the text names
    known_model = None if is_compared else model
    return StatedSettings(known_model, _engine_of(text), tensor_parallel, gpu_of(text), quantization)


def without_settings_of_arms(settings: StatedSettings, names_by_metric: Collection[Collection[str]]) -> StatedSettings:
    """Return settings without an engine, a GPU and a quantization that only some results of a metric name: an arm's.

    Nor with those that contradict what an arm names, as another engine or precision does; of a model whose name ends
    with its quantization the arms share the rest. `names_by_metric`: the names of the results of each metric.
    """
    engine, gpu, quantization = (
        setting if setting and not any(_is_of_some(setting, names) for names in names_by_metric) else None
        for setting in (settings.engine, settings.gpu, settings.quantization)
    )
    names = [name for names_of_metric in names_by_metric for name in names_of_metric]
    engine = None if engine and any(names_other_engine(name, engine) for name in names) else engine
    degrees = [{match["degree"] for match in _TENSOR_PARALLEL.finditer(name)} for name in names]
    is_of_arms = any(degrees) and degrees.count(degrees[0]) < len(degrees)
    is_of_some = quantization is not None and _is_of_some(quantization, names)  # whatever their metrics
    if quantization and (is_of_some or any(names_other_quantization(name, quantization) for name in names)):
        quantization = None
    of_model = quantization_in_name(settings.model or "")
    is_of_model = of_model is None or not any(names_other_quantization(name, of_model) for name in names)
    return StatedSettings(
        settings.model if is_of_model else without_quantization(settings.model or ""),
        engine, None if is_of_arms else settings.tensor_parallel, gpu, quantization,
    )  # fmt: skip


def names_other_engine(text: str, engine: str) -> bool:
    """Return whether a text, as the name of an arm, is also of another engine: 'TGI, c=8' beside vLLM 0.11."""
    return _OTHER_PROGRAM.search(text) is not None or any(
        match[0].lower() not in engine.lower() for match in _ENGINE_OF_ARM.finditer(text)
    )


def _names_several_models(text: str) -> bool:
    """Return whether a text names models of which none is a part of the other's name."""
    names = {name.rpartition("/")[2].lower() for name in _distinct(m["model"] for m in _NAMED_MODEL.finditer(text))}
    longest = max(names, key=len, default="")
    return any(re.sub(r"[ _]", "-", name) not in re.sub(r"[ _]", "-", longest) for name in names)


def _is_of_some(setting: str, names: Collection[str]) -> bool:
    words = _NUMBER_OF_GPUS.sub("", setting).lower()
    return len({words in name.lower() for name in names}) > 1


def _is_name_of_model(cell: str) -> bool:
    """Whether the only cell of a column of models is a model's name: 'o/Tiny-8B-Instruct'."""
    return _SIZE.search(cell.lower()) is not None and len(_distinct([cell])) == 1


def _names_other(cell: str, model: str) -> bool:
    """Whether a cell names another model than this one: 'Qwen3-4B (Q4_K_M)' is not Qwen3-0.6B."""
    match = _NAMED_MODEL.search(cell)
    name, known_name = (text.rpartition("/")[2].lower() for text in (match["model"] if match else "", model))
    return bool(name) and name not in known_name and known_name not in name


def _are_others(cells: Collection[str], model: str) -> bool:
    """Whether several models stand in a column, one of them another, as 'gemma3:12b' beside 'qwen3:8b' is."""
    tags = [cell for cell in cells if _TAG.fullmatch(cell)]
    return len(tags) > 1 and any(model not in tag and tag.partition(":")[0] not in model for tag in tags)


def model_in_line(line: str) -> str | None:
    """Return the only model that a line names, as people write those of known families; None for none or several."""
    names = _distinct(match["model"] for pattern in (_TAGGED_MODEL, _NAMED_MODEL) for match in pattern.finditer(line))
    return names[0] if len(names) == 1 and not _names_other_family(line, names[0]) else None


def _model_of(text: str) -> str | None:
    """The only model that the text names as one; what it calls the model comes before what merely looks like one."""
    for pattern in (_LABELLED_MODEL, _MODEL_OF_ROW, _CODED_MODEL, _SERVED_MODEL, _TAGGED_MODEL, _NAMED_MODEL):
        written = (match["model"] for match in pattern.finditer(text))
        names = list(dict.fromkeys(written)) if pattern is _CODED_MODEL else _distinct(written)
        if names:
            is_weak = pattern is _NAMED_MODEL
            is_alone = len(names) == 1 and not (is_weak and _names_other_family(text, names[0]))
            is_alone = is_alone and not (is_weak and _is_compared_with(text))
            return names[0] if is_alone else None
    return None


def _is_compared_with(text: str) -> bool:
    """Whether a model is named only as what another is compared with: 'as fast as Qwen3 8B'."""
    return any(_COMPARISON.search(text[max(0, m.start() - 16) : m.start()]) for m in _NAMED_MODEL.finditer(text))


def _names_other_family(text: str, model: str) -> bool:
    """Whether a text names a version of another family: 'Qwen3' beside 'Gemma3 12B'."""
    families = {match["name"].lower() for match in _FAMILY.finditer(text)}
    return any(family not in model.lower() for family in families)


def _distinct(names: Iterable[str]) -> list[str]:
    """The names that have a digit, once each: 'o/Llama-3.1-8B' is the same as 'Llama-3.1-8B', and is kept."""
    by_short_name: dict[str, str] = {}
    for name in (_NEXT_SETTING.split(name)[0].strip().rstrip("./-_=") for name in names):
        if (
            len(name.split()) > MOST_WORDS
            or not re.search(r"\d", name)
            or not re.search(r"[A-Za-z]", name)
            or _NO_MODEL.search(name)
            or _SIZE_OF_MODEL.fullmatch(name)
        ):
            continue
        short_name = _FILE_OF_MODEL.sub("", name.rpartition("/")[2].lower())
        by_short_name[short_name] = max(by_short_name.get(short_name, ""), name, key=len)
    return list(by_short_name.values())


def _engine_of(text: str) -> str | None:
    """The only engine of a text, with its only version; several engines or versions are compared with each other."""
    matches = list(_ENGINE.finditer(text))
    names = {match["name"].lower(): match["name"] for match in matches}
    written = (
        match["version"].rstrip(".") if match["version"] else f"b{match['build']}"
        for match in matches if match["version"] or match["build"]
    )  # fmt: skip
    versions = {version for version in written if not _TAG_OF_IMAGE.match(version)}
    is_compared = _OTHER_PROGRAM.search(text) or _OTHER_BUILD.search(text)
    is_alone = len(names) == len(versions) == 1 and not is_compared
    version = versions.pop() if is_alone else ""
    return f"{next(iter(names.values()))} {version}" if is_alone and not _names_other_version(text, version) else None


def _names_other_version(text: str, version: str) -> bool:
    """Whether a text speaks of another version without the engine's name: '0.7 is slower, I went back to 0.6.8'."""
    other_versions = (match[1] or match[2] for match in _OTHER_VERSION.finditer(text))
    major = version.partition(".")[0]
    return any(version_text.partition(".")[0] == major and version_text != version for version_text in other_versions)
