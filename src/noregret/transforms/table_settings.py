"""Column declarations (Text, Category, Cross, Hash, ...) that `pipeline` merges into one Table."""

from __future__ import annotations

from typing import Any

from .step import Step
from .table import crosses_of, listed


class TableSetting(Step):
    """A step that sets something of the Table, and has no other effect."""

    def into(self, settings: dict[str, Any]) -> None:
        """Add it to the settings of a table."""
        raise NotImplementedError


class Columns(TableSetting):
    """Columns of one role."""

    role: str

    def __init__(self, *names: str) -> None:
        self.names = names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return no settings: the names are positional."""
        return {}

    def into(self, settings: dict[str, Any]) -> None:
        """Add the columns to those of the role."""
        settings[self.role] = [*listed(settings.get(self.role)), *self.names]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"


class Text(Columns):
    """Columns of text, read as words; `ngrams`, `chars`, `binary`, `stop_words` and `min_count` as in Table."""

    role = "text"

    def __init__(self, *names: str, **grams: Any) -> None:
        super().__init__(*names)
        self.grams = grams

    def into(self, settings: dict[str, Any]) -> None:
        """Add the columns, and how words are made."""
        super().into(settings)
        settings.update(self.grams)


class Category(Columns):
    """Columns of categories."""

    role = "categorical"


class Number(Columns):
    """Columns of numbers."""

    role = "numeric"


class Date(Columns):
    """Columns of dates."""

    role = "date"


class Ignore(Columns):
    """Columns to leave out."""

    role = "ignore"


class Cross(Columns):
    """The products of the features of two or three columns."""

    def into(self, settings: dict[str, Any]) -> None:
        """Add the cross."""
        settings["cross"] = [*crosses_of(settings.get("cross", ())), ",".join(self.names)]


class Hash(TableSetting):
    """Fold names of features into 2^bits numbers."""

    def __init__(self, bits: int = 18) -> None:
        self.bits = bits

    def into(self, settings: dict[str, Any]) -> None:
        """Set the bits."""
        settings["hash_bits"] = self.bits
