"""`python`: a function of the user's prices: `my_module:my_function`, or `./my_file.py:my_function`."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal

from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.core.names import file_of, name_beside, names_function, without_folders
from dse.core.reasons import Reason
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping as DataflowMapping
from dse.domains.clustered.mapping import MappingBatch
from dse.models.outside.answers import Answer, Refusal, read_answer, read_batch
from dse.models.outside.model import RULES, OutsideModel
from dse.support.errors import InputError, code_of_others, exception_text, shorten
from dse.support.files import read_bounded

ONE, MANY = "mapping", "mappings"
"""What a function calls its third parameter: it prices one mapping, or a batch."""
EXPECTED = "expected MODULE:FUNCTION or FILE.py:FUNCTION, as in my_costs:price or ./my_costs.py:price"


@dataclass(frozen=True)
class FunctionSettings(ModelSettings):
    """`function` is MODULE:NAME, the module looked for in the current directory too, or FILE.py:NAME.

    `misfits` says what becomes of a mapping that does not fit into the buffers (see MISFITS).
    """

    label: ClassVar[str] = "settings of cost model 'python'"
    main: ClassVar[str] = "function"

    function: str
    misfits: Literal["asked", "charged", "free"] = "asked"

    def beside(self, folder: Path) -> FunctionSettings:
        """The settings as seen from a file in `folder`: its function's file may lie there."""
        return replace(self, function=name_beside(self.function, folder))


class Python(OutsideModel):
    """A function of your own that prices: `price(layer, accelerator, mapping)`, or `mappings` for a batch.

    The function's third parameter is called `mapping` or `mappings`, and that says what it is given:

    - `mapping`, one `dse.Mapping`, as in `mapping.inner.tile["K"]`. It returns a table of figures,
      `{"cycles": 1200, "energy_nj": 3.5}`, above 0: without an energy there is no objective of energy. It
      may have `power`, `area` (at least 0), `l1_size`, `l2_size` and `macs` (above 0) too, and beside them
      `counters`, a table of numbers that it has counted itself, which are kept. A text, or None, refuses the
      mapping and says why.
    - `mappings`, a `dse.domains.clustered.mapping.MappingBatch` of n: `mappings[0]` is the first,
      `mappings.rows` an int64 array (n, 27), `mappings.named()["inner.tile.K"]` a column of it. It returns a
      list of n such answers, or a table of columns, each of n numbers, or a `dse.CostBatch`.

    What it leaves out is filled in: MACs are the layer's, buffers as `loopnest` counts them, power and area
    0, which says "not modelled". The layer is whole, with stride and padding.

    What it raises is the mapping's reason not to be valid. But where it raises the same error at the same
    line for the first three mappings that it is asked for, or returns nothing usable, that is an InputError:
    who refuses mappings should return a text.
    """

    name = "python"
    refuses_below_floors = False
    settings_type = FunctionSettings
    settings: FunctionSettings

    def __init__(self, settings: FunctionSettings) -> None:
        """InputError if there is no such function, or its third parameter is called otherwise."""
        self.settings, self.misfits = settings, settings.misfits
        self._batches = _takes_batches(settings.function, self._function.call)
        self.version = f"{self._function.source} {RULES}"

    @cached_property
    def _function(self) -> Function:
        return load_function(self.settings.function)

    @property
    def identity(self) -> str:
        """Its name with the function's, without the folders of a file: its text is its version."""
        name = without_folders(self.settings.function)
        return replace(self.settings, function=name).words(self.name, neutral=False)

    def answers(
        self, layer: Layer, accelerator: Accelerator, mappings: list[DataflowMapping]
    ) -> Iterator[tuple[int, Answer]]:
        """What the function returns, mapping by mapping or for the batch."""
        if not self._batches:
            for place, mapping in enumerate(mappings):
                one = self._called(layer, accelerator, mapping)
                yield place, one if isinstance(one, Refusal) else read_answer(one)
            return
        if len(mappings) > 1:
            said = self._asked_batch(layer, accelerator, mappings)
            if not isinstance(said, Refusal):
                yield from enumerate(said)
                return
            # Which of them it fails for is not known, and what a mapping costs must not hang on its batch.
            self.watch(said)
        for place, mapping in enumerate(mappings):
            said = self._asked_batch(layer, accelerator, [mapping])
            yield place, said if isinstance(said, Refusal) else said[0]

    def _asked_batch(
        self, layer: Layer, accelerator: Accelerator, mappings: list[DataflowMapping]
    ) -> list[Answer] | Refusal:
        said = self._called(layer, accelerator, MappingBatch.of(mappings))
        return said if isinstance(said, Refusal) else read_batch(said, len(mappings))

    def _called(self, *arguments: object) -> Any:
        """What the function returns, or that it raised. What it prints goes to stderr: stdout has results."""
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return self._function.call(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a script that ends itself ends no search
            return _crashed(error)


@dataclass(frozen=True)
class Function:
    """A function, the file that it is from (empty if unknown), and what that file holds, in short."""

    call: Callable[..., Any]
    file: str
    source: str


def load_function(name: str) -> Function:
    """The function of that name. InputError where it cannot be imported, or is nothing to be called."""
    where = f"cost model {shorten(name, 200)}"
    if not names_function(name):
        raise InputError(f"{where}: {EXPECTED}")
    path, inside = file_of(name), name.rpartition(":")[2]
    module = _module(name.rpartition(":")[0], where) if path is None else _file(Path(path), where)
    found: Any = module
    for part in inside.split("."):
        with code_of_others(f"{where} cannot be loaded"):
            found = getattr(found, part, None)
    if found is None:
        missing = f"{name.rpartition(':')[0]} has no {inside!r}{_functions_of(module)}"
        raise InputError(f"{where} cannot be loaded: AttributeError: {missing}")
    if not callable(found):
        raise InputError(f"{where} must be a function, got {shorten(found)}")
    if path is None:
        return Function(found, *_source(found))
    return Function(found, str(module.__file__), _short(module.__dict__["__source__"]))


def _module(name: str, where: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        # As `python -m` has it: one's own module need not be installed.
        sys.path.append(here)
    with code_of_others(f"{where} cannot be loaded"):
        return importlib.import_module(name)


def _file(path: Path, where: str) -> ModuleType:
    """What a file makes when it is run, once for each text that it holds; modules beside it are found."""
    if not os.path.isfile(path):
        raise InputError(f"{where}: there is no file {str(path)!r}")
    try:
        source = read_bounded(path, f"{where}: file {str(path)!r}")
    except OSError as error:
        raise InputError(f"{where}: file {str(path)!r} cannot be read: {error.strerror}") from None
    full = path.resolve()
    # No name that anybody imports: a file may be called json.py.
    name = f"dse_function_{hashlib.sha256(bytes(full) + b':' + source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__dict__.update(__file__=str(full), __source__=source)
    if str(full.parent) not in sys.path:
        sys.path.append(str(full.parent))
    sys.modules[name] = module
    try:
        with code_of_others(f"{where} cannot be loaded"):
            exec(compile(source, str(full), "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _functions_of(module: ModuleType) -> str:
    """The functions that a module has of its own, for messages."""
    own = [name for name, value in vars(module).items() if inspect.isfunction(value) and name[0] != "_"]
    own = [name for name in own if getattr(module, name).__module__ == module.__name__]
    return f"; its functions are {', '.join(own[:8])}" if own else ""


def _source(function: Callable[..., Any]) -> tuple[str, str]:
    """The file of a module's function, and what it holds in short."""
    try:
        file = inspect.getfile(inspect.unwrap(function))
        return file, _short(Path(file).read_bytes())
    except (OSError, TypeError):
        return "", "unknown source"


def _short(source: bytes) -> str:
    return f"source {hashlib.sha256(source).hexdigest()[:12]}"


def _takes_batches(name: str, function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if len(parameters) < 3 or parameters[2].name not in (ONE, MANY):
        raise InputError(
            f"cost model {shorten(name, 200)} must be a function (layer, accelerator, {ONE}), or with {MANY} "
            "in its place for one that prices batches"
        )
    return parameters[2].name == MANY


def _crashed(error: BaseException) -> Refusal:
    """What the function raised, in words. The same kind of error at the same line is the same fault."""
    text, frame = exception_text(error), _own_frame(error)
    if frame is None:
        return Refusal(Reason.CRASHED, text, fault=text, shown=text)
    line = f": {frame.line}" if frame.line else ""
    return Refusal(
        Reason.CRASHED,
        f"{text} ({Path(frame.filename).name}:{frame.lineno})",
        fault=f"{type(error).__name__} at {frame.filename}:{frame.lineno}",
        shown=f"it raised {text}, at {_shown(frame.filename)}:{frame.lineno}{line}",
    )


def _own_frame(error: BaseException) -> traceback.FrameSummary | None:
    """Where in the user's own code it was raised: the last place in no library. None if not even called."""
    frames = list(traceback.extract_tb(error.__traceback__))[1:]
    own = [frame for frame in frames if not _LIBRARY.match(frame.filename)]
    return (own or frames)[-1] if frames else None


_OURS = Path(__file__).parents[2]
_FOLDERS = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(_OURS))
_LIBRARY = re.compile(rf"<|({'|'.join(map(re.escape, _FOLDERS))})/|.*/(site|dist)-packages/")
"""What the files of Python, of installed packages and of the framework begin with."""


def _shown(path: str) -> str:
    """A file's path as it is shown: from the current directory where it is below that."""
    below = os.path.relpath(path)
    return path if below.startswith("..") else below
