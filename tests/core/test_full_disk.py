"""A disk of 2 MB that is full in the middle: one line, and nothing half-written that a later run accepts."""

import subprocess

import pytest

from tests.cli.run import one_line, whyrank
from tests.cli.small_work import write_small_work


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return write_small_work(tmp_path_factory.mktemp("disk"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "whyrank-test", str(disk)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("no mount here")
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


#: kB that are free, what is half-written then, and the command.
CASES = {
    "rank": (4, "out/", ["rank", "--ranker", "ranker", "--collection", "collection"]),
    "patch, its shards": (8, ".shards-", ["patch", "--ranker", "ranker", "--pairs", "pairs.jsonl"]),
    "patch, its Parquet": (24, "effects.parquet", ["patch", "--ranker", "ranker", "--pairs", "pairs.jsonl"]),
    "patch, its report": (64, ".svg", ["patch", "--ranker", "ranker", "--pairs", "pairs.jsonl"]),
    "edit, its model": (40, "out: ", ["edit", "--ranker", "ranker", "--idf", "idf.tsv", "--up", "cat=5"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_full_disk_is_one_line_and_the_same_command_goes_on_when_there_is_space(
    here, small_disk, tmp_path, case
):
    free, where, command = CASES[case]
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2 * 2**20 - free * 1024))
    target = "--save" if command[0] == "edit" else "-o"
    refused = whyrank(*command, target, small_disk / "out", cwd=here)
    assert "the disk is full" in one_line(refused) and where in one_line(refused)
    assert not (small_disk / "out" / "manifest.json").exists()
    assert not (small_disk / "out" / "config.json").exists()
    filler.unlink()
    whole = [whyrank(*command, target, place / "out", cwd=here) for place in (small_disk, tmp_path)]
    assert [one.returncode for one in whole] == [0, 0], [one.stderr for one in whole]
    for path in (tmp_path / "out").iterdir():
        if path.name not in ("manifest.json", "report.html"):
            assert (small_disk / "out" / path.name).read_bytes() == path.read_bytes(), path.name
    assert {path.name for path in (small_disk / "out").iterdir()} == {
        path.name for path in (tmp_path / "out").iterdir()
    }
