"""Replace strftime_now in chat templates by a macro, so that a template always writes the same date."""
from __future__ import annotations

import datetime
from typing import Any

from .errors import OptionError

DIRECTIVES = "aAbBcdfHIjmMpSuUwWxXyYGVF"


def fixed_date(day: Any) -> str:
    """Return a macro to put before a template, which then writes that date.

    Parameters
    ----------
    day : Any
        A date in ISO format, as given by --set.

    Raises
    ------
    OptionError
        It is not a date.
    """
    try:
        when = datetime.datetime.fromisoformat(day)
    except (TypeError, ValueError):
        raise OptionError("--set strftime_now needs a date, such as 2026-07-26") from None
    known = {f"%{one}": when.strftime(f"%{one}") for one in DIRECTIVES}
    # glibc's directives without a leading zero.
    known.update({f"%-{one}": str(int(known[f"%{one}"])) for one in "dHIjmMSUW"})
    replaced = "".join(f" | replace('{name}', '{value}')" for name, value in known.items())
    return f"{{%- macro strftime_now(format) -%}}{{{{- format{replaced} -}}}}{{%- endmacro -%}}"
