"""Public names that come from the specification, and the release since which each of them exists."""

from dataclasses import dataclass

#: A name whose work is not done yet. Once it can be imported, its line must give the release.
LATER = ""


@dataclass(frozen=True, slots=True)
class Name:
    """One promised name.

    Args:
        lib: the package that exports it.
        dotted: the name inside the package, `Class.method` for a method.
        since: ECHO version that first has it, LATER if none has.
    """

    lib: str
    dotted: str
    since: str = LATER


#: Source: docs/design.md section 13.
NAMES = (
    Name("echo_constants", "MEMORY_IMPORTANCE_WEIGHTS", "0.1.0"),
    Name("echo_runtime", "Orchestrator.prepare_context"),
    Name("echo_runtime", "_resolve_placeholders", "0.1.0"),
    Name("echo_runtime", "_TOOLS_CACHE", "0.1.0"),
    Name("echo_protocol", "StreamProcessor.process", "0.1.0"),
    Name("echo_protocol", "build_ca_generation_config", "0.1.0"),
    Name("echo_protocol", "convert_owui_tools", "0.1.0"),
    Name("echo_protocol", "unbox_tool_output", "0.1.0"),
    Name("echo_protocol", "wrap_tool_output", "0.1.0"),
    Name("echo_utils", "split_thought_process", "0.1.0"),
    Name("echo_gemini_client", "EchoGeminiClient", "0.1.0"),
    Name("echo_core", "EchoCompactionEngine", "0.1.0"),
    Name("echo_core", "strip_checkpoint_tag", "0.1.0"),
    Name("echo_aec", "EchoAEC.drain_pending_directives", "0.1.0"),
    Name("echo_aec", "EchoAEC.purge_orphaned_events", "0.1.0"),
    Name("echo_state_manager", "get_message_shadow", "0.1.0"),
    Name("echo_state_manager", "save_message_shadow", "0.1.0"),
    Name("echo_state_manager", "get_signature_by_id", "0.1.0"),
    Name("echo_state_manager", "save_signature_by_id", "0.1.0"),
    Name("echo_state_manager", "save_cognitive_data", "0.1.0"),
    Name("echo_state_manager", "index_suture", "0.1.0"),
    Name("echo_state_manager", "save_session_setting", "0.1.0"),
    Name("echo_ui", "EchoUI.deploy_context_gauge", "0.1.0"),
    Name("echo_auth", "EchoAuth.get_model_quota"),
    Name("echo_auth", "get_ca_model_id"),
    Name("echo_auth", "refresh_quota_if_needed"),
    Name("echo_auth", "get_stealth_headers"),
    Name("echo_audio", "register_echo_audio_routes"),
    Name("echo_audio", "sniff_audio_mime_type"),
)
