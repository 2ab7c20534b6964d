"""The part of ``ray._private.log_monitor`` that libraries use: following the log files of a folder.

Eagle Ray does not need it: what workers write goes to the driver through pipes, and the folder of a session's logs has
no files of workers. Libraries that follow files of their own, named as Ray names them, can.
"""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Protocol

from eagleray._private import ray_constants

#: Groups: the job, and the process id.
WORKER_LOG_PATTERN = re.compile(r".*worker.*-([0-9a-f]+)-(\d+)")
#: Group: the job.
RUNTIME_ENV_SETUP_PATTERN = re.compile(r".*runtime_env_setup-(\d+).log")
LOG_NAME_UPDATE_INTERVAL_S = 0.5
_MANY_FILES = 1000
RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED = ray_constants.env_integer("RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED", 0)

_PATTERNS = ("worker*.out", "worker*.err", "raylet*.err", "monitor.log", "gcs_server*.err")
_ENVIRONMENTS = "runtime_env*.log"
_SYSTEM = {"raylet": "raylet", "gcs_server": "gcs_server", "monitor": "autoscaler", "runtime_env": "runtime_env"}
_PAUSE_SECONDS = 0.1


class _Publisher(Protocol):
    def publish_logs(self, data: dict[str, Any]) -> object:
        """Takes lines of one writer."""


class LogFileInfo:
    """One file, and how far it was read."""

    def __init__(
        self,
        filename: str,
        size_when_last_opened: int = 0,
        file_position: int = 0,
        file_handle: BinaryIO | None = None,
        is_err_file: bool = False,
        job_id: str | None = None,
        worker_pid: int | str | None = None,
    ) -> None:
        self.filename = filename
        self.size_when_last_opened = size_when_last_opened
        self.file_position = file_position
        self.file_handle = file_handle
        self.is_err_file = is_err_file
        self.job_id = job_id
        self.worker_pid = worker_pid
        self.actor_name: str | None = None
        self.task_name: str | None = None

    def reopen_if_necessary(self) -> None:
        """Opens the file anew when another one has its name, and reads a file that became shorter from its begin."""
        try:
            now = os.stat(self.filename)
            handle = self.file_handle
            if handle is not None and not handle.closed and os.fstat(handle.fileno()).st_ino == now.st_ino:
                if now.st_size >= self.file_position:
                    return
                handle.close()
            self.file_handle = open(self.filename, "rb")
        except OSError:
            return  # it was removed; what is open can still be read
        if now.st_size < self.file_position:
            self.file_position = 0
        self.file_handle.seek(self.file_position)
        self.size_when_last_opened = now.st_size

    def __repr__(self) -> str:
        return f"LogFileInfo({self.filename!r}, read to {self.file_position}, of process {self.worker_pid})"


class LogMonitor:
    """Reads the new lines of log files, and hands them to a publisher.

    Args:
        node_ip_address: The machine that is said to have written the lines.
        logs_dir: The folder of the files.
        gcs_client: Has ``publish_logs``, which takes lines as a dictionary: ip, pid, job, is_err, lines, actor_name,
            task_name.
        is_proc_alive_fn: Says whether a process lives. Files of others are moved to the folder ``old``.
        max_files_open: How many files are open at a time.
        gcs_address: Not needed here.
    """

    def __init__(
        self,
        node_ip_address: str,
        logs_dir: str,
        gcs_client: _Publisher,
        is_proc_alive_fn: Callable[[int], bool],
        max_files_open: int = ray_constants.LOG_MONITOR_MAX_OPEN_FILES,
        gcs_address: str | None = None,
    ) -> None:
        del gcs_address  # Ray asks there for its autoscaler's version
        self.ip = node_ip_address
        self.logs_dir = logs_dir
        self.gcs_client = gcs_client
        self.is_proc_alive_fn = is_proc_alive_fn
        self.max_files_open = max_files_open
        self.log_filenames: set[str] = set()
        self.open_file_infos: list[LogFileInfo] = []
        self.closed_file_infos: list[LogFileInfo] = []
        self.can_open_more_files = True

    def update_log_filenames(self) -> None:
        """Looks for files that are new."""
        patterns = [*_PATTERNS, *([_ENVIRONMENTS] if RAY_RUNTIME_ENV_LOG_TO_DRIVER_ENABLED else [])]
        for pattern in patterns:
            for path in sorted(glob.glob(os.path.join(glob.escape(self.logs_dir), pattern))):
                if path in self.log_filenames or not os.path.isfile(path):
                    continue
                self.log_filenames.add(path)
                self.closed_file_infos.append(_about(path))

    def open_closed_files(self) -> None:
        """Opens files that have grown."""
        if not self.can_open_more_files:
            self._close_all_files()
        waiting, self.closed_file_infos = self.closed_file_infos, []
        for info in waiting:
            if len(self.open_file_infos) >= self.max_files_open:
                self.can_open_more_files = False
                self.closed_file_infos.append(info)
                continue
            try:
                size = os.path.getsize(info.filename)
                if size <= info.size_when_last_opened:
                    self.closed_file_infos.append(info)
                    continue
                info.file_handle = open(info.filename, "rb")
            except FileNotFoundError:
                self.log_filenames.discard(info.filename)
                continue
            info.file_handle.seek(info.file_position)
            info.size_when_last_opened = size
            self.open_file_infos.append(info)

    def check_log_files_and_publish_updates(self) -> bool:
        """Publishes the new lines of open files.

        Returns:
            Whether there were any.
        """
        any_published = False
        for info in self.open_file_infos:
            info.reopen_if_necessary()
            any_published |= self._publish_lines(info)
        return any_published

    def _publish_lines(self, info: LogFileInfo) -> bool:
        handle, published = info.file_handle, False
        lines: list[str] = []
        assert handle is not None
        for _ in range(ray_constants.LOG_MONITOR_NUM_LINES_TO_READ):
            raw = handle.readline()
            if not raw:
                break
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if line.startswith(ray_constants.LOG_PREFIX_JOB_ID):
                info.job_id = line.removeprefix(ray_constants.LOG_PREFIX_JOB_ID)
            elif line.startswith((ray_constants.LOG_PREFIX_ACTOR_NAME, ray_constants.LOG_PREFIX_TASK_NAME)):
                published |= self._publish(info, lines)  # they have another writer
                lines = []
                if line.startswith(ray_constants.LOG_PREFIX_ACTOR_NAME):
                    info.actor_name = line.removeprefix(ray_constants.LOG_PREFIX_ACTOR_NAME)
                    info.task_name = None
                else:
                    info.task_name = line.removeprefix(ray_constants.LOG_PREFIX_TASK_NAME)
            else:
                lines.append(line)
        info.file_position = handle.tell()
        return self._publish(info, lines) or published

    def _publish(self, info: LogFileInfo, lines: list[str]) -> bool:
        if not lines:
            return False
        self.gcs_client.publish_logs(
            {
                "ip": self.ip,
                "pid": info.worker_pid,
                "job": info.job_id,
                "is_err": info.is_err_file,
                "lines": lines,
                "actor_name": info.actor_name,
                "task_name": info.task_name,
            }
        )
        return True

    def should_update_filenames(self, last_file_updated_time: float) -> bool:
        """Whether to look for new files: with very many of them, only after a pause."""
        few = len(self.log_filenames) < _MANY_FILES
        return few or time.time() - last_file_updated_time > LOG_NAME_UPDATE_INTERVAL_S

    def run(self) -> None:
        """Follows the files for ever."""
        updated = 0.0
        while True:
            if self.should_update_filenames(updated):
                self.update_log_filenames()
                updated = time.time()
            self.open_closed_files()
            if not self.check_log_files_and_publish_updates():
                time.sleep(_PAUSE_SECONDS)

    def _close_all_files(self) -> None:
        for info in self.open_file_infos:
            if info.file_handle is not None:
                info.file_handle.close()
                info.file_handle = None
            if isinstance(info.worker_pid, int) and not self.is_proc_alive_fn(info.worker_pid):
                old = os.path.join(self.logs_dir, "old")
                os.makedirs(old, exist_ok=True)
                try:
                    os.replace(info.filename, os.path.join(old, os.path.basename(info.filename)))
                except FileNotFoundError:
                    pass
                self.log_filenames.discard(info.filename)
            else:
                self.closed_file_infos.append(info)
        self.open_file_infos = []
        self.can_open_more_files = True


def _about(path: str) -> LogFileInfo:
    name = os.path.basename(path)
    worker, environment = WORKER_LOG_PATTERN.match(path), RUNTIME_ENV_SETUP_PATTERN.match(path)
    writer: int | str | None = int(worker[2]) if worker else None
    if worker is None:
        writer = next((what for begin, what in _SYSTEM.items() if name.startswith(begin)), None)
    job = environment[1] if environment else None
    return LogFileInfo(path, is_err_file=path.endswith("err"), job_id=job, worker_pid=writer)


def is_proc_alive(pid: int) -> bool:
    """Whether a process lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, and is another user's
    return True
