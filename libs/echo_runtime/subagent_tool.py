"""The toolkit of sub-agents, as the model reads it; light to import, since Open WebUI loads function files itself."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from echo_constants import Bilingual, EchoError, ModelFeedbackError, locale_of
from echo_runtime.tools_cache import turn_tools

Given = dict[str, Any] | None


class SubagentsOff(ModelFeedbackError):
    """The administrator or the user has switched sub-agents off."""

    code = "subagents_off"
    message = Bilingual(en="Sub-agents are switched off.", fr="Les sous-agents sont désactivés.")
    remedy = Bilingual(en="Do the task yourself.", fr="Faites la tâche vous-même.")


class NoTurnForSubagent(ModelFeedbackError):
    """The tool was called from somewhere else than a running turn of ECHO and of this user."""

    code = "subagent_without_turn"
    message = Bilingual(
        en="Sub-agents work only inside an answer of the ECHO model.",
        fr="Les sous-agents ne travaillent qu'au sein d'une réponse du modèle ECHO.",
    )
    remedy = Bilingual(en="Do the task yourself.", fr="Faites la tâche vous-même.")


class SubagentWithoutTask(ModelFeedbackError):
    """The task is empty."""

    code = "subagent_without_task"
    message = Bilingual(en="The sub-agent was given no task.", fr="Le sous-agent n'a reçu aucune tâche.")
    remedy = Bilingual(
        en="Call it again with the task in words.", fr="Rappelez-le en formulant la tâche avec des mots."
    )


class SubagentToolkit:
    """Sub-agents for the model.

    Args:
        valves: the administrator's: MAX_DEPTH, MAX_ROUNDS, MAX_TOKENS, MAX_SECONDS; read for each call.
    """

    def __init__(self, valves: Callable[[], Any]) -> None:
        self._valves_now = valves

    async def delegate_to_subagent(
        self,
        task: str,
        context: str = "",
        level: Literal["auto", "LITE", "FLASH", "PRO"] = "auto",
        __user__: Given = None,
        __metadata__: Given = None,
    ) -> Any:
        """Give a self-contained task to a sub-agent that has your tools but sees nothing of this conversation.

        Use it for work with many steps of which you need only the result. Independent tasks go into several calls of
        one step: they run at the same time.

        :param task: the goal, what to look at, and the form of the result; complete, since it cannot ask back
        :param context: facts, decisions and names from this conversation that it needs
        :param level: LITE is quick and cheap, FLASH for ordinary work, PRO reasons hardest; auto leaves the choice
        """
        try:
            return await self._delegate(task, context, level, __user__ or {}, __metadata__ or {})
        except EchoError as error:
            locale = _locale(__metadata__ or {})
            message, remedy = (text.render(locale, **error.fields) for text in (error.message, error.remedy))
            return {"error": {"code": error.code, "message": message, "remedy": remedy}}

    async def _delegate(
        self, task: str, context: str, level: str, user: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> Any:
        turn, seat = turn_tools(str(user.get("id") or ""), metadata)
        if turn is None:
            raise NoTurnForSubagent(f"no turn {seat.answer_id!r} of this user runs here")
        valves = self._valves_now()
        if not valves.MAX_DEPTH or not getattr(user.get("valves"), "ENABLED", True):
            raise SubagentsOff
        if not str(task).strip():
            raise SubagentWithoutTask
        from echo_core.routing import level_of
        from echo_runtime.subagent_run import Limits, Order

        order = Order(task=str(task).strip(), context=str(context or "").strip(), level=level_of(level))
        limits = Limits(
            depth=valves.MAX_DEPTH,
            rounds=valves.MAX_ROUNDS,
            tokens=valves.MAX_TOKENS,
            time_s=float(valves.MAX_SECONDS),
        )
        return await turn.agents.run(order, limits, seat)


def _locale(metadata: Mapping[str, Any]) -> Any:
    variables = metadata.get("variables")
    language = variables.get("{{USER_LANGUAGE}}") if isinstance(variables, Mapping) else None
    return locale_of(language if isinstance(language, str) else None)
