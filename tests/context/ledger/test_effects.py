"""What a successful command line certainly did to files, without the parts that may not have run."""

import pytest

from tui_app.context.ledger.effects import file_effects, prints_failures


@pytest.mark.parametrize(
    ("line", "told"),
    [
        # The script of sed is not a file.
        ("sed -i 's/old_name/new_name/g' src/a.py Makefile", ["src/a.py edited", "Makefile edited"]),
        ("sed -i '' s/a/b/ a.c", ["a.c edited"]),
        ("sed -i.bak -e s/a/b/ -e s/c/d/ a.c", ["a.c edited"]),
        ("sed --in-place --expression=s/a.b/c/ a.c", ["a.c edited"]),
        ("sed -n -f x.sed a.c", []),
        ("perl -pi -e 's/x.y/z/' a.pl", ["a.pl edited"]),
        ("perl -i -pe 's/a/b/' a.pl", ["a.pl edited"]),
        # Parts that may not have run.
        ("pytest -q || rm a.py", []),
        ("make || cat x | tee out.txt; rm b.py", ["b.py deleted"]),
        ("make || true && rm b.py", ["b.py deleted"]),
        ("if make; then rm a.py; else rm b.py; fi; rm c.py", ["c.py deleted"]),
        ("for i in 1 2; do rm a.py; done", []),
        ("while make; do echo x > a.txt; done", []),
        ("clean() { rm a.py; }; rm b.py", ["b.py deleted"]),
        ("test -f a.py && rm a.py", ["a.py deleted"]),
        ("test -f a.py && rm a.py; ls", []),
        ("grep -q x a.py && rm a.py || true", []),
        ("make | tail && rm a.py; ls; make && rm c.py", ["a.py deleted", "c.py deleted"]),
        ("make && rm a.py; ls; make && rm c.py", ["c.py deleted"]),
        ("cd w && rm a.py; ls", ["w/a.py deleted"]),
        ("make && rm a.py && make | tail", ["a.py deleted"]),
        # Commands that only report, ask, or keep existing files.
        ("rm -rf src/; mv docs/ manual/", ["src deleted", "docs moved manual/"]),
        ("rm --help; mv --help a b; cp --version a b; git rm --help a", []),
        ("rm -i a.py; rm -ri src; rm --interactive a.py; mv -n a b; cp -n a b; rm --dry-run a.py", []),
        ("touch -c a.py; install -d bin", []),
        # Options with values.
        ("mv -t dest a.py b.py", ["a.py moved dest/a.py", "b.py moved dest/b.py"]),
        ("mv -vt dest a.py", ["a.py moved dest/a.py"]),
        ("cp --target-directory=dest a.py", ["dest/a.py written"]),
        ("touch -d yesterday a.py; head -n 5 b.py", ["a.py created if new", "b.py read"]),
        ("install -m 755 a.sh bin/", ["bin/a.sh written"]),
        # Folders.
        ("(cd a && rm b.py); rm c.py", ["a/b.py deleted", "c.py deleted"]),
        ("(cd a; (cd b); rm c.py); rm d.py", ["a/c.py deleted", "d.py deleted"]),
        ("(cd a); (rm b.py)", ["b.py deleted"]),
        ("pushd q; rm e.py; popd; rm f.py", ["q/e.py deleted", "f.py deleted"]),
        ("cd /a && cd - && rm b.py", ["b.py deleted"]),
        ("cd a; cd ..; rm b.py", ["b.py deleted"]),
        # A path with an expansion is unknown.
        ("cd $DIR && rm x.py && rm /w/y.py", ["/w/y.py deleted"]),
        ('cd "$DIR/a"; cd b; rm x.py; git checkout -- y.py', []),
        ("git -C $DIR rm a.py; echo x > $OUT/x; rm ${A}.py", []),
        ("mv a.py $DEST/", ["a.py moved"]),
        # Git.
        ("git mv a.py b.py; git rm c.py", ["a.py moved b.py staged", "c.py deleted staged"]),
        ("git add -p a.py; git add -n b.py; git commit --dry-run; git stash -p; git stash list", []),
        ("git commit -m 'a b.py'", [". committed"]),
        ("git commit -am x; git commit --all --amend", [". committed all", ". committed all amended"]),
        ("git commit a.py -m x", ["a.py added", ". committed"]),
        ("git reset --hard HEAD~2; git reset HEAD^", [". uncommitted 2", ". undone", ". uncommitted 1"]),
        ("git stash; git stash push -m x -- a.py; git stash pop",
         [". stashed", "a.py stashed", ". restored"]),
        ("git checkout -- src/", ["src/ undone"]),
    ],
)  # fmt: skip
def test_only_what_is_known_to_have_happened(line: str, told: list[str]) -> None:
    effects = [" ".join(filter(None, (e.path, e.deed, e.to, e.how))) for e in file_effects(line)]
    assert effects == told


@pytest.mark.parametrize(
    ("words", "tells"),
    [
        (("rm", "a"), True),
        (("sudo", "/bin/rm", "a"), True),
        (("git", "push"), True),
        ((), True),
        (("./deploy.sh",), False),
        (("test", "-f", "a"), False),
    ],
)
def test_programs_that_do_not_fail_without_a_word(words: tuple[str, ...], tells: bool) -> None:
    assert prints_failures(words) is tells
