"""The progress bars of all processes of a program, which its driver shows on standard error."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

#: It is in each line with which a worker tells the driver how far a bar is.
MAGIC = "__ray_tqdm_magic_token__"
#: Bars beyond these are not shown.
_MOST_BARS = 100
_MOST_TEXT = 300
#: Seconds between two lines about a bar when the package tqdm is not installed.
_LINE_SECONDS = 5.0


class Bars:
    """Shows bars with the package tqdm; without it, one line about each bar every five seconds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bars: dict[tuple[int, str], Any] = {}
        self._hidden = 0

    def line(self, text: str, node: str = "") -> bool:
        """Takes a line of a worker. Returns whether it is about a bar."""
        try:
            state = json.loads(text)
        except (ValueError, RecursionError):
            return False
        if not isinstance(state, dict) or state.get("__magic_token__") != MAGIC:
            return False
        self.process_state_update({**state, "ip": node})
        return True

    def process_state_update(self, state: dict[str, Any]) -> None:
        """Shows the state of a bar. What makes no sense is left out."""
        pid, uuid, done, total = state.get("pid"), state.get("uuid"), state.get("x"), state.get("total")
        if not isinstance(pid, int) or not isinstance(uuid, str) or len(uuid) > 100 or not _number(done):
            return
        if not (total is None or _number(total)):
            return
        with self._lock:
            bar = self._bars.get((pid, uuid))
            if bar is None:
                if state.get("closed") or len(self._bars) >= _MOST_BARS:
                    return
                bar = self._bars[pid, uuid] = self._new(len(self._bars), str(state.get("unit") or "it")[:20], total)
            place = f", ip={state['ip']}" if state.get("ip") else ""
            said = str(state.get("desc") or "")[:_MOST_TEXT]
            bar.show(f"({said} pid={pid}{place})" if said else f"(pid={pid}{place})", done, total)
            if state.get("closed"):
                bar.close()
                del self._bars[pid, uuid]
                for position, other in enumerate(self._bars.values()):
                    other.move(position)

    def hide_bars(self) -> None:
        """Takes the bars from the screen, to print something."""
        with self._lock:
            self._hidden += 1
            if self._hidden == 1:
                for bar in self._bars.values():
                    bar.clear()

    def unhide_bars(self) -> None:
        """Shows the bars again."""
        with self._lock:
            self._hidden -= 1
            if self._hidden == 0:
                for bar in self._bars.values():
                    bar.refresh()

    @property
    def shown(self) -> bool:
        """Whether there are bars."""
        return bool(self._bars)

    def close(self) -> None:
        """Ends all bars: those of workers that were killed would stay."""
        with self._lock:
            for bar in self._bars.values():
                bar.close()
            self._bars.clear()

    def _new(self, position: int, unit: str, total: float | None) -> Any:
        try:
            from tqdm import tqdm
        except ImportError:
            return _Lines(unit)
        return _Drawn(tqdm, position, unit, total)


class _Drawn:
    """A bar of the package tqdm."""

    def __init__(self, tqdm: Any, position: int, unit: str, total: float | None) -> None:
        self._bar = tqdm(total=total, unit=unit, position=position, dynamic_ncols=True, unit_scale=True, leave=False)

    def show(self, said: str, done: float, total: float | None) -> None:
        self._bar.set_description(said, refresh=False)
        if total is not None:
            self._bar.total = total
        self._bar.n = done
        self._bar.refresh()

    def move(self, position: int) -> None:
        self._bar.clear()
        self._bar.pos = -position
        self._bar.refresh()

    def clear(self) -> None:
        self._bar.clear()

    def refresh(self) -> None:
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Lines:
    """A bar without the package tqdm."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._told = 0.0
        self._text = ""

    def show(self, said: str, done: float, total: float | None) -> None:
        self._text = f"{said} {done:g}{'' if total is None else f'/{total:g}'} {self._unit}"
        now = time.monotonic()
        if now - self._told >= _LINE_SECONDS:
            self._told = now
            self._print()

    def _print(self) -> None:
        if sys.stderr is not None:
            print(self._text, file=sys.stderr, flush=True)
            self._text = ""

    def move(self, position: int) -> None:
        pass

    def clear(self) -> None:
        pass

    def refresh(self) -> None:
        pass

    def close(self) -> None:
        if self._text:
            self._print()


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18


bars = Bars()
