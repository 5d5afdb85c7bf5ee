"""Fresh tables between the marks of a page; shared by the scripts that write pages from the program."""

from collections.abc import Mapping


def fill(page: str, tables: Mapping[str, str]) -> str:
    """Put tables between ``<!-- name -->`` and ``<!-- end of name -->``.

    Raises:
        ValueError: if a mark is missing.
    """
    for name, table in tables.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"The page has no {start} … {end}")
        page = f"{before}{start}\n{table}\n{end}{after}"
    return page
