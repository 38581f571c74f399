"""A server that plays every stage of a pipeline: it loads the weights of a stage's model, and is checked to play with
them.

    server = StageServer({"name": "models:vllm", "model": "served", "base_url": url}, model, {}, folder)
    server.publish("runs/p/round-1/sft/model", "round-1-sft")
    server.follow(policy)                    # its model now asks for these weights
    server.confirm()                         # nobody else has changed them meanwhile

The protocol is that of online training (`online.rollout_backend`): whole weights, or an adapter where the folder holds
one, from a folder that the server sees under the same path; both sides then score the tokens of a probe, and must agree
(`online.off_policy.Agreement`). The model of the first stage is published like any other, since a server that an
earlier run has used may hold anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonde._util.folders import write_atomically
from sonde._util.frozen import thaw
from sonde.core import AGENT, AnyPolicy, UserError, build, run_sync
from sonde.core.types import EMPTY, Json
from sonde.models.files.hub import locate_model
from sonde.models.files.loading import ADAPTER_CONFIG
from sonde.models.remote.served_weights import make_weight_probe, served_models, tie_weights
from sonde.models.remote.token_client import TokenEndpoint

from .online.off_policy import Agreement


class StageServer:
    """The server of this `server` configuration, which plays models with the tokenizer of `model`. `hf` are settings of
    `models:hf`, by which a probe is scored here; what the first probe came to is kept in `folder`."""

    def __init__(self, server: Mapping[str, Json], model: str, hf: Mapping[str, Json], folder: Path) -> None:
        template = {"template": hf["template"]} if "template" in hf else {}
        self.config: dict[str, Json] = {**server, "tokenizer": model, **template}
        self.hf, self.agreement = hf, Agreement(folder)
        self.endpoint: TokenEndpoint = build(self.config)

    def publish(self, model: str, version: str) -> None:
        """Make the server play with the weights of this model. Raises `UserError` where it then plays with others."""
        source = locate_model(model)
        if not source.local:
            raise UserError(
                f"paprika: server: model {model!r} is on the hub only, allowed: one that was downloaded before"
            )
        folder = Path(source.path)
        adapter = (folder / ADAPTER_CONFIG).is_file()
        run_sync(self._publish(model, folder, version, adapter))

    async def _publish(self, model: str, folder: Path, version: str, adapter: bool) -> None:
        probe = make_weight_probe(self.endpoint.chat.tokenizer)
        local: Any = build({"name": "models:hf", **self.hf, "model": model})
        try:
            here = await local.score_ids(probe)
        finally:
            await local.close()
        try:
            await self.endpoint.publish_weights(folder, version, adapter=adapter)
            there = await self.endpoint.score_ids(probe)
            await self.endpoint.confirm_weights()  # another training may have published in between
            self.agreement.check_version(version, here, there)
        finally:
            await self.endpoint.close()

    def follow(self, policy: AnyPolicy) -> None:
        """Let the policy's model, another client of this server, ask for what was published last."""
        for _, model in served_models({AGENT: policy}):
            assert isinstance(model, TokenEndpoint)
            object.__setattr__(model, "served", self.endpoint.served)

    def confirm(self) -> None:
        """Raise `UserError` where the server no longer holds what was published: its play is not the stage's."""
        run_sync(self._confirm())

    async def _confirm(self) -> None:
        try:
            await self.endpoint.confirm_weights(played=True)
        finally:
            await self.endpoint.close()


def tie_player(policy: AnyPolicy, file: Path) -> None:
    """Keep the imprint of the served weights that play in this file. Raises `UserError` where an earlier call kept that
    of others. Models that no server gives token ids for have none."""
    for _, model in served_models({AGENT: policy}):
        kept = json.loads(file.read_text("utf-8")) if file.is_file() else EMPTY
        run_sync(_tie(model, kept, str(file.parent)))
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(thaw(model.imprint)))


async def _tie(model: Any, kept: Mapping[str, Json], work: str) -> None:
    try:
        await tie_weights(model, kept, work)
    finally:
        await model.close()
