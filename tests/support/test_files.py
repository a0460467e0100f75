"""A file is written whole or not at all, whatever stops the writing."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from dse.support.errors import InputError, StorageError
from dse.support.files import PIECE, make_folder, read_bounded, read_text, whole_file, write_json, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_bytes_and_plain_data_are_written_in_folders_made_for_them(tmp_path: Path) -> None:
    write_whole(tmp_path / "new" / "er" / "text", "naïve\n")
    write_whole(tmp_path / "bytes", b"\x00\xff")
    write_json(tmp_path / "data.json", {"a": [1, None]})
    assert (tmp_path / "new" / "er" / "text").read_text(encoding="utf-8") == "naïve\n"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert (tmp_path / "data.json").read_text() == '{\n "a": [\n  1,\n  null\n ]\n}\n'
    assert names(tmp_path) == ["bytes", "data.json", "new"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_a_writer_that_is_stopped_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, stop: type[BaseException]
) -> None:
    path = tmp_path / "kept"
    write_whole(path, "old")

    def write_half() -> None:
        with whole_file(path) as file:
            file.write(b"half of the n")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["kept"]


def test_the_new_name_is_given_only_to_what_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "kept", []
    write_whole(path, "old")
    monkeypatch.setattr(os, "fsync", lambda file: seen.append((path.read_text(), os.path.isdir(file))))
    write_whole(path, "new")
    # The content before the name changes, the folder after.
    assert seen == [("old", False), ("new", True)]


def test_a_full_disk_is_an_error_that_names_the_file_and_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept"
    write_whole(path, "old")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"^figure '.*kept' cannot be written: No space left on device$"):
        write_whole(path, "new", "figure")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["kept"]


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "")
    with pytest.raises(StorageError, match="cannot be written: Not a directory"):
        write_whole(tmp_path / "file" / "inside", "")
    make_folder(tmp_path / "folder")
    with pytest.raises(StorageError, match="cannot be written: Is a directory"):
        write_whole(tmp_path / "folder", "")
    with pytest.raises(StorageError, match=r"folder '.*' cannot be made: Not a directory"):
        make_folder(tmp_path / "file" / "inside")


def test_a_small_file_is_read_with_little_memory_whatever_may_be_read(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"x" * 3 * PIECE)
    tracemalloc.start()
    try:
        assert len(read_bounded(path, "it", 1 << 50)) == 3 * PIECE
        assert tracemalloc.get_traced_memory()[1] < 5 * PIECE
    finally:
        tracemalloc.stop()


def test_what_has_no_size_is_read_to_its_end_or_to_the_bound(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"y" * 5 * PIECE,))
    writer.start()
    assert read_bounded(pipe, "it") == b"y" * 5 * PIECE
    writer.join()
    with pytest.raises(InputError, match=r"^it cannot be read: it is larger than 7 MiB$"):
        read_bounded("/dev/zero", "it", 7 * PIECE)


def test_a_file_of_the_very_size_of_the_bound_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"z" * 2 * PIECE)
    assert len(read_bounded(path, "it", 2 * PIECE)) == 2 * PIECE
    with pytest.raises(InputError, match="larger than 1 MiB"):
        read_bounded(path, "it", 2 * PIECE - 1)


@pytest.mark.parametrize("path", ["a\0b", "a\ud800"])
def test_a_path_that_cannot_be_one_is_refused(path: str) -> None:
    with pytest.raises(InputError, match=r"^it cannot be read: "):
        read_text(path, "it")
