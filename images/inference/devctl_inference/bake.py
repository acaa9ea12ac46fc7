"""`python -m devctl_inference.bake WHAT FOLDER`: adds weights to the image during its build."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from devctl_inference.settings import ModelName


def torchvision(folder: Path) -> None:
    """Download torchvision's weights, trained on ImageNet at the scale that is used here."""
    # Imported here, because a build without weights does not need torch.
    import torch  # noqa: PLC0415
    from safetensors.torch import save_file  # noqa: PLC0415
    from torchvision import models  # noqa: PLC0415

    published = {
        ModelName.RESNET50: models.ResNet50_Weights.IMAGENET1K_V1,
        ModelName.MOBILENET_V3_SMALL: models.MobileNet_V3_Small_Weights.IMAGENET1K_V1,
    }
    with tempfile.TemporaryDirectory() as temporary:
        for model, weights in published.items():
            # Published as a pickle: its hash is verified, and only tensors are read from it.
            state = torch.hub.load_state_dict_from_url(
                weights.url, model_dir=temporary, check_hash=True, weights_only=True
            )
            whole = {name: tensor.contiguous() for name, tensor in state.items()}
            save_file(whole, folder / f"{model}.safetensors")
            labels = json.dumps(weights.meta["categories"])
            (folder / f"{model}-labels.json").write_text(labels)


def main(what: str, folder: Path) -> int:
    """Add the weights that `what` names, if any."""
    if what not in {"", "none", "torchvision"}:
        return _failed(f"WEIGHTS must be `none` or `torchvision`, not `{what}`")
    folder.mkdir(parents=True, exist_ok=True)
    if what == "torchvision":
        try:
            torchvision(folder)
        except (OSError, RuntimeError) as error:
            advice = "build with WEIGHTS=none, and put weights on each job's volume"
            return _failed(f"cannot download torchvision's weights: {error}\n  fix: {advice}")
    return 0


def _failed(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
