"""Train an image model on scikit-learn's digits, on one process or on many.

    devctl run lab examples/train_digits.py --epochs 10

Works as it is on a distributed server, where torchrun starts one process for each rank, and on a
standalone one or at your desk, where it is a single process. What it saves is what a job of the
model mobilenet_v3_small needs to classify images.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.distributed as dist
from PIL import Image
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from torchvision.models import mobilenet_v3_small
from torchvision.transforms.functional import normalize, pil_to_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

BACKEND = os.environ.get("DEVCTL_BACKEND", "gloo")
DISTRIBUTED = int(os.environ.get("WORLD_SIZE", "1")) > 1

# Preprocessing. It is saved with the weights, so that inference prepares images the same way. The
# model halves an image five times: nothing would be left of 8 pixels.
PREPROCESS = {"size": [64, 64], "mean": [0.5] * 3, "std": [0.5] * 3, "grayscale": True}


class Digits(NamedTuple):
    """Handwritten digits: to learn from, and held out."""

    learn: TensorDataset
    held_out: TensorDataset
    example: Image.Image
    """One of those held out, as a picture."""
    example_digit: int


def picture(pixels: NDArray[float]) -> Image.Image:
    """One of scikit-learn's 8 by 8 images, as a picture that one can look at."""
    height, width = PREPROCESS["size"]
    small = Image.fromarray((pixels * 255 / 16).astype("uint8"))
    return small.resize((width, height), Image.Resampling.BILINEAR)


def inputs(pictures: Iterable[Image.Image]) -> torch.Tensor:
    """Pictures as the model's inputs: three equal channels, normalised."""
    grey = (pil_to_tensor(picture.convert("RGB")) / 255 for picture in pictures)
    return torch.stack([normalize(image, PREPROCESS["mean"], PREPROCESS["std"]) for image in grey])


def data() -> Digits:
    """A fifth of the digits is held out, the same ones in each run."""
    digits = load_digits()
    split: Sequence[NDArray[float]] = train_test_split(
        digits.images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
    )
    pictures, held_out_pictures = ([picture(pixels) for pixels in part] for part in split[:2])
    labels, held_out_labels = (torch.tensor(part) for part in split[2:])
    return Digits(
        TensorDataset(inputs(pictures), labels),
        TensorDataset(inputs(held_out_pictures), held_out_labels),
        held_out_pictures[0],
        int(held_out_labels[0]),
    )


def network() -> nn.Module:
    """Torchvision's model with one class per digit."""
    model = mobilenet_v3_small(num_classes=10)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 0.1  # the default 0.01 would take thousands of steps to converge
    return model


def accuracy(model: nn.Module, held_out: TensorDataset, device: torch.device) -> float:
    """The share of held-out images that are read correctly."""
    images, labels = held_out.tensors
    model.eval()
    with torch.no_grad():
        guesses = model(images.to(device)).argmax(dim=1).cpu()
    model.train()
    return (guesses == labels).float().mean().item()


def save(model: nn.Module, digits: Digits, folder: Path) -> None:
    """Write the weights and what the outputs mean; a file is whole or is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    weights, labels = folder / "digits.safetensors", folder / "digits-labels.json"
    state = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    save_file(state, weights.with_suffix(".new"))
    weights.with_suffix(".new").replace(weights)
    meaning = {"labels": [str(digit) for digit in range(10)], "preprocess": PREPROCESS}
    labels.with_suffix(".new").write_text(json.dumps(meaning))
    labels.with_suffix(".new").replace(labels)
    example = folder / f"held-out-{digits.example_digit}.png"
    digits.example.save(example)
    print(f"saved {weights}, {labels.name} and {example.name}")


def train(arguments: argparse.Namespace, rank: int) -> None:
    """Train; the first rank says how well it goes, and saves what came out."""
    # NCCL uses one GPU per process; without a GPU everything runs on the CPU.
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device(f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and DISTRIBUTED:
        # Ranks on one machine would each use all its cores, and spin while waiting for each other.
        torch.set_num_threads(1)
    torch.manual_seed(0)  # the same initial weights on every rank
    digits = data()
    model = network().to(device)
    parallel = DistributedDataParallel(model) if DISTRIBUTED else model
    sampler = DistributedSampler(digits.learn, seed=0) if DISTRIBUTED else None
    batches = DataLoader(
        digits.learn,
        arguments.batch_size,
        shuffle=sampler is None,
        sampler=sampler,
        drop_last=True,  # batch normalisation cannot work on a single image
    )
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=arguments.learning_rate)
    # One cycle up to the given rate and down again: with a constant rate, accuracy keeps jumping.
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, arguments.learning_rate, epochs=arguments.epochs, steps_per_epoch=len(batches)
    )
    for epoch in range(1, arguments.epochs + 1):
        if sampler:
            sampler.set_epoch(epoch)  # a different order in each epoch
        for images, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(parallel(images.to(device)), labels.to(device))
            loss.backward()  # DDP averages the gradients of all ranks here
            optimizer.step()
            schedule.step()
        if rank == 0:
            share = accuracy(model, digits.held_out, device)
            print(f"epoch {epoch:2d}  accuracy {share:.1%}", flush=True)
    if rank == 0:
        save(model, digits, arguments.out.expanduser())


def main() -> None:
    """Read the command line, meet the other processes, and train."""
    parser = argparse.ArgumentParser(description="Train an image model on scikit-learn's digits.")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32, help="images in a step, of each rank")
    parser.add_argument("--learning-rate", type=float, default=5e-3)
    parser.add_argument("--out", type=Path, default=Path("~/checkpoints"))
    arguments = parser.parse_args()
    if not DISTRIBUTED:
        train(arguments, rank=0)
        return
    dist.init_process_group(BACKEND)
    try:
        train(arguments, dist.get_rank())
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
