"""A process is known by its pid and its start; what is gone is not an error."""

import os
import subprocess
import sys

from gateway.platform_process import ancestors, is_alive, proc_start


def _child(code):
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_this_process_is_alive_and_a_child_of_its_parents():
    start = proc_start(os.getpid())
    assert start is not None
    assert proc_start(os.getpid()) == start
    assert is_alive(os.getpid(), start)
    assert ancestors(os.getpid())[0] == os.getppid()
    assert os.getpid() not in ancestors(os.getpid())


def test_another_process_with_that_pid_is_not_the_one():
    assert not is_alive(os.getpid(), "1")


def test_child_lives_until_it_ends_and_a_zombie_is_dead():
    with _child("import sys; sys.stdin.read()") as child:
        start = proc_start(child.pid)
        assert is_alive(child.pid, start)
        assert ancestors(child.pid)[:2] == (os.getpid(), os.getppid())
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert proc_start(child.pid) == start
        assert not is_alive(child.pid, start)
    assert proc_start(child.pid) is None
    assert ancestors(child.pid) == ()


def test_numbers_that_are_no_process_are_nobody():
    for pid in (0, -1, 2**22 + 1):
        assert proc_start(pid) is None
        assert not is_alive(pid, "1")
        assert ancestors(pid) == ()
