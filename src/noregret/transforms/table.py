"""The encoder of named columns: numbers, categories and texts become rows of features, without the user writing code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ..engine.compiling import compiled
from ..inputs.checking import Rows
from ..text import brief, shortened
from . import names as stores
from . import seen
from .dates import ORDERS
from .dicts_of_numbers import Places, bags, placed
from .encode import CATEGORY, DATE, NUMBER, TEXT, Job, run
from .encoder_input import LONG, Steady, Words, with_room
from .step import Step
from .stop_words import stop_words as left_out
from .table_cells import Column, Reading, columns_of, dict_columns, fields_of, is_open, orders_of, stacked, unknown

ROLES = ("numeric", "categorical", "text", "date")
NAMES = ("id", "bundle", "user", "item")  # settings that name a column of names
APART = ("target", "weight", "id", "time", "task", "bundle", "user", "item")  # settings that name a column which is not a feature
WORDY = 5  # a text column whose first value has more words than this is read as words, and as categories otherwise
LATER = ("date_order", "stop_words", "min_count")  # settings that files have only where they were given
FEW = 8  # names that join faster one by one
MANY, PIECE = 256, 32  # dicts with more different keys than MANY are encoded PIECE at a time


def listed(names: Any) -> tuple[str, ...]:
    """Return one name, several, or none, as a tuple."""
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


class Mark(NamedTuple):
    """What a table knew at a moment, to go back to."""

    names: int
    columns: dict[str, int]
    orders: dict[str, str]
    schema: frozenset[str] | None
    seen: seen.Mark | None


class Table(Step):
    """Encode the columns of a table as features.

    `target`, `weight`, `id`, `time`, `task`, `bundle` (a query or sentence), `user` and `item` name columns that are not
    features, and `ignore` those to leave out; a target that is `categorical`, too, has texts for labels, one that is `numeric`
    numbers alone; tasks are for learners of several, which get them as text. Columns that `numeric`, `categorical` and `text` do
    not name are decided by their first value: a number or truth value is numeric, a text of more than five words is text, any other
    is categorical. Dates, and texts that are dates in columns that `date` names, become the features `when.year=2024`,
    `when.month=1`, `when.weekday=3` (Monday is 1), `when.hour=12` (but at midnight sharp) and `when.elapsed`, the years since 2000.
    Where the year of a text is last, as in 5/1/2011, `date_order` says what comes first: "dmy" or "mdy".

    A number is the feature `age`, and a missing one (None, NaN, null) `age?`; a category is `country=DE`; a word is
    `body:free`, counted (or 1 with `binary`), and with `ngrams=2` also `body:free money`; `chars=(2, 4)` adds character grams,
    `body~fre`. A missing category or text gives no feature, nor does a key that a dict or a line of JSON lacks; the empty text
    is missing. `stop_words`, "english", a list or a file with a word a line, give no feature, as if they were not there. A name
    that a text gives is a feature from the row on where it has been met `min_count` times, in that row and those learned before;
    what it was in earlier rows is lost. `cross=["a,b"]` multiplies the features of columns: `country=DE&device=phone`,
    `country=DE&age`.

    Features are numbered by first appearance. With `hash_bits` a name is folded into 2^hash_bits numbers instead, and at most
    `names` names are remembered, to be read and to count collisions.

    >>> import noregret as nr
    >>> table = nr.Table(text="body", cross="country,age")
    >>> rows = table.rows([{"country": "DE", "age": 34, "body": "Free money, free!"}], learn=True)
    >>> table.feature_names, rows.arrays[2].tolist()
    (['country=DE', 'age', 'body:free', 'body:money', 'country=DE&age'], [1.0, 34.0, 2.0, 1.0, 34.0])
    """

    def __init__(
        self,
        target: str | None = None,
        weight: str | None = None,
        id: str | None = None,  # noqa: A002
        time: str | None = None,
        numeric: Any = None,
        categorical: Any = None,
        text: Any = None,
        ignore: Any = (),
        cross: Any = (),
        ngrams: int = 1,
        chars: tuple[int, int] | None = None,
        lower: bool = True,
        binary: bool = False,
        hash_bits: int | None = None,
        names: int = 1_000_000,
        task: str | None = None,
        bundle: str | None = None,
        user: str | None = None,
        item: str | None = None,
        date: Any = None,
        date_order: str | None = None,
        stop_words: Any = None,
        min_count: int = 1,
    ) -> None:
        self.target, self.weight, self.id, self.time, self.task = target, weight, id, time, task
        self.bundle, self.user, self.item = bundle, user, item
        self.numeric, self.categorical, self.text, self.date, self.ignore, self.cross = (
            numeric,
            categorical,
            text,
            date,
            ignore,
            cross,
        )
        self.ngrams, self.chars, self.lower, self.binary, self.hash_bits, self.names = (
            ngrams,
            chars,
            lower,
            binary,
            hash_bits,
            names,
        )
        self.date_order, self.stop_words, self.min_count = date_order, stop_words, min_count
        self._stop_words = left_out(stop_words, bool(lower))
        self.labels_are_text = target is not None and target in listed(categorical)
        features = ((name, role) for role, key in enumerate(ROLES) for name in listed(getattr(self, key)))
        self.labels_are_numbers = target is not None and target in listed(numeric)
        if self.labels_are_text and self.labels_are_numbers:
            raise ValueError(f"the target {target!r} is declared twice: it is numeric or categorical")
        self._roles = {name: role for name, role in features if name != target}
        self._crosses = [names_in(c) for c in crosses_of(cross)]
        self._reserved = {name for role in APART if isinstance(name := getattr(self, role), str)}
        self._leave = self._reserved | set(listed(ignore))
        self._check()
        self._store = stores.empty()
        self._stops: stores.Store | None = None if self._stop_words else stores.empty(1, 1)
        self._seen = seen.empty()  # names that are counted, with `min_count`
        self._columns: dict[str, int] = {}  # role, in the order in which columns had their first value
        self._orders: dict[str, str] = {}  # in which columns of dates were written, where a reader found it out
        self._schema: frozenset[str] | None = None  # the columns of closed tables
        self._known: list[str] = []  # names as texts, as far as read
        self._steady: Steady | None = None
        self._places: Places | None = None

    def _check(self) -> None:
        """Refuse settings that contradict each other."""
        declared = [
            n for key in ROLES for n in listed(getattr(self, key)) if not (key in ("categorical", "numeric") and n == self.target)
        ]
        twice = sorted({n for n in declared if declared.count(n) > 1 or n in self._leave})
        if twice:
            raise ValueError(f"column {twice[0]!r} is declared twice: it is one of {', '.join((*ROLES, *APART))} or ignore")
        for key in APART:
            if not isinstance(getattr(self, key), (str, NoneType)):
                raise ValueError(f"{key} must be the name of a column, got {brief(getattr(self, key))}")
        for a, b in (("target", "weight"), ("target", "task"), ("weight", "task")):
            if getattr(self, a) is not None and getattr(self, a) == getattr(self, b):
                raise ValueError(f"column {getattr(self, a)!r} cannot be both the {a} and the {b}")
        if self.date_order not in (None, *ORDERS):
            raise ValueError(f"date_order must be one of {', '.join(ORDERS)}, got {self.date_order!r}")
        if not (isinstance(self.min_count, (int, np.integer)) and 1 <= self.min_count < 1 << 31):
            raise ValueError(f"min_count must be a whole number of at least 1, got {self.min_count!r}")
        if self.min_count > 1 and self.hash_bits is not None:
            raise ValueError("min_count counts names, and hash_bits keeps none: leave one of them out")
        if not (isinstance(self.names, (int, np.integer)) and self.names >= 0):
            raise ValueError(f"names must be a whole number of at least 0, got {self.names!r}")
        for c in self._crosses:
            if not 2 <= len(c) <= 3 or len(set(c)) < len(c) or not all(c) or self._leave & set(c):
                raise ValueError(f"a cross takes two or three different feature columns, such as 'a,b'; got {','.join(c)!r}")
        if self.hash_bits is not None and not (isinstance(self.hash_bits, (int, np.integer)) and 1 <= self.hash_bits <= 31):
            raise ValueError(f"hash_bits must be a whole number from 1 to 31, got {self.hash_bits!r}")
        if not (isinstance(self.ngrams, (int, np.integer)) and 0 <= self.ngrams <= 10):
            raise ValueError(f"ngrams must be a whole number from 0 (no words) to 10, got {self.ngrams!r}")
        if self.chars is not None and not (len(self.chars) == 2 and 1 <= self.chars[0] <= self.chars[1] <= 20):
            raise ValueError(f"chars must be the shortest and longest character gram, such as (2, 4), got {self.chars!r}")

    # ---- encoding ------------------------------------------------------------------------------------------------------
    def encoded(self, data: Any, learn: bool) -> tuple[Rows, np.ndarray]:
        """Return the rows of a record batch of Arrow or a list of dicts, and for each entry whether it is made of numbers.

        Without learning nothing changes, and unknown names are left out (or hashed). Dicts may bring new columns at any time.
        """
        if isinstance(data, (list, tuple)):
            for row, x in enumerate(data):
                if not isinstance(x, Mapping):
                    raise TypeError(f"expected examples as dicts of named cells, got {type(x).__name__} in row {row}")
            if (rows := self._bagged(data, learn)) is not None:
                return rows, np.ones(len(rows.arrays[1]), bool)
            if len(data) == 1 and (job := self._job_of_one(data[0])) is not None:
                return self._done(job, self._columns, learn)
            if len(data) > PIECE and len(set().union(*data)) > MANY:
                return self._in_pieces(data, learn)
            return self._encode(lambda reading: dict_columns(data, self._leave, reading), len(data), learn)
        if not is_open(data):
            self._check_schema([name for name, _ in fields_of(data)], learn)
        found = self._encode(lambda reading: columns_of(data, self._leave, reading), data.num_rows, learn)
        if learn and (orders := orders_of(data)):
            self._orders = {**self._orders, **orders}
        return found

    def _in_pieces(self, data: Sequence[Any], learn: bool) -> tuple[Rows, np.ndarray]:
        """Encode dicts of many columns, few of which each has, a few at a time: their columns are full while they are encoded."""
        mark = self.mark()
        try:
            done = [self.encoded(data[a : a + PIECE], learn) for a in range(0, len(data), PIECE)]
        except BaseException:
            self.back(mark)
            raise
        sizes = np.concatenate([np.diff(rows.arrays[0]) for rows, _ in done])
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        indices, values = (np.concatenate([rows.arrays[k] for rows, _ in done]) for k in (1, 2))
        return Rows("csr", (indptr, indices, values), len(data), self.width), np.concatenate([measured for _, measured in done])

    def _bagged(self, data: Sequence[Any], learn: bool) -> Rows | None:
        """Encode dicts of numbers alone, by name; None for what needs the encoder."""
        found = None if self._crosses or self.hash_bits is not None else bags(data, self._leave)
        if found is None:
            return None
        places = self._places if self._places is not None and self._places.columns is self._columns else self._located()
        new = [name for name in dict.fromkeys(found.names) if name not in places.ranks] if learn else []
        if any(self._roles.get(name, NUMBER) != NUMBER for name in new):
            return None
        known = placed(found, places, self.width)
        if known is None or not new:
            self._places = places
            return known
        numbers = self._joined(stores.of(new), len(new))
        self._columns = {**self._columns, **dict.fromkeys(new, NUMBER)}
        places.ranks.update({name: len(places.ranks) + k for k, name in enumerate(new)})
        self._places = Places(self._columns, places.ranks, np.concatenate([places.numbers, numbers]))
        return placed(found, self._places, self.width)

    def _located(self) -> Places:
        """Return where the columns are."""
        index = {name: k for k, name in enumerate(self.feature_names)}
        numbers = [index.get(name, -1) if role == NUMBER else -1 for name, role in self._columns.items()]
        ranks = {name: rank for rank, name in enumerate(self._columns)}
        return Places(self._columns, ranks, np.array(numbers, np.int64))

    def _joined(self, names: stores.Store, n: int) -> np.ndarray:
        """Give the first n names numbers here; return them."""
        numbers = np.empty(n, np.int64)
        done = 0
        while (done := compiled(stores.join_all)(self._store, names, done, numbers)) < n:
            self._store = stores.wider(self._store)
        return numbers

    def join(self, columns: Sequence[str], values: Sequence[str]) -> np.ndarray:
        """Give categories numbers, each of its own column and as if it came in a row of its own; return them."""
        if fresh := {name: CATEGORY for name in columns if name not in self._columns}:
            self._columns = {**self._columns, **fresh}
        names = [f"{a}={b}" for a, b in zip(columns, values, strict=True)]
        if len(names) > FEW:
            return self._joined(stores.of(names), len(names))
        return np.array([self._joined_one(name) for name in names], np.int64)

    def _joined_one(self, name: str) -> int:
        """Give one name a number here; return it."""
        data = np.frombuffer(name.encode("utf-8", "surrogatepass"), np.uint8)
        while (number := int(compiled(stores.find)(self._store, data, 0, len(data), True, -1, 0))) < 0:
            self._store = stores.wider(self._store)
        return number

    def rows(self, data: Any, learn: bool) -> Rows:
        """Return the rows of a record batch of Arrow or a list of dicts."""
        return self.encoded(data, learn)[0]

    def row(self, x: Mapping[Any, Any], learn: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers and values of one example given as a dict."""
        _, numbers, values = self.rows([x], learn).arrays
        return numbers, values

    def _reading(self, roles: Mapping[str, int]) -> Reading:
        """Return how cells are read, where columns have these roles."""
        roles = {**roles, **self._roles}
        numeric, named = ({n for n, r in roles.items() if r in kinds} for kinds in ((NUMBER,), (CATEGORY, TEXT)))
        dates = {n: self.date_order or self._orders.get(n) for n, r in roles.items() if r == DATE and n not in self._leave}
        return Reading(numeric, named, dates, {*self._roles, *listed(self.id)})  # an id comes as text

    def _check_schema(self, names: list[str], learn: bool) -> None:
        """Hold closed tables to the columns of the first one."""
        found = frozenset(names) - self._leave
        if len(set(names)) < len(names):
            twice = next(name for name, n in Counter(names).items() if n > 1)
            raise ValueError(
                f"there are two columns {brief(twice)}: one is called so, and one is inside another. Rename one of them."
            )
        if self._schema is None:
            wanted = [*self._roles, *(n for c in self._crosses for n in c)]
            absent = [n for n in wanted if n not in found and n.rpartition(".")[0] not in found]  # when.month is made of when
            if learn:
                absent += [n for n in listed(self.ignore) if n not in names]
            if absent:
                raise ValueError(unknown(absent, names))
            if learn:
                self._schema = found
        elif found != self._schema:
            gone, new = sorted(self._schema - found), sorted(found - self._schema)
            what = f"{'missing' if gone else 'new'}: {shortened(', '.join((gone or new)[:5]), 200)}"
            advice = "Give the same columns." if gone else "Give the same columns, or leave out those that vary (ignore, --ignore)."
            raise ValueError(f"the columns are not those of the first batch; {what}. {advice}")

    def _encode(self, read: Callable[[Reading], list[Column]], n: int, learn: bool) -> tuple[Rows, np.ndarray]:
        """Encode columns of cells."""
        columns = read(self._reading(self._columns))
        roles, since = self._with_new(columns)
        if any(c.name in since and c.numbers is not None and c.texts is not None for c in columns):
            columns = read(self._reading(roles))  # the first cell decides how the others are read
        for column in columns:
            if column.name in roles and column.name not in self._roles and roles[column.name] == CATEGORY:
                refuse_long(column)
        return self._done(self._job(columns, roles, since, n), roles, learn)

    def _done(self, job: Job, roles: dict[str, int], learn: bool) -> tuple[Rows, np.ndarray]:
        """Do the job, and keep what was learned."""
        if self._stops is None:
            self._stops = stores.of(self._stop_words)
        store, counted, job = run(self._store, self._stops, self._seen, job, learn, *self._folding())
        if learn:
            self._store, self._seen, self._columns = store, counted, roles
        m = int(job.indptr[-1])
        return Rows("csr", (job.indptr, job.indices[:m], job.data[:m]), len(job.indptr) - 1, self.width), job.measured[:m]

    def _folding(self) -> tuple[int, int]:
        """Return the bits of hashes, -1 for exact numbers, and how many names to remember."""
        return (-1, 0) if self.hash_bits is None else (int(self.hash_bits), int(self.names))

    def _with_new(self, columns: list[Column]) -> tuple[dict[str, int], dict[str, int]]:
        """Return the roles of all columns, those with a first value among them; and the rows of the first values."""
        firsts = [(*c.first(), c) for c in columns if c.name not in self._columns]
        joining = sorted((f for f in firsts if f[0] >= 0), key=lambda f: f[0])
        if not joining:
            return self._columns, {}
        roles = dict(self._columns)
        for row, is_text, c in joining:
            if c.date is not None and roles.setdefault(c.date, DATE) != DATE:
                raise TypeError(
                    f"feature {c.date!r} is a date in row {row}, and was {ROLES[roles[c.date]]} before. Give one kind of cell, or "
                    "leave it out (ignore)."
                )
            wordy = is_text and not c.category and len(c.text(row).split()) > WORDY
            roles[c.name] = self._roles.get(c.name, TEXT if wordy else CATEGORY if is_text else NUMBER)
        return roles, {c.name: row for row, _, c in joining}

    def _job(self, columns: list[Column], roles: dict[str, int], since: dict[str, int], n: int) -> Job:
        """Return the input of the encoder, with room to begin with."""
        if columns:  # those that are not here give nothing
            here = {c.name for c in columns}
            roles = {name: role for name, role in roles.items() if name in here and role != DATE}
        names = [name.encode("utf-8", "surrogatepass") for name in roles]
        numbers, text, starts, where = stacked(columns, n, b"".join(names))
        rank = {c.name: where[k].tolist() for k, c in enumerate(columns)}
        plan, end = [], 0
        for name, data in zip(roles, names, strict=True):
            plan.append([*rank.get(name, (-1, -1)), roles[name], since.get(name, 0), end, end + len(data), 0, 0, -3, -3])
            end += len(data)
        at = {name: j for j, name in enumerate(roles)}
        crosses = [[*(at[name] for name in c), -1][:3] for c in self._crosses if all(name in at for name in c)]
        shapes = np.array(plan, np.int64).reshape(-1, 10), np.array(crosses, np.int64).reshape(-1, 3)
        return with_room(self._words(), numbers, text, starts, *shapes)

    def _job_of_one(self, x: Mapping[Any, Any]) -> Job | None:
        """Return the same for one plain example, without the detour over columns; None for what needs a closer look."""
        if self._steady is None or self._steady.roles is not self._columns:
            self._steady = Steady.of(self._columns, set(self._roles), self._job([], self._columns, {}, 1))
        return self._steady.job(x, self._leave, self._words())

    def _words(self) -> Words:
        """Return how words are made of texts."""
        return Words(int(self.ngrams), self.chars, bool(self.lower), bool(self.binary), int(self.min_count))

    def identify(self, column: str) -> None:
        """Take the ids of rows from a column; it stays a feature where it was one when the table learned."""
        self.id = column
        self._leave |= {column} - set(self._columns)

    def leave_out(self, columns: Iterable[str]) -> None:
        """Ignore columns that came after those of which features were made."""
        self._leave |= set(columns)

    # ---- for readers ---------------------------------------------------------------------------------------------------
    @property
    def as_written(self) -> list[str]:
        """Columns known as categories, text, names or tasks: readers keep them as they are written, 007 and not 7."""
        known = [name for name, role in {**self._columns, **self._roles}.items() if role in (CATEGORY, TEXT)]
        labels = listed(self.target) if self.labels_are_text else ()
        return [*known, *self.naming, *listed(self.task), *labels]

    @property
    def naming(self) -> list[str]:
        """Columns whose cells are names of rows, bundles, users or items."""
        return [name for role in NAMES if (name := getattr(self, role)) is not None]

    @property
    def verbatim(self) -> list[str]:
        """Those of them that are no features as well: not even space around their cells is left out."""
        return [name for name in self.naming if name not in self._columns]

    @property
    def as_numbers(self) -> list[str]:
        """Columns known as numbers: anything else there is a bad row."""
        known = [name for name, role in {**self._columns, **self._roles}.items() if role == NUMBER and name != self.id]
        return [*known, *(listed(self.target) if self.labels_are_numbers else ())]

    @property
    def as_dates(self) -> dict[str, str | None]:
        """Columns known as dates, with the order in which they are written where it is known."""
        known = [name for name, role in {**self._columns, **self._roles}.items() if role == DATE]
        return {name: self.date_order or self._orders.get(name) for name in known}

    @property
    def apart(self) -> set[str]:
        """Columns that are not features."""
        return set(self._reserved)

    @property
    def ignored(self) -> list[str]:
        """Columns that may hold anything."""
        return sorted(self._leave - self._reserved - {self.id})

    @property
    def named(self) -> set[str]:
        """All columns known by name."""
        return {*self._reserved, *self._roles, *self._columns, *(n for c in self._crosses for n in c), *self.ignored}

    @property
    def needed(self) -> list[str]:
        """Columns without which a row cannot be learned from: the target, the weight and the task."""
        return [name for name in (self.target, self.weight, self.task) if name is not None]

    # ---- reading back --------------------------------------------------------------------------------------------------
    @property
    def width(self) -> int:
        """Numbers in use: names met, or 2^hash_bits."""
        return stores.count(self._store) if self.hash_bits is None else 1 << self.hash_bits

    @property
    def feature_names(self) -> list[str]:
        """Return the names by number; hashed ones as far as remembered, by appearance."""
        if len(self._known) > stores.count(self._store):
            self._known = []
        self._known += stores.texts(self._store, len(self._known))
        return list(self._known)

    @property
    def collisions(self) -> int:
        """Return how many of the names remembered share their number with an earlier one."""
        if self.hash_bits is None:
            return 0
        n = stores.count(self._store)
        return n - len(np.unique(self._store.hashes[:n] & np.uint32((1 << self.hash_bits) - 1)))

    @property
    def column_roles(self) -> dict[str, str]:
        """Return what each column is read as, in the order of their first values."""
        return {name: ROLES[role] for name, role in self._columns.items()}

    @property
    def categories(self) -> dict[str, int]:
        """How many categories were met of each column that nobody declared to have some, as far as they are remembered."""
        found = {name: 0 for name, role in self._columns.items() if role == CATEGORY and name not in self._roles}
        for feature in self.feature_names if found else ():
            name = feature.partition("=")[0]
            if name in found and "&" not in feature:
                found[name] += 1
        return found

    # ---- going back, merging, saving -----------------------------------------------------------------------------------
    def mark(self) -> Mark:
        """Return what is known now."""
        counted = seen.mark(self._seen) if self.min_count > 1 else None
        return Mark(stores.count(self._store), self._columns, self._orders, self._schema, counted)

    def back(self, mark: Mark) -> None:
        """Forget what was learned since."""
        stores.cut(self._store, mark.names)
        self._columns, self._orders, self._schema = mark.columns, mark.orders, mark.schema
        del self._known[mark.names :]
        if mark.seen is not None:
            seen.back(self._seen, mark.seen)

    def merge(self, other: Table, times: int = 1) -> np.ndarray | None:
        """Take in the names of another table; return the number here of each of its numbers, None where they are the same.

        Below 0, `times` says how often to take out again how often names were met; names stay.
        """
        if self._settings() != other._settings():
            raise ValueError(f"cannot merge tables with different settings: {self!r} and {other!r}")
        for name, role in other._columns.items():
            if self._columns.get(name, role) != role:
                raise ValueError(f"cannot merge: column {name!r} is {ROLES[self._columns[name]]} here and {ROLES[role]} there")
        for name, order in other._orders.items():
            if self._orders.get(name, order) != order:
                raise ValueError(
                    f"cannot merge: the dates of column {name!r} are written {self._orders[name]} here and {order} there"
                )
        self._columns, self._orders = {**self._columns, **other._columns}, {**self._orders, **other._orders}
        n = stores.count(other._store)
        if self.hash_bits is not None:
            n = min(n, max(int(self.names) - stores.count(self._store), 0))
        numbers = self._joined(other._store, n)
        if self.min_count > 1:
            self._seen = seen.merged(self._seen, other._seen, times, int(self.min_count), self.feature_names)
        self._schema = other._schema if self._schema is None else self._schema
        return None if self.hash_bits is not None else numbers

    def _settings(self) -> dict[str, Any]:
        """Return the settings as JSON values; those that came after the others only where they are not as usual."""
        found: dict[str, Any] = plain(self.get_params())
        if found["stop_words"] != "english":
            found["stop_words"] = self._stop_words or None
        usual = self.settings()
        return {k: v for k, v in found.items() if k not in LATER or v != usual[k]}

    def meta(self) -> dict[str, Any]:
        """Return the settings and columns as JSON values."""
        settings = self._settings()
        schema = None if self._schema is None else sorted(self._schema)
        orders = {"orders": dict(self._orders)} if self._orders else {}
        return {"settings": settings, "columns": list(self._columns.items()), "schema": schema, **orders}

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the names as arrays, and those that are counted."""
        return stores.tensors(self._store) | (seen.tensors(self._seen) if self.min_count > 1 else {})

    @classmethod
    def restored(cls, meta: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Table:
        """Return the table that was saved."""
        settings: dict[str, Any] = {k: tuple(v) if v == [] or (k == "chars" and v) else v for k, v in meta["settings"].items()}
        table = cls(**settings)
        table._store = stores.restored(tensors["pool"], tensors["ends"])
        if table.min_count > 1:
            table._seen = seen.of(stores.restored(tensors["seen.pool"], tensors["seen.ends"]), tensors["seen.counts"])
        table._columns = {str(k): int(role) for k, role in meta["columns"]}
        if not set(table._columns.values()) <= {NUMBER, CATEGORY, TEXT, DATE}:
            raise ValueError(f"expected roles of columns, found {meta['columns']}")
        table._orders = {str(k): str(order) for k, order in meta.get("orders", {}).items()}
        if not set(table._orders.values()) <= {*ORDERS}:
            raise ValueError(f"expected orders of dates, found {meta['orders']}")
        table._schema = None if meta["schema"] is None else frozenset(meta["schema"])
        return table


def crosses_of(cross: Any) -> Iterable[Any]:
    """Return crosses as a list: one may be given alone, as text."""
    return [cross] if isinstance(cross, str) else list(cross)


def names_in(c: Any) -> tuple[str, ...]:
    """Return the names of a cross: they may be given as text, with commas between them."""
    return tuple(part.strip() for part in c.split(",")) if isinstance(c, str) else tuple(c)


def plain(v: Any) -> Any:
    """Return a setting as a JSON value."""
    if isinstance(v, np.generic):
        return v.item()
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return [plain(x) for x in v] if isinstance(v, (list, tuple, set, frozenset)) else v


def refuse_long(column: Column) -> None:
    """Refuse texts as categories where nobody declared them so."""
    if column.texts is None or len(column.texts.data) <= LONG:
        return
    sizes = np.diff(column.texts.starts)
    if sizes.max() > LONG:
        row = int(np.argmax(sizes > LONG))
        raise ValueError(
            f"column {brief(column.name)} began with short texts, so it is read as categories, but row {row} of the batch holds "
            f"{int(sizes[row])} bytes: {column.text(row)[:40]!r}... Declare it: text, categorical or ignore."
        )
