from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from swagent.pipeline.spill import folder as folders
from swagent.pipeline.spill.folder import FILE_BYTES, Folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no flock")
HEAD = b"head"
Opened = Callable[..., Folder]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens folders, each that of a process, which are closed behind the test at the latest."""
    made: list[Folder] = []
    close = Folder.close

    def open_one(at: str = "", files: int = 8) -> Folder:
        made.append(Folder(tmp_path / at, files * FILE_BYTES))
        return made[-1]

    def close_one(folder: Folder) -> None:
        made.remove(folder)
        close(folder)

    monkeypatch.setattr(Folder, "close", close_one)
    yield open_one
    for each in [*made]:
        each.close()


def anything(_: bytes) -> bool:
    return True


def fail(error: OSError) -> None:
    raise error


def created(folder: Folder) -> str:
    name = folder.create(HEAD)
    assert name is not None
    return name


def test_what_is_written_is_read_cut_and_removed(opened: Opened, tmp_path: Path) -> None:
    folder = opened("deep/spill")
    name = created(folder)
    folder.write(name, 4, b"body", sync=True)
    folder.write(name, 0, b"HEAD")
    assert folder.read(name, 0, 100) == b"HEADbody"
    folder.truncate(name, 5)
    assert folder.read(name, 3, 100) == b"Db"
    folder.remove(name)
    folder.remove(name)
    with pytest.raises(FileNotFoundError):
        folder.read(name, 0, 1)
    folder.close()
    assert list((tmp_path / "deep" / "spill").iterdir()) == []


def test_only_its_user_may_read_it(opened: Opened, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = opened("spill")
        name = created(folder)
    finally:
        os.umask(before)
    modes = [tmp_path / "spill", folder.own, folder.own / name, folder.own / "lock"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in modes] == [0o700, 0o700, 0o600, 0o600]


def test_a_folder_in_use_is_left_and_one_that_was_left_is_taken_once(opened: Opened, tmp_path: Path) -> None:
    one, two = opened(), opened()
    names = [created(one), created(one)]
    one.write(names[1], 4, b"second")
    assert two.take_over(anything, fail) == []
    one.close()  # as the system does when a process dies
    third = opened()
    taken = two.take_over(anything, fail)
    assert third.take_over(anything, fail) == []
    assert [two.read(name, 0, 100) for name in taken] == [HEAD, HEAD + b"second"]
    assert not one.own.exists()
    two.close()
    third.close()
    assert [each.name for each in tmp_path.iterdir()] == [two.own.name]


class Death(BaseException):
    """The process ends here."""


def test_files_that_a_death_left_in_two_folders_are_taken_in_the_order_of_their_making(opened: Opened) -> None:
    one = opened()
    for each in range(4):
        one.write(created(one), 4, b"%d" % each)
    one.close()
    two, seen = opened(), list[bytes]()

    def die_at_the_third(head: bytes) -> bool:
        seen.append(head)
        if len(seen) == 3:
            raise Death
        return True

    with pytest.raises(Death):
        two.take_over(die_at_the_third, fail)
    two.write(created(two), 4, b"4")
    two.close()
    third = opened()
    taken = third.take_over(anything, fail)
    assert [third.read(name, 4, 1) for name in taken] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_file_of_another_name_replaces_none(opened: Opened) -> None:
    one, two = opened(), opened()
    for number, each in enumerate((one, two)):
        (each.own / "00000001").write_bytes(HEAD + b"%d" % number)
        each.close()
    third = opened()
    assert [third.read(name, 4, 1) for name in third.take_over(anything, fail)] == [b"0", b"1"]


def test_what_is_not_wanted_or_not_of_ours_stays(opened: Opened, tmp_path: Path) -> None:
    one = opened()
    wanted, other = created(one), created(one)
    one.write(other, 0, b"other")
    one.close()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_bytes(HEAD)
    (tmp_path / f"{7:020}-1").symlink_to(tmp_path / "mine")
    two = opened()
    assert len(two.take_over(lambda head: head.startswith(HEAD), fail)) == 1
    assert sorted(os.listdir(one.own)) == [other, "lock"]
    assert os.listdir(tmp_path / "mine") == ["letter"]
    assert wanted != other


def test_the_bound_is_that_of_all_processes_together(opened: Opened) -> None:
    one, two = opened(files=3), opened(files=3)
    names = [created(one), created(one), created(two)]
    assert one.create(HEAD) is None
    assert two.create(HEAD) is None
    one.remove(names[0])
    assert two.create(HEAD) is not None
    assert one.create(HEAD) is None


def test_a_folder_that_is_taken_before_it_is_locked(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, made = folders._lock, list[Path]()

    def lock_late(folder: Path) -> int | None:
        made.append(folder)
        if len(made) == 1:
            folder.rmdir()
        return lock(folder)

    monkeypatch.setattr(folders, "_lock", lock_late)
    folder = opened()
    assert len(made) == 2
    assert folder.own == made[1]


def test_a_head_that_finds_no_space_leaves_no_file(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = opened()

    def write(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "_write", write)
    with pytest.raises(OSError, match="No space"):
        folder.create(HEAD)
    assert os.listdir(folder.own) == ["lock"]


def test_a_cut_follows_no_link(opened: Opened, tmp_path: Path) -> None:
    victim = tmp_path / "diary.txt"
    victim.write_bytes(b"today" * 100)
    folder = opened("spill")
    name = created(folder)
    (folder.own / name).unlink()
    (folder.own / name).symlink_to(victim)
    with pytest.raises(OSError, match=name):
        folder.truncate(name, 4)
    assert victim.stat().st_size == 500


def test_a_folder_that_was_deleted_is_made_anew(opened: Opened, tmp_path: Path) -> None:
    folder = opened("spill")
    shutil.rmtree(tmp_path / "spill")
    assert folder.read(created(folder), 0, 100) == HEAD


def test_an_entry_that_cannot_be_read_leaves_its_folder_and_the_others_are_taken(opened: Opened) -> None:
    one, two = opened(), opened()
    first = created(one)
    (one.own / first).unlink()
    (one.own / first).mkdir()
    created(one)
    one.close()
    failures: list[OSError] = []
    taken = two.take_over(anything, failures.append)
    assert [two.read(name, 0, 100) for name in taken] == [HEAD]
    assert len(failures) == 1
