from echo_http import BreakerSettings, CircuitBreaker

KEY = ("ai_studio", "gemini-x")
SETTINGS = BreakerSettings(failures_to_open=3, open_s=10, longest_open_s=30, trial_s=5)


def opened() -> CircuitBreaker:
    breaker = CircuitBreaker(SETTINGS)
    for _ in range(3):
        breaker.failed(KEY, 100)
    return breaker


def test_failures_in_a_row_open_it_and_a_success_starts_the_count_anew() -> None:
    breaker = CircuitBreaker(SETTINGS)
    for _ in range(2):
        breaker.failed(KEY, 100)
    breaker.succeeded(KEY)
    for _ in range(2):
        breaker.failed(KEY, 100)
    assert breaker.blocked_s(KEY, 100) == 0
    breaker.failed(KEY, 100)
    assert breaker.blocked_s(KEY, 104) == 6


def test_other_models_go_on() -> None:
    assert opened().blocked_s(("ai_studio", "other"), 100) == 0


def test_after_the_pause_one_trial_may_run() -> None:
    breaker = opened()
    assert breaker.blocked_s(KEY, 110) == 0
    assert breaker.blocked_s(KEY, 111) == 4, "the second must wait for the trial's result"
    breaker.succeeded(KEY)
    assert breaker.blocked_s(KEY, 111) == 0


def test_each_failed_trial_doubles_the_pause_up_to_the_longest() -> None:
    breaker, now_s, pauses = opened(), 110.0, []
    for _ in range(3):
        assert breaker.blocked_s(KEY, now_s) == 0
        breaker.failed(KEY, now_s)
        pauses.append(breaker.blocked_s(KEY, now_s))
        now_s += pauses[-1]
    assert pauses == [20, 30, 30]


def test_late_failures_of_older_requests_do_not_lengthen_the_pause() -> None:
    breaker = opened()
    breaker.failed(KEY, 105)
    assert breaker.blocked_s(KEY, 105) == 5


def test_a_stopped_trial_frees_the_way_for_the_next() -> None:
    breaker = opened()
    assert breaker.blocked_s(KEY, 110) == 0
    breaker.abandoned(KEY)
    assert breaker.blocked_s(KEY, 110) == 0
