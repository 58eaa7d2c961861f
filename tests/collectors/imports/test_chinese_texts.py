"""Chinese texts: what should be and what is wished, '每秒9token', the labels of a script's log."""

from __future__ import annotations

from pathlib import Path

from collectors.imports.result_import import ResultImporter
from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_what_should_be_and_what_is_wished_is_not_measured(tmp_path: Path) -> None:
    text = (
        "现在速度只有10 tokens/s，稳定正常后应该在200 tokens/s的输出。\n\n"
        "比如我把并发数改成10，速度提升到100 token/秒，这个怎么弄\n"
    )
    assert figures_of(tmp_path, text) == [("stated", "stated", 10.0)]


def test_tokens_each_second(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "我这里4卡运行，每秒9token，100并发下每秒 700 tokens。\n")
    assert [(row.value, row.unit, row.concurrency) for row in rows] == [(9.0, "tok/s", None), (700.0, "tok/s", 100)]


def test_the_log_of_a_script(tmp_path: Path) -> None:
    lines = (
        "总请求数: 200", "成功: 198 (99.0%)", "失败: 2 (1.0%)", "总耗时: 135.5 秒", "平均吞吐量: 1.5 请求/秒",
        "请求耗时统计 (毫秒):", "最小值: 557.5", "最大值: 12780.5",
    )  # fmt: skip
    path = tmp_path / "a.txt"
    dated_lines = [f"2025-06-25 16:47:2{n},986 - INFO - {line}\n" for n, line in enumerate(lines)]
    dated_lines[5] = f"{lines[5]}\n"  # printed below an empty message
    path.write_text("".join(dated_lines))
    assert ResultImporter(None, None).recognises(path, "a.txt")  # type: ignore[arg-type]
    assert [(row.metric, row.statistic, row.value) for row in results_of(load_of(path))] == [
        ("requests", "stated", 200.0), ("failed_requests", "stated", 2.0), ("duration_s", "stated", 135.5),
        ("request_tps", "mean", 1.5), ("e2e_ms", "min", 557.5), ("e2e_ms", "max", 12780.5),
    ]  # fmt: skip


def test_a_bound_that_others_state_makes_no_code_of_a_sentence(tmp_path: Path) -> None:
    text = "我在一块板上推理这个模型，只能得到25t/s的输出速度，官方给出的是>50t/s的评估结果，这个环境是如何的？"
    assert figures_of(tmp_path, text) == [("output_tps", "stated", 25.0)]


def test_medians_and_durations_in_short_words(tmp_path: Path) -> None:
    text = "| 指标 | 甲 |\n|---|---|\n| 中位 TTFT (ms) | 198.5 |\n| 测试持续时间 (s) | 20.5 |\n"
    assert [(row.metric, row.statistic) for row in results_of_text(tmp_path, text)] == [
        ("ttft_ms", "median"), ("duration_s", "stated"),
    ]  # fmt: skip


def test_columns_without_a_unit_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| 并发 | QPS | 首token时延 | 出字率 |\n|---|---|---|---|\n| 96 | 2.45 | 570.5 | 622.05 |\n")
    load = load_of(path)
    assert [(row.metric, row.value) for row in results_of(load)] == [("request_tps", 2.45)]
    assert load.notes == [
        "The column '首token时延' states no unit: its numbers were left out.",
        "The column '出字率' states no unit: its numbers were left out.",
    ]


def test_the_inverse_of_the_time_per_token_is_the_speed_of_a_stream(tmp_path: Path) -> None:
    text = "| 框架 | 环境 | 1000/tpot |\n|---|---|---|\n| vllm | 8卡，16并发 | 14tok/s |\n"
    (row,) = results_of_text(tmp_path, text)
    assert (row.metric, row.value, row.concurrency) == ("decode_tps", 14.0, 16)
