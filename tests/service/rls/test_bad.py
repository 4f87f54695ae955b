"""One small file for each way to be wrong, and beside it all that is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.errors import RulesError
from headgate.service.rls.domains import load

FOLDER = Path(__file__).parent / "bad"
FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_bad_file_is_told_all_that_is_wrong_with_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)

    with pytest.raises(RulesError) as caught:
        load([file.name])

    assert f"{caught.value}\n" == Path(f"{file.name}.txt").read_text()


def test_no_message_stands_without_its_file() -> None:
    said = {path.stem for path in FOLDER.glob("*.txt")}

    assert said == {path.name for path in FILES}
    assert len(FILES) > 30


def test_two_files_of_one_domain_are_told_apart(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text("domain: edge\n")
    second.write_text("# the other\ndomain: edge\n")

    with pytest.raises(RulesError) as caught:
        load([str(first), str(second)])

    said = f'"edge" is the domain of {first}; put both into one file'
    assert str(caught.value) == f"{second}:2:9: domain: {said}"


def test_what_is_wrong_with_several_files_is_told_at_once(tmp_path: Path) -> None:
    first = tmp_path / "a.yaml"
    first.write_text("descriptors: []\n")

    with pytest.raises(RulesError) as caught:
        load([str(first), str(tmp_path / "none.yaml")])

    assert str(caught.value).splitlines() == [
        f'{first}:1:1: lacks "domain", which is a text',
        f"{tmp_path / 'none.yaml'}: cannot be read: No such file or directory",
    ]
