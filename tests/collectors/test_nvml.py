"""The NVML provider under a FAKE driver: nvidia-ml-py's own functions replaced, its constants and errors kept."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pynvml
import pytest

from collectors.base import OutageError, UnavailableError
from collectors.machine.gpu_status import read_gpu_status
from collectors.machine.nvml import NvmlProvider

ROOT = Path(__file__).parent.parent.parent


def test_no_driver_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", no_library)
    with pytest.raises(UnavailableError, match=r"^no NVIDIA driver on this machine$"):
        NvmlProvider().sample()


class FakeDriver:
    """A driver with one GPU that answers as set; a name in `refused` raises that NVML error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused: dict[str, int] = {}
        self.opened = 0
        self.asked: dict[str, tuple[Any, ...]] = {}  # function -> what it was last given
        self.fields = {186: (0, 251_000), 82: (0, 71)}
        answers: dict[str, Any] = {
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlDeviceGetCount": 1,
            "nvmlDeviceGetHandleByIndex": "handle",
            "nvmlSystemGetDriverVersion": b"580.1",
            "nvmlSystemGetCudaDriverVersion_v2": 13_010,
            "nvmlDeviceGetUUID": "GPU-abc",
            "nvmlDeviceGetName": b"NVIDIA H200",
            "nvmlDeviceGetPowerUsage": 240_000,
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetTotalEnergyConsumption": 5_500,
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetCurrentClocksEventReasons": 4,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=0),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=100, used=40, free=60),
            "nvmlDeviceGetTemperature": 45,
            "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=7, usedGpuMemory=30)],
            "nvmlDeviceGetProcessUtilization": [
                SimpleNamespace(pid=7, timeStamp=5_000, smUtil=60, memUtil=1),
                SimpleNamespace(pid=8, timeStamp=4_000, smUtil=10, memUtil=1),
                SimpleNamespace(pid=8, timeStamp=6_000, smUtil=30, memUtil=1),
            ],
            "nvmlDeviceGetCudaComputeCapability": (9, 0),
            "nvmlDeviceGetVbiosVersion": "96.00",
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId=b"0000:01:00.0"),
            "nvmlDeviceGetEccMode": [1, 1],
            "nvmlDeviceGetMigMode": [0, 0],
            "nvmlDeviceGetPersistenceMode": 1,
            "nvmlDeviceGetApplicationsClock": 1755,
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, self._call(name, answer))
        monkeypatch.setattr(pynvml, "nvmlDeviceGetFieldValues", self._fields)

    def _call(self, name: str, answer: Any) -> Callable[..., Any]:
        def call(*given: Any, **__: Any) -> Any:
            self.asked[name] = given
            self.opened += name == "nvmlInit"
            if name in self.refused:
                raise pynvml.NVMLError(self.refused[name])
            return answer

        return call

    def _fields(self, _: Any, numbers: list[int]) -> list[Any]:
        code, value = self.fields.get(numbers[0], (pynvml.NVML_ERROR_NOT_SUPPORTED, 0))
        return [SimpleNamespace(nvmlReturn=code, value=SimpleNamespace(uiVal=value))]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return FakeDriver(monkeypatch)


def test_values_come_in_their_units(driver: FakeDriver) -> None:
    (got,) = NvmlProvider().sample()
    assert got.values == {
        "gpu_uuid": "GPU-abc",
        "gpu_name": "NVIDIA H200",
        "power_w": 251.0,
        "power_limit_w": 700.0,
        "energy_j_total": 5.5,
        "sm_clock_mhz": 1980.0,
        "sm_clock_max_mhz": 1980.0,
        "memory_clock_mhz": 1980.0,
        "memory_used_bytes": 40,
        "memory_total_bytes": 100,
        "memory_kind": "dedicated",
        "utilization_ratio": 0.97,
        "memory_utilization_ratio": 0.0,
        "memory_temperature_c": 71.0,
        "temperature_c": 45.0,
        "throttle_reasons": 4,
    }
    assert (got.unknown, got.processes) == ({}, {7: 30})
    assert got.shares == {7: 0.6, 8: 0.2}


def test_readings_cover_processes_since_the_last(driver: FakeDriver) -> None:
    provider = NvmlProvider()
    began_us = time.time() * 1e6
    provider.sample()
    (_, since_us) = driver.asked["nvmlDeviceGetProcessUtilization"]
    assert began_us - 2e6 < since_us < time.time() * 1e6 - 0.9e6, "of its whole life, a driver would tell otherwise"
    provider.sample()
    assert driver.asked["nvmlDeviceGetProcessUtilization"] == ("handle", 6_000)


def test_idle_gpu_differs_from_a_silent_gpu(driver: FakeDriver) -> None:
    driver.refused = {"nvmlDeviceGetProcessUtilization": pynvml.NVML_ERROR_NOT_FOUND}
    (idle,) = NvmlProvider().sample()
    assert (idle.shares, idle.shares_unknown) == ({}, None)
    driver.refused = {"nvmlDeviceGetProcessUtilization": pynvml.NVML_ERROR_NOT_SUPPORTED}
    (silent,) = NvmlProvider().sample()
    assert (silent.shares, silent.shares_unknown) == (None, "this GPU does not report it")


def test_silent_gpu_value_is_unknown_with_reason(driver: FakeDriver) -> None:
    driver.fields = {186: (pynvml.NVML_ERROR_NOT_SUPPORTED, 0)}
    driver.refused = {
        "nvmlDeviceGetTotalEnergyConsumption": pynvml.NVML_ERROR_NOT_SUPPORTED,
        "nvmlDeviceGetUtilizationRates": pynvml.NVML_ERROR_NO_PERMISSION,
        "nvmlDeviceGetComputeRunningProcesses": pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    }
    (got,) = NvmlProvider().sample()
    assert got.values["power_w"] == 240.0, "the average stands in for the instant"
    assert got.unknown == {
        "energy_j_total": "this GPU does not report it",
        "utilization_ratio": "the driver does not report it to this user",
        "memory_utilization_ratio": "the driver does not report it to this user",
        "memory_temperature_c": "this GPU does not report it",
    }
    assert got.processes is None and got.processes_unknown == "this driver is too old to report it"


def test_unified_memory_is_the_machines(driver: FakeDriver) -> None:
    driver.refused = {"nvmlDeviceGetMemoryInfo": pynvml.NVML_ERROR_NOT_SUPPORTED}
    (got,) = NvmlProvider().sample()
    assert got.values["memory_kind"] == "unified"
    assert got.values["memory_total_bytes"] == psutil.virtual_memory().total
    assert "memory_utilization_ratio" not in got.values
    assert got.unknown["memory_temperature_c"] == "reads 0 if GPU and CPU share their memory"
    assert got.values["utilization_ratio"] == 0.97


@pytest.mark.parametrize("where", ["call", "field"])
def test_lost_driver_is_an_outage_and_reopened(driver: FakeDriver, where: str) -> None:
    provider = NvmlProvider()
    assert provider.sample()
    healthy = dict(driver.fields)
    if where == "call":
        driver.refused = {"nvmlDeviceGetTemperature": pynvml.NVML_ERROR_GPU_IS_LOST}
    else:
        driver.fields[186] = (pynvml.NVML_ERROR_GPU_IS_LOST, 0)
    with pytest.raises(OutageError, match="the NVIDIA driver does not answer: GPU is lost"):
        provider.sample()
    driver.refused, driver.fields = {}, healthy
    assert provider.sample()
    assert driver.opened == 2


def test_the_probe_says_who_the_gpus_are(driver: FakeDriver) -> None:
    probe = NvmlProvider().probe()
    assert (probe.driver_version, probe.cuda_version) == ("580.1", "13.1")
    (gpu,) = probe.gpus
    assert (gpu["name"], gpu["pci_bus_id"], gpu["ecc"], gpu["power_from"]) == (
        "NVIDIA H200",
        "0000:01:00.0",
        True,
        "instant",
    )
    assert (gpu["compute_capability"], gpu["memory_total_bytes"], gpu["memory_used_bytes"]) == ("9.0", 100, 40)
    assert (gpu["application_clock_mhz"], gpu["mig"], gpu["persistence"]) == (1755.0, False, True)
    driver.refused = {"nvmlDeviceGetApplicationsClock": pynvml.NVML_ERROR_NOT_SUPPORTED}
    assert NvmlProvider().probe().gpus[0]["application_clock_mhz"] is None


def test_driver_lost_during_probe_is_reported(driver: FakeDriver) -> None:
    driver.refused = {"nvmlDeviceGetTemperature": pynvml.NVML_ERROR_GPU_IS_LOST}
    assert read_gpu_status().reason == "the NVIDIA driver does not answer: GPU is lost"


def test_a_machine_without_a_gpu_says_so(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: 0)
    with pytest.raises(UnavailableError, match="no NVIDIA GPU"):
        NvmlProvider().probe()


def test_the_command_needs_only_three_packages(capfd: pytest.CaptureFixture[str]) -> None:
    """It is meant to be run on a GPU machine where nothing else of Pitwall is installed."""
    code = (
        "import sys\n"
        "absent = ('httpx', 'prometheus_client', 'duckdb', 'streamlit', 'pydantic_settings', 'pyarrow', 'numpy')\n"
        "sys.modules |= dict.fromkeys(absent)\n"
        "import pynvml\n"
        "def refuse(): raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)\n"
        "pynvml.nvmlInit = refuse\n"
        "from cli.main import main\n"
        "sys.exit(main(['gpus']))\n"
    )
    assert psutil.Popen([sys.executable, "-c", code], cwd=ROOT).wait(60) == 1
    assert capfd.readouterr().err == "no NVIDIA driver on this machine\n"
