"""The sums of the state API: what counts and what does not."""

from __future__ import annotations

from typing import Any

from eagleray.util import state
from pace import until


def test_totals_of_tasks_and_scheduled_actors(fresh: Any) -> None:
    fresh.init(address="local", num_cpus=1, log_to_driver=False)

    @fresh.remote(num_cpus=1)
    class Holder:
        def call(self) -> int:
            return 1

        def fail(self) -> None:
            raise ValueError

    def totals() -> dict[str, Any]:
        found: dict[str, Any] = state.summarize_tasks()["cluster"]
        return found

    runs = Holder.remote()
    assert fresh.get([runs.call.remote() for _ in range(3)]) == [1] * 3
    waits = Holder.remote()  # the only CPU is taken
    until(lambda: sorted(row.state for row in state.list_actors()) == ["ALIVE", "PENDING_CREATION"])
    assert totals()["total_actor_scheduled"] == 2, "also the one that waits, as under Ray"
    fresh.get(fresh.remote(num_cpus=0)(lambda: 1).remote())
    _, rest = fresh.wait([runs.fail.remote()], timeout=60)
    assert not rest
    until(lambda: totals()["total_actor_tasks"] == 4 and totals()["total_tasks"] == 1, "four calls and one task")
    del runs
    assert fresh.get(waits.call.remote(), timeout=60) == 1
    assert totals()["total_actor_scheduled"] == 2, "also the one that has ended"
