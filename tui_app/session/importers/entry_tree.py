"""The branch of a tree of records that the last one stands on."""

from tui_app.session.importers.fields import record_text
from tui_app.session.importers.source import Line, shown
from tui_app.session.importers.timeline import Timeline


def branch(records: tuple[Line, ...], *, key: str, parent: str, report: Timeline) -> set[int]:
    """Line numbers on the way from the first record to the last one.

    Records without an id are no part of the tree and always count: headers, and all of an old file that is a
    list. A link to a record that is missing is mended by file order, so that what came before stays.

    Args:
        records: The records in file order.
        key: Name of the field with a record's id.
        parent: Name of the field with the id of the record before it.
        report: Told of ids that are used twice and links that had to be mended.
    """
    by_id: dict[str, int] = {}
    tree: list[Line] = []
    path = {line.number for line in records if not record_text(line.data, key) or parent not in line.data}
    for line in records:
        name = record_text(line.data, key)
        if not name or line.number in path:
            continue
        if name in by_id:
            report.skip(line.number, f"record id {shown(name)} was already used in this file")
            continue
        by_id[name] = len(tree)
        tree.append(line)
    place = len(tree) - 1
    while place >= 0 and tree[place].number not in path:
        path.add(tree[place].number)
        above = record_text(tree[place].data, parent)
        if not above:
            break
        if above in by_id and by_id[above] < place:
            place = by_id[above]
        else:
            report.left_out["links to missing records were mended by file order"] += 1
            place -= 1
    return path
