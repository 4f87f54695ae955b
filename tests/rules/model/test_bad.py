"""One small file for each way to be wrong, and beside it all that is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.errors import RulesError
from headgate.rules.model.rules import Rules

FOLDER = Path(__file__).parents[1] / "bad"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".txt")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_bad_file_is_told_all_that_is_wrong_with_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)

    with pytest.raises(RulesError) as caught:
        Rules.load(file.name, environment={})

    assert f"{caught.value}\n" == Path(f"{file.name}.txt").read_text()


def test_no_message_stands_without_its_file() -> None:
    said = {path.stem for path in FOLDER.glob("*.txt")}

    assert said == {path.name for path in FILES}
    assert len(FILES) > 90
