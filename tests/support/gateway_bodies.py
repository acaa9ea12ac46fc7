"""What nodes and jobs of tests say of themselves."""

from __future__ import annotations

from typing import Any

FACTS: dict[str, Any] = {
    "hostname": "one.example",
    "gpu_count": 2,
    "gpu_type": "RTX 4090",
    "gpu_memory_total": 24576,
    "cpu_cores": 16,
    "memory_total": 32768,
    "max_concurrent_jobs": 4,
}
PRICES = {
    "price_per_gpu_hour": "1.20",
    "price_per_cpu_hour": "0.03",
    "price_per_memory_gb_hour": "0.004",
}
JOB: dict[str, Any] = {
    "job_name": "A job",
    "docker_image": "localhost/any",
    "docker_tag": "1",
    "gpu_memory_required": 8192,
    "cpu_cores_required": 1,
    "memory_required": 64,
    "input_data": {"epochs": 3},
}
