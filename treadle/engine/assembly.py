"""Prompts made of frozen inputs: what a profile asks for (`prepare`), and the snapshot that comes of it."""

from __future__ import annotations

from copy import deepcopy

from ..gateway.connections.stored import stored_connection
from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, is_list, is_object
from ..graph.ports import AssembledPrompt, PromptParts
from ..graph.profiles.resolved import ResolvedProfile
from ..nodes.assembly.preset_settings import SOURCE, connected
from ..nodes.assembly.question import Question, answer, preset_object, preset_ref, question
from ..nodes.assembly.request import SYSTEM_PROMPT, TASK, AssemblyRequest, assembly_request
from ..nodes.context_policy import under_policy
from ..nodes.deps import in_thread
from ..nodes.equipment import of_the_profile
from ..nodes.prompt import agent_system_prompt
from ..nodes.registry import specs
from ..nodes.snapshot import check_activation, check_payload
from ..nodes.snapshot_messages import MARKER_KEY
from .profiles.choice import chosen_profile
from .services import Services

_COMPONENTS = {
    SYSTEM_PROMPT: "agent.system_prompt_component_missing",
    TASK: "agent.task_prompt_component_missing",
}


class PromptAssembly:
    """`prepare`, then `build_snapshot` where the answer is a request. Neither starts anything."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def prepare(self, given: dict[str, Json]) -> dict[str, Json]:
        """How the prompt of a run of this profile is to be made.

        Takes `{profileId?, profile?, generationType, frozenRunInputSnapshot, jsonSchema?}`. Gives `{mode:
        "currentPromptSnapshot"}` where the prompt that the front end captured is to be used, or `{mode:
        "frontendPromptAssembly", request, assembly}` where the profile has a preset. Raises InvalidInput and NotFound.
        """
        asked = question(given)
        return await in_thread(lambda: self._prepared(asked))

    async def build_snapshot(self, request: dict[str, Json]) -> dict[str, Json]:
        """A prompt snapshot for the request that `prepare` gave, made of what the request holds and nothing else.

        Gives `{promptSnapshot, frozenRunInputSnapshot, generationIntent, assembly}`: the fields of a start request,
        and a record of who made the prompt. Raises InvalidInput.
        """
        asked = assembly_request(request)
        check_activation(asked.frozen["worldInfoActivation"], "frozenRunInputSnapshot.worldInfoActivation")
        assembler = self._services.assembler
        made = await assembler.assemble(_parts(asked))
        check_payload(made.payload)
        _check_components(asked, made)
        return _built(asked, made, assembler.engine)

    def _prepared(self, asked: Question) -> dict[str, Json]:
        profile = chosen_profile(self._services, asked.profile_id, asked.profile)
        ref = preset_ref(profile)
        if ref is None:
            return {"mode": "currentPromptSnapshot"}
        preset = preset_object(self._services.preset(ref.api_id, ref.name), ref)
        settings = self._with_model(deepcopy(preset), profile)
        prompt = agent_system_prompt(profile, specs())
        return answer(asked, profile, ref, preset=preset, settings=settings, system_prompt=prompt)

    def _with_model(self, settings: dict[str, Json], profile: ResolvedProfile) -> dict[str, Json]:
        """The settings with the stored connection in place, where the profile names one."""
        model = profile.definition.model
        if model.mode != "connectionRef":
            return settings
        with of_the_profile():
            record = stored_connection(model.connection_ref or "", self._services.connections)
        provider = record.provider
        return connected(settings, provider.chat_completion_source, model.model_id or "", provider.custom_api_format)


def _parts(asked: AssemblyRequest) -> PromptParts:
    return PromptParts(
        generation_type=asked.generation_type,
        prompt_inputs=under_policy(asked.frozen["promptInputs"], asked.policy),
        macro_context=deepcopy(asked.frozen["macroContext"]),
        settings=deepcopy(asked.settings),
        system_prompt=asked.system_prompt,
        task_prompt=asked.task_prompt,
        model_id=asked.model_id,
        json_schema=deepcopy(asked.json_schema),
    )


def _check_components(asked: AssemblyRequest, made: AssembledPrompt) -> None:
    """Whether the prompt holds the texts that it must; a mark counts as the agent prompt that will take its place."""
    messages: Json = made.payload.get("messages")
    entries = [entry for entry in messages if is_object(entry)] if is_list(messages) else [{"content": messages}]
    texts = {SYSTEM_PROMPT: asked.system_prompt, TASK: asked.task_prompt}
    for component in asked.required:
        marked = component == SYSTEM_PROMPT and any(MARKER_KEY in entry for entry in entries)
        if not marked and not any(_holds(entry.get("content"), texts[component]) for entry in entries):
            raise InvalidInput(
                f"the prompt that was made lacks the text of {component}; add that component to the preset",
                code=_COMPONENTS[component],
            )


def _holds(content: Json, text: str | None) -> bool:
    return isinstance(content, str) and text is not None and text in content


def _built(asked: AssemblyRequest, made: AssembledPrompt, engine: str) -> dict[str, Json]:
    payload, frozen = made.payload, asked.frozen
    return {
        "promptSnapshot": {
            "contextPolicy": asked.policy,
            "chatCompletionPayload": payload,
            "worldInfoActivation": deepcopy(frozen["worldInfoActivation"]),
        },
        "frozenRunInputSnapshot": frozen,
        "generationIntent": {
            "source": "prompt-assembly",
            "generationType": asked.generation_type,
            "chatCompletionSource": payload.get(SOURCE),
            "model": payload.get("model"),
        },
        "assembly": {"schemaVersion": 1, "engine": engine, "tokenCounts": made.token_counts},
    }
