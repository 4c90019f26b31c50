"""What the HUD asks of Open WebUI: its settings for a user, and which models are ECHO.

Facts about Open WebUI named here were read in release 0.12.4; the seam test checks each symbol against the
installed release.
"""

from collections.abc import Sequence

from echo_runtime.display import DRAWER_FILTER_ID, display_of
from echo_runtime.model_record import ECHO_MODEL_ID
from echo_runtime.turn_context import Display

#: The page names few models at once; more are nobody's chat. Source: our choice.
_MAX_NAMES = 16


async def display_for(user_id: str) -> Display:
    """Where a user sees the gauge; "off" when an administrator switched the filter off."""
    from open_webui.models.functions import Functions

    function = await Functions.get_function_by_id(DRAWER_FILTER_ID)
    if function is not None and not function.is_active:
        return "off"
    valves = await Functions.get_function_valves_by_id(DRAWER_FILTER_ID) or {}
    own = await Functions.get_user_valves_by_id_and_user_id(DRAWER_FILTER_ID, user_id) or {}
    return display_of(valves, own)


async def any_is_echo(names: Sequence[str]) -> bool:
    """Whether one of these names, as the page shows them, is ECHO's or that of a workspace model built on it."""
    from open_webui.internal.db import get_async_db_context
    from open_webui.models.functions import Function
    from open_webui.models.models import Model
    from sqlalchemy import or_, select

    asked = [name for name in names if name][:_MAX_NAMES]
    if not asked:
        return False
    ours = or_(Model.id == ECHO_MODEL_ID, Model.base_model_id == ECHO_MODEL_ID)
    async with get_async_db_context() as db:
        named = await db.execute(select(Model.id).where(ours, Model.name.in_(asked)).limit(1))
        if named.first() is not None:
            return True
        pipe = select(Function.id).where(Function.id == ECHO_MODEL_ID, Function.name.in_(asked)).limit(1)
        return (await db.execute(pipe)).first() is not None
