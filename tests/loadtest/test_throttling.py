"""What Linux counts of CPU limits, found by a process's own mounts, in both versions of cgroup."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadtest.throttling import CpuLimit, Throttled


def process(root: Path, groups: str, *mounts: str) -> Path:
    """Stands for /proc/self."""
    proc = root / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(groups)
    lines = (f"{30 + at} 23 0:28 {mount}\n" for at, mount in enumerate(mounts))
    (proc / "mountinfo").write_text("".join(lines))
    return proc


def stat(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.stat").write_text(text)


def test_version_2_counts_every_group_up_to_the_mount(tmp_path: Path) -> None:
    mounted = tmp_path / "cg"
    proc = process(
        tmp_path, "0::/pod/box\n", f"/ {mounted} rw,relatime shared:4 - cgroup2 cgroup2 rw"
    )
    stat(mounted / "pod/box", "usage_usec 9\nnr_throttled 3\nthrottled_usec 150000\n")
    stat(mounted / "pod", "usage_usec 9\nnr_throttled 1\nthrottled_usec 50000\n")
    stat(mounted, "usage_usec 9\n")
    found = CpuLimit.of_process(proc).read()
    assert found is not None
    assert (found.periods, found.seconds) == (4, pytest.approx(0.2))


@pytest.mark.parametrize("root", ["/", "/docker/4f2a"])
def test_version_1_is_found_though_the_container_sees_its_own_group_only(
    tmp_path: Path, root: str
) -> None:
    mounted = tmp_path / "cpu,cpuacct"
    proc = process(
        tmp_path,
        "5:memory:/docker/4f2a\n4:cpu,cpuacct:/docker/4f2a\n0::/\n",
        f"/docker/4f2a {tmp_path / 'memory'} rw - cgroup cgroup rw,memory",
        f"{root} {mounted} rw,relatime - cgroup cgroup rw,cpu,cpuacct",
    )
    inside = mounted / "docker/4f2a" if root == "/" else mounted
    limit = CpuLimit.of_process(proc)
    assert limit.read() is None, "nothing is counted"
    stat(inside, "nr_periods 90\nnr_throttled 7\nthrottled_time 2500000000\n")
    before = limit.read()
    assert before == Throttled(7, 2.5)
    stat(inside, "nr_periods 99\nnr_throttled 9\nthrottled_time 2600000000\n")
    after = limit.read()
    assert after is not None
    assert before is not None
    come = after.since(before)
    assert (come.periods, come.seconds) == (2, pytest.approx(0.1))


def test_where_linux_tells_nothing_nothing_is_known(tmp_path: Path) -> None:
    assert CpuLimit.of_process(tmp_path / "nowhere").read() is None
    assert Throttled(0, 0.0).sentence() is None
