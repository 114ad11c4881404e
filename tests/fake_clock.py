"""A clock for tests: nobody really waits; sleepers wake in their order, each when everything else has come to rest."""

import asyncio
import heapq

from evalkit.retries import Clock


class FakeClock(Clock):
    """`slept` lists the waits asked for. Time moves only when a sleeper wakes, to the moment that it waits for."""

    def __init__(self, time_of_day: float = 1_772_442_000.0):
        self.seconds, self.slept = 1000.0, []
        self._sleepers: list[tuple[float, int, asyncio.Future]] = []
        self._waker = None
        super().__init__(
            now=lambda: self.seconds, time_of_day=lambda: time_of_day, sleep=self._sleep, chance=lambda: 0.0
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        wake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.seconds + seconds, len(self.slept), wake))
        if self._waker is None or self._waker.done():
            self._waker = asyncio.create_task(self._wake_in_turn())
        await wake

    async def _wake_in_turn(self) -> None:
        while self._sleepers:
            await asyncio.sleep(0.01)  # lets whatever is ready run first; how long does not matter
            moment, _, wake = heapq.heappop(self._sleepers)
            self.seconds = max(self.seconds, moment)
            if not wake.done():
                wake.set_result(None)
