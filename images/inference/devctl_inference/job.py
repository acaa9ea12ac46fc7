"""A job from start to end."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from devctl_inference import decoder, files, labels, weights
from devctl_inference.answer import answer, top5
from devctl_inference.files import File
from devctl_inference.output import Output
from devctl_inference.wait import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from devctl_inference.answer import Answer
    from devctl_inference.network import Library
    from devctl_inference.settings import Settings


def run(
    settings: Settings, get_library: Callable[[], Library], say: Callable[[str], object]
) -> Answer:
    """Wait for the files, classify the image and write the result.

    Args:
        settings: The job's settings.
        get_library: Imports the library, which takes seconds.
        say: Receives lines for the log.

    Raises:
        Failure: The job failed.
    """
    image_file = File(settings.input, settings.volume, files.INPUT)
    found = weights.find(settings)
    output = Output(settings.output, settings.volume)
    wanted = [image_file, *found.wanted()]
    output.check(file.path for file in wanted)
    # Report obvious errors before importing the library.
    for file in wanted:
        file.look()
    # Importing the library and waiting for the files take seconds each: both at once.
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(get_library)
        wait_for(wanted, settings.wait_seconds, say)
        library = coming.result()
    known = labels.parse(found.labels.read(), found.labels.path)
    # Decode before reading the weights: for a while, the decoder may need as much memory as they.
    pixels = decoder.prepare(image_file.read(), known.preprocess, image_file.path)
    classes = len(known.names)
    tensors = weights.read(found.tensors, library.shapes(settings.model, classes))
    network = library.load(settings.model, classes, tensors)
    started = time.perf_counter()
    probabilities = network.probabilities(pixels, known.preprocess)
    seconds = time.perf_counter() - started
    likeliest = top5(known.names, probabilities)
    made = answer(settings.model, likeliest, seconds, network.device, datetime.now(UTC))
    output.write(json.dumps(made, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
    say(f"{settings.input} is `{likeliest[0]['label']}`; the full result is in {settings.output}")
    return made
