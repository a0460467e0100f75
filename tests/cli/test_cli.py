"""The command line: what it prints, as JSON and for people, and how it refuses what is wrong."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dse.cli import commands, main
from dse.core.objective import OBJECTIVES
from tests import DATA, ROOT
from tests.cli.shell_cases import RESNET_ON_EDGE
from tests.conftest import Dse
from workloads import load

RUN = [sys.executable, "-c", "import sys; from dse.cli import main; sys.exit(main())"]


HEAVY = ("torch", "sklearn", "skopt", "matplotlib", "numba", "pandas", "pyarrow", "scipy", "typer", "rich")


TOLD = "MODULES "


def imported_by(*statements: str) -> list[set[str]]:
    """The top-level modules that a fresh process holds after each of some statements."""
    tell = f"import sys; print({TOLD!r}, *sys.modules, file=sys.stderr)"
    code = "\n".join(line for statement in statements for line in (statement, tell))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line for line in run.stderr.splitlines() if line.startswith(TOLD)]
    return [{name.partition(".")[0] for name in line.split()} for line in lines]


# Start-up


def test_importing_the_framework_brings_nothing_heavy() -> None:
    statement = "import dse.core.layer, dse.domains.clustered.mapping, dse.core.cost_models, workloads"
    (modules,) = imported_by(statement)
    assert "dse" in modules
    assert modules.isdisjoint(HEAVY)


def test_no_command_brings_what_only_others_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process runs them all: what one must not bring, none before it may."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    commands = (
        ["--help"],
        ["list", "networks"],
        ["evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla", "--json"],
        ["search", *RESNET_ON_EDGE, "--searcher", "random", "--budget", "20"],
        ["certify", "--layer", str(ROOT / "examples" / "network.toml:conv1"), "--accelerator", "edge"],
    )
    helped, listed, _, searched, certified = imported_by(
        *(f"from dse.cli import main; main({command})" for command in commands)
    )
    assert helped.isdisjoint({*HEAVY, "numpy"} - {"typer", "rich"})
    others = {"torch", "sklearn", "skopt", "matplotlib", "pandas"}
    assert listed.isdisjoint({"numba", *others})
    assert "numba" in searched
    assert searched.isdisjoint({"pyarrow", *others})
    assert certified.isdisjoint(others)


# Help and usage


def test_help_lists_every_command_with_its_purpose(dse: Dse) -> None:
    outcome = dse("--help")
    names = [path.stem.rstrip("_").replace("_", "-") for path in Path(commands.__path__[0]).glob("[!_]*.py")]
    assert outcome.code == 0
    assert {"list", "evaluate", "space", "bench"} <= set(names)
    for name in names:
        assert f" {name} " in outcome.out
        assert dse(name, "--help").code == 0


def test_without_arguments_it_shows_the_help(dse: Dse) -> None:
    assert dse() == dse("--help")


def test_the_version_is_that_of_the_package(dse: Dse) -> None:
    import dse as package

    assert dse("--version").out == f"dse {package.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["evalute"], "no such command 'evalute'. Did you mean 'evaluate'?"),
        (["frobnicate"], "no such command 'frobnicate'; see 'dse --help'"),
        (["--jsn"], "unknown option '--jsn'; see 'dse --help'"),
        (["space", "--lyer", "resnet18:1"], "unknown option '--lyer'; did you mean '--layer'?"),
        (["space", "--qq", "3"], "unknown option '--qq'; see 'dse space --help'"),
        (["codesign", "--limit", "l2_use <= 0.8"], "'--limit'; --area and --leakage limit machines, --max-"),
        (["codesign", "--tiles", "any"], "'--tiles'; mappings have perfect factors there"),
        (["space", "--layer", "resnet18:1"], "missing option '--accelerator'; see 'dse space --help'"),
        (["space", *RESNET_ON_EDGE, "surplus"], "surplus"),
        (["space", "--layer"], "option '--layer' requires an argument"),
        (["space", *RESNET_ON_EDGE, "--json=maybe"], "--json"),
        (["bench"], "missing command; see 'dse bench --help'"),
        (["bench", "costs"], "no such command 'costs'. Did you mean 'cost'?"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(dse: Dse, arguments: list[str], complaint: str) -> None:
    message = dse(*arguments).refused()
    assert complaint in message
    assert not set("╭│╰") & set(message)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["list", "workload"], "unknown kind 'workload' in dse list; did you mean 'workloads'?"),
        (["space", "--layer", "resnet19:1", "--accelerator", "edge"], "did you mean 'resnet18'?"),
        (["space", "--layer", "resnet18:99", "--accelerator", "edge"], "out of range"),
        (["space", "--layer", "resnet18", "--accelerator", "edge"], "names no single layer"),
        (["space", "--layer", "resnet18:1", "--accelerator", "egde"], "did you mean 'edge'?"),
        (["space", "--layer", "resnet18:1", "--accelerator", "absent.toml"], "cannot be read"),
        (["space", *RESNET_ON_EDGE, "--tiles", "all"], "unknown tiles 'all'"),
        (["space", *RESNET_ON_EDGE, "--fix", "outer.paralel=K"], "did you mean 'outer.parallel'?"),
        (["space", *RESNET_ON_EDGE, "--fix", "cluster"], "GENE=VALUE"),
        (["space", *RESNET_ON_EDGE, "--fix", "cluster=3"], "cluster"),
        (["evaluate"], "evaluate needs --layer, --accelerator, --mapping (or --cases FILE)"),
        (["evaluate", *RESNET_ON_EDGE], "evaluate needs --mapping"),
        (["evaluate", *RESNET_ON_EDGE, "--mapping", "nvdl"], "did you mean 'nvdla'?"),
        (["evaluate", *RESNET_ON_EDGE, "--mapping", "absent.json"], "No such file or directory"),
        (["evaluate", *RESNET_ON_EDGE, "--mapping", "."], "Is a directory"),
        (["evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla", "--objective", "edq"], "did you mean 'edp'?"),
        (["evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla", "--cost-model", "mastro"], "'maestro'"),
        (["evaluate", "--cases", "x.jsonl", "--layer", "resnet18:1"], "--layer does not go with --cases"),
        (["evaluate", "--cases", "x.jsonl", "--cost-model", "mastro"], "unknown cost model 'mastro'"),
        (["evaluate", "--cases", "x.jsonl", "--detail"], "--detail is of cases on machines of levels"),
        (
            ["evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla", "--cost-model", "timeloop"],
            "unknown template 'nvdla'",
        ),
        (["bench", "cost", "--cost-model", "mastro"], "unknown cost model 'mastro'"),
    ],
)
def test_wrong_values_are_refused_in_one_line(dse: Dse, arguments: list[str], complaint: str) -> None:
    assert complaint in dse(*arguments).refused()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not JSON: expecting value at column 1"),
        (b'{\n  "outer": oops\n}', "not JSON: expecting value at line 2 column 12"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"outer": NaN}', "NaN is not a JSON number"),
        (b'{"outer": {}, "outer": {}}', "'outer' is there twice"),
        (b'{"outer": {}}', "lacks 'cluster_size', 'inner'"),
        (b"9" * 10_000_000, "too many digits"),
    ],
)
def test_a_mapping_file_that_holds_no_mapping_is_refused(
    dse: Dse, tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "mapping.json"
    path.write_bytes(content)
    message = dse("evaluate", *RESNET_ON_EDGE, "--mapping", str(path)).refused()
    assert complaint in message
    assert str(path) in message


def test_an_interrupt_ends_quietly_with_130() -> None:
    # The command waits for the rest of its standard input. A shell's background jobs ignore interrupts, so
    # that its handler is named here.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    run = subprocess.Popen(
        [sys.executable, "-c", f"{code}; {RUN[-1]}", "evaluate", "--cases", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert run.stdin is not None
    run.stdin.write(b"\n" * 100_000)  # returns when the command has begun to read
    run.stdin.flush()
    run.send_signal(signal.SIGINT)
    out, err = run.communicate()
    assert (run.returncode, out, err) == (130, b"", b"")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    with gzip.open(DATA / "golden.jsonl.gz", "rt") as golden:
        cases = tmp_path / "cases.jsonl"
        cases.write_text("".join(itertools.islice(golden, 200)))
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        command = [*RUN, "evaluate", "--cases", str(cases)]
        run = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (run.returncode, run.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_in_one_line() -> None:
    command = [*RUN, "list"]
    with open("/dev/full", "w") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr == "dse: error: [Errno 28] No space left on device\n"


def test_letters_that_the_terminal_lacks_are_replaced_by_their_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["evaluate", *RESNET_ON_EDGE, "--mapping", "nvdla"]) == 0
    shown = terminal.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]
    assert re.search(r"\d uJ", shown)
    assert "#####" in shown
    assert capsys.readouterr().err == ""


# completion


Complete = Callable[[str], list[str]]


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Complete:
    """What bash is offered for the last word of a line, which it breaks at colons and equals signs."""

    def ask(line: str) -> list[str]:
        words = [part for word in line.split(" ") for part in re.findall("[:=]|[^:=]+", word) or [""]]
        monkeypatch.setenv("_DSE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", "\n".join(words))
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        with pytest.raises(SystemExit) as end:
            main([])
        shown = capsys.readouterr()
        assert (end.value.code, shown.err) == (0, "")
        return shown.out.split()

    return ask


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dse eva", ["evaluate"]),
        ("dse search --layer resnet", ["resnet18:", "resnet50:"]),
        ("dse search --layer mlp", [f"mlp:{layer.name}" for layer in load("mlp").layers]),
        ("dse search --layer mlp:", [layer.name for layer in load("mlp").layers]),
        ("dse search --layer vgg16:conv1", ["conv1_1", "conv1_2"]),
        ("dse search --layer=vgg16:conv1", ["conv1_1", "conv1_2"]),
        ("dse search --objective=", list(OBJECTIVES)),
        ("dse search --layer vgg16:conv1_1 --accelerator eye", ["eyeriss", "eyeriss-small", "eyeriss_like"]),
        ("dse search --layer absent:", []),
        ("dse certify --network mobile", ["mobilenet_v2"]),
        ("dse search --accelerator eye", ["eyeriss", "eyeriss-small", "eyeriss_like"]),
        ("dse search --searcher genet", ["genetic"]),
        ("dse evaluate --objective e", ["energy", "edp"]),
        ("dse evaluate --cost-model maes", ["maestro", "maestro-exe"]),
        ("dse check mar", ["marl"]),
        ("dse run quick", ["quickstart"]),
        ("dse list layers vgg", ["vgg16"]),
    ],
)
def test_a_shell_is_offered_names(completed: Complete, line: str, expected: list[str]) -> None:
    assert completed(line) == expected


def test_the_script_of_a_shell_asks_for_completion() -> None:
    # Whatever shell the tests run under.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [*RUN, "--show-completion", "bash"]
    run = subprocess.run(command, env={**os.environ, **named}, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "_DSE_COMPLETE=complete_bash" in run.stdout
