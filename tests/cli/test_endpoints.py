"""Models behind endpoints on the command line: providers by name, `--strict`, and the keys that errors name."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import UserError
from sonde.cli.overrides import apply_overrides
from sonde.cli.players import model_config, model_seats
from sonde.models.http import Http
from sonde.models.remote.providers import Provider, load_providers, provider_config
from sonde.runs.run import RunConfig
from tests.cases import each

from ..models.server import Request, reply, says, serving
from .invoke import failure, run

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.EndpointWarning")
URL = "http://localhost:8000/v1"


@each("name", load_providers())
def test_a_provider_is_http_with_settings(name: str) -> None:
    known, model = load_providers()[name], sonde.build(model_config(f"{name}:some/model:free", None))
    assert isinstance(model, Http) and model.model == "some/model:free"
    assert (model.base_url, model.api_key_env, model.omit) == (known.base_url, known.api_key_env, known.omit)
    assert model_config(f"{name}:m", URL)["base_url"] == URL
    assert "omit" not in model_config(f"{name}:m", None, strict=True)


def test_providers_are_all_different() -> None:
    urls = {p.base_url for p in load_providers().values()}
    assert len(urls) == len(load_providers()) >= 11
    assert isinstance(load_providers()["openai"], Provider) and load_providers()["ollama"].api_key_env == ""
    with pytest.raises(UserError, match="provider: unknown name 'opnai' \\(did you mean 'openai'"):
        provider_config("opnai", "m")


def test_a_provider_is_asked_at_its_own_address_in_every_seat() -> None:
    seats = model_seats("openai:a", "hybrid:http:b".removeprefix("hybrid:"), None, URL)
    assert seats["user"]["model"]["base_url"] == "https://api.openai.com/v1", "not at the agent's"
    assert seats["judge"]["model"]["base_url"] == URL
    assert model_seats("hybrid:groq:a", None, URL, None)["user"]["model"]["base_url"] == URL


def test_names_that_are_none() -> None:
    with pytest.raises(
        UserError, match=r"--model: got 'opnai:x' \(did you mean 'openai'\?\), allowed: hf:NAME, http:NAME"
    ):
        model_config("opnai:x", None)
    with pytest.raises(UserError, match="--model: got 'openai:', allowed: openai:NAME"):
        model_config("openai:", None)


def test_providers_are_listed() -> None:
    assert "openai:NAME, anthropic:NAME" in " ".join(run("--help").split())
    assert "key in TOGETHER_API_KEY" in run("models", "list")


# --- strictness and keys ---------------------------------------------------------------------------------------------


async def reasoning_model(request: Request, writer: Any) -> None:
    for name, instead in (("max_tokens", " Use 'max_completion_tokens' instead."), ("min_p", ""), ("temperature", "")):
        if name in request.body:
            message = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
            error = {"message": message, "param": name, "code": "unsupported_parameter"}
            await reply(json.dumps({"error": error}), 400)(request, writer)
            return
    await says("<Answer>crane</Answer>")(request, writer)


def asked(url: str, *more: str) -> tuple[str, ...]:
    key = "seats.agent.model.api_key_env=''"
    return ("eval", "wordle", "--model", "http:o3", "--base-url", url, "-n", "1", "-k", "1", "-o", key, *more)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_reasoning_model_is_evaluated_as_it_stands(here: Path) -> None:
    with serving(reasoning_model) as server:
        told = " ".join(run(*asked(server.url)).split())
    assert "min_p was not sent in 1 of 1 episodes: the endpoint does not take it" in told
    assert "temperature was not sent in 1 of 1 episodes" in told


def test_strict_leads_to_the_keys_that_help(here: Path) -> None:
    """What a refusal names is typed, until the run plays: at each step the keys are right."""
    with serving(reasoning_model) as server:
        more: list[str] = []
        for key in (
            "seats.agent.model.max_tokens_field=max_completion_tokens",
            "seats.agent.model.omit=[min_p]",
            "seats.agent.model.omit=[min_p,temperature]",
        ):
            assert f"-o '{key}'" in failure(*asked(server.url, "--strict", *more))
            assert list((here / "runs").iterdir()) == [], "a refused command leaves nothing behind"
            more += ["-o", key]
        run(*asked(server.url, "--strict", *more))


def test_strict_is_for_endpoints() -> None:
    assert failure("eval", "wordle", "--agent", "random", "--strict", "-n", "1").startswith(
        "--strict: allowed: only with a model behind an endpoint"
    )


def test_strict_reaches_every_seat_and_cache(here: Path) -> None:
    line = (
        "eval", "twenty_questions", "--model", "openai:a", "--user", "groq:b", "--cache", "c", "--strict", "-n", "1",
    )  # fmt: skip
    with serving(reply("no", 400)) as server:
        (here / "f.yaml").write_text("n_tasks: 1\n")
        error = failure(*line, "--base-url", server.url, "-o", "seats.agent.model.model.api_key_env=''")
    assert "-o 'seats.agent.model.model.omit" not in error and "400 from /v1/chat/completions: no" in error


NAMES = [f.name for f in fields(RunConfig)]
VALUES = {
    "env": {"name": "wordle"},
    "seats": {"agent": {"name": "agents:llm", "model": {"name": "models:cached", "model": {"name": "models:http"}}}},
}


@each(
    "assignment, says_so",
    [
        ("omit=[min_p]", "-o: unknown name 'omit'; known: "),
        ("omit=[min_p]", "seats.agent.model.model.omit"),
        ("seats.agent.omit=[min_p]", "-o seats.agent: unknown name 'omit'; known: seats.agent.model.model.omit"),
        (
            "seats.agent.model.omit=[min_p]",
            "-o seats.agent.model: unknown name 'omit'; known: seats.agent.model.model.omit",
        ),
        ("temperature=1", "seats.agent.temperature"),
        ("preset=paprika", "env.preset"),
        ("seats.agent.temperatur=1", "-o seats.agent: unknown name 'temperatur' (did you mean 'temperature'?)"),
        ("env.omit=1", "-o env: unknown name 'omit'; known: seats.agent.model.model.omit"),
    ],
)
def test_an_option_at_a_wrong_place_is_led_to_the_right_one(assignment: str, says_so: str) -> None:
    with pytest.raises(UserError) as caught:
        apply_overrides(VALUES, [assignment], names=NAMES)
    assert says_so in str(caught.value)


@each("assignment",
    ["seats.agent.model.model.omit=[min_p]", "seats.agent.model.model.extra.top_k=5", "k=2", "env.preset=paprika",
     "seats.agent.model.name=models:http", "seats.user.model.omit=[x]", "seats.judge={}"],
)  # fmt: skip
def test_options_at_their_places_are_taken(assignment: str) -> None:
    apply_overrides(VALUES, [assignment], names=NAMES)


def test_the_page_of_models_has_every_provider() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    for name, p in load_providers().items():
        key = f"`{p.api_key_env}`" if p.api_key_env else "none"
        omitted = ", ".join(f"`{field}`" for field in p.omit)
        assert f"| `{name}:NAME` | {p.title} | `{p.base_url}` | {key} | {omitted} |" in page
