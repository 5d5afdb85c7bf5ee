"""Style sheets parsed and matched once a process, rather than for each application and each node.

Textual matches every rule that may concern a node against all nodes above it, whenever anything changes: a
third of the time of a test of the screen. What rules ask about a node (type, id, classes, pseudo classes, of
the nodes above it as well) is the key of what is kept here; ``test_style_memo.py`` compares it with Textual.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from textual.css._style_properties import OverflowProperty, StringEnumProperty
from textual.css.model import RuleSet
from textual.css.styles import Styles, StylesBase
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

Values = dict[str, Any]
Above = tuple[tuple[type[DOMNode], str | None, frozenset[str]], ...]
"""What seldom changes of a node and of all above it."""

textual_apply, textual_parse = Stylesheet.apply, Stylesheet._parse_rules


def keep_styles() -> None:
    """Let all applications of this process share what was parsed and matched."""
    Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign]
    Stylesheet.apply = _apply  # type: ignore[method-assign]
    # The same number, without a call of Python for each rule that each widget may match.
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]


_known = dict[tuple[Any, ...], dict[tuple[Any, ...], list[RuleSet]]]()
_of: dict[str, str] = {}
_parsed: dict[tuple[Any, ...], list[RuleSet]] = {}


def _parsed_once(sheet: Stylesheet, css: str, *source: Any, **more: Any) -> list[RuleSet]:
    global _of, _parsed
    # A hundred variables, looked up for each of a hundred sources, take longer than the sources.
    if sheet._variables is not _of:
        _of, _parsed = sheet._variables, _known.setdefault(tuple(sheet._variables.items()), {})
    key = (css, *source, *more.items())
    if (rules := _parsed.get(key)) is None:
        rules = _parsed[key] = textual_parse(sheet, css, *source, **more)
    return rules


def _apply(sheet: Stylesheet, node: DOMNode, *, animate: bool = False, cache: object = None) -> None:
    """Give a node, and the parts of it that have a style of their own, what the rules say."""
    path = node.css_path_nodes
    above = tuple([(type(each), each._id, frozenset(each._classes)) for each in path])
    candidates = _candidates(sheet, node)
    candidates.mark(node)
    _give(node, candidates.values(sheet, above, path), animate)
    if names := node._get_component_classes():
        _apply_to_parts(sheet, node, names, above, path)


class _Candidates:
    """The rules that may concern nodes of one type, id and classes."""

    def __init__(self, rules: Sequence[RuleSet]) -> None:
        named = set[str]().union(*(rule.pseudo_classes for rule in rules))
        self.hover, self.focus_within = "hover" in named, "focus-within" in named
        self.order = not named.isdisjoint(
            {"first-of-type", "last-of-type", "first-child", "last-child", "empty"}
        )
        self.odd_or_even = not named.isdisjoint({"odd", "even"})
        self.selectors = [
            selector
            for rule in rules
            for selectors in rule.selector_set
            for selector in selectors.selectors
            if selector.pseudo_classes
        ]
        self.found: dict[Above, tuple[list[tuple[int, str]], dict[tuple[bool, ...], Values | None]]] = {}
        """Which pseudo classes are asked of which node of a path, and what a node gets by the answers."""

    def mark(self, node: DOMNode) -> None:
        """Say what has it styled again."""
        node._has_hover_style, node._has_focus_within = self.hover, self.focus_within
        node._has_order_style, node._has_odd_or_even = self.order, self.odd_or_even

    def values(self, sheet: Stylesheet, above: Above, path: list[DOMNode]) -> Values | None:
        """What the rules say, the same object for the same; None where none of them applies."""
        if (kept := self.found.get(above)) is None:
            kept = self.found[above] = (sorted(set(self._asked(path))), {})
        asked, by_state = kept
        # A part of a widget is none; and below what is disabled, everything is.
        lowest = path[-1] if isinstance(path[-1], Widget) else path[-2] if len(path) > 1 else None
        off = isinstance(lowest, Widget) and lowest.is_disabled
        state = tuple(
            [(off or name != "disabled") and path[place].has_pseudo_class(name) for place, name in asked]
        )
        if state not in by_state:
            matching = _Matching(sheet)
            textual_apply(matching, path[-1])  # type: ignore[arg-type]
            by_state[state] = matching.values
        return by_state[state]

    def _asked(self, path: list[DOMNode]) -> Iterator[tuple[int, str]]:
        for place, node in enumerate(path):
            for selector in self.selectors:
                if selector._check(node):
                    yield from ((place, name) for name in selector.pseudo_classes)


class _Matching:
    """A style sheet that only says what a node would get."""

    _check_rule = Stylesheet._check_rule

    def __init__(self, sheet: Stylesheet) -> None:
        self.rules, self.rules_map = sheet.rules, sheet.rules_map
        self.values: Values | None = None

    def replace_rules(self, _node: DOMNode, rules: Values, animate: bool) -> None:
        self.values = rules

    def _process_component_classes(self, _node: DOMNode) -> None: ...


_by_rules = dict[tuple[RuleSet, ...], _Candidates]()
_by_node: WeakKeyDictionary[Stylesheet, tuple[list[RuleSet], dict[Any, _Candidates]]] = WeakKeyDictionary()


def _candidates(sheet: Stylesheet, node: DOMNode) -> _Candidates:
    rules, (of, by_node) = sheet.rules, _by_node.get(sheet, (None, {}))
    if of is not rules:
        by_node = {}
        _by_node[sheet] = (rules, by_node)
    key = (type(node), node._id, frozenset(node._classes))
    if (found := by_node.get(key)) is None:
        rules_map = sheet.rules_map
        may = {rule for name in rules_map.keys() & node._selector_names for rule in rules_map[name]}
        chosen = tuple(filter(may.__contains__, rules))
        if (found := _by_rules.get(chosen)) is None:
            found = _by_rules[chosen] = _Candidates(chosen)
        by_node[key] = found
    return found


def _give(node: DOMNode, values: Values | None, animate: bool) -> None:
    """Set what the rules say, unless that is what they said, and nothing else has changed it."""
    base = node.styles.base
    if values is None:
        return
    if _is_given(node, values):
        node.notify_style_update()
        return
    if base._rules or node._is_mounted:
        Stylesheet.replace_rules(node, values, animate=animate)
    else:
        _give_first(base, values)
        node.notify_style_update()
    if "transitions" not in values:
        node._given = (values, base._updates)  # type: ignore[attr-defined]


def _is_given(node: DOMNode, values: Values | None) -> bool:
    given, updates = getattr(node, "_given", (node, 0))
    return given is values and updates == node.styles.base._updates


_first = dict[int, tuple[Values, Values]]()
"""By the identity of what rules say: that itself, so that it stays, and what becomes of it in a node."""


def _give_first(base: Styles, values: Values) -> None:
    """Set what nobody sees yet: nothing has to be painted, and what is checked of it is checked once."""
    if (kept := _first.get(id(values))) is None:
        of_itself = Styles()
        for name, value in values.items():
            setattr(of_itself, name, value)
        kept = _first[id(values)] = (values, of_itself._rules)  # type: ignore[assignment]
    for name, value in kept[1].items():
        if name in _ACTING:
            setattr(base, name, value)
        else:
            base._rules[name] = value  # type: ignore[literal-required]
    base._updates += len(kept[1])


def _acts(name: str) -> bool:
    how = StylesBase.__dict__.get(name)
    return isinstance(how, StringEnumProperty) and bool(
        isinstance(how, OverflowProperty) or how._display or how._pointer
    )


_ACTING = frozenset(name for name in vars(StylesBase) if _acts(name))
"""Rules that change more than a style when they are set."""


def _apply_to_parts(
    sheet: Stylesheet, node: DOMNode, names: frozenset[str], above: Above, path: list[DOMNode]
) -> None:
    had, changed = node._component_styles.copy(), False
    node._component_styles.clear()
    for name in sorted(names):
        styles = had.get(name)
        part = styles.base.node if styles is not None else None
        if part is None:
            part = _part(node, name)
        values = _candidates(sheet, part).values(
            sheet, (*above, (DOMNode, None, frozenset({name}))), [*path, part]
        )
        if styles is None or not _is_given(part, values):
            part = _part(node, name)
            _give(part, values, animate=False)
            part._given = (values, part.styles.base._updates)  # type: ignore[attr-defined]
            changed = changed or styles != part.styles
        node._component_styles[name] = part.styles
    if changed:
        node.refresh()


def _part(node: DOMNode, name: str) -> DOMNode:
    part = DOMNode(classes=name)
    part._attach(node)
    return part
