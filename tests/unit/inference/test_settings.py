from __future__ import annotations

import pytest
from devctl_inference.failure import Failure, Reason
from devctl_inference.settings import read


def test_what_is_not_set_is_as_in_the_jobs_schema() -> None:
    found = read({})
    assert (found.model, found.input, found.output, found.wait_seconds) == (
        "resnet50",
        "/artifacts/input.jpg",
        "/artifacts/output.json",
        120,
    )
    assert (found.weights, found.labels) == (None, None)


def test_what_is_set_is_taken() -> None:
    found = read(
        {
            "MODEL": "mobilenet_v3_small",
            "INPUT_PATH": "/artifacts/a b.png",
            "OUTPUT_PATH": "/artifacts/o.json",
            "INPUT_WAIT_SECONDS": "3600",
            "WEIGHTS_PATH": "/artifacts/w.safetensors",
            "LABELS_PATH": "/artifacts/l.json",
        }
    )
    assert (found.model, found.input, found.wait_seconds) == (
        "mobilenet_v3_small",
        "/artifacts/a b.png",
        3600,
    )
    assert (found.weights, found.labels) == ("/artifacts/w.safetensors", "/artifacts/l.json")


@pytest.mark.parametrize(
    "environ",
    [
        {"MODEL": "vgg16"},
        {"MODEL": ""},
        *({"INPUT_WAIT_SECONDS": t} for t in ("", "-1", "3601", "1e3", "1_0", "٣", "9" * 5000)),
    ],
    ids=lambda environ: str(environ)[:40],
)
def test_a_value_that_there_cannot_be_is_named(environ: dict[str, str]) -> None:
    with pytest.raises(Failure) as caught:
        read(environ)
    assert caught.value.reason is Reason.SETTINGS_INVALID
