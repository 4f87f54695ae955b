"""The reference tells of the fields there are, and notices when it does not."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

import reference
from tests.rules.model.mutations import TABLES


def test_the_page_is_fresh() -> None:
    assert reference.main(["--check"]) == 0


def test_a_stale_page_is_found_and_refreshed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "rules.md"
    page.write_text("# Rules\n\n<!-- fields: Counts -->\nold\n<!-- end of fields -->\n\nThe end.\n")
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "PAGE", page)
    other = tmp_path / "command-line.md"
    other.write_text("No command is asked for.\n")
    monkeypatch.setattr(reference, "COMMANDS", other)

    assert reference.main(["--check"]) == 1
    assert capsys.readouterr().out == "rules.md tells of other fields: run tools/reference.py\n"
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0
    assert page.read_text() == (
        "# Rules\n\n<!-- fields: Counts -->\n"
        "| field | is | means | unless said |\n| --- | --- | --- | --- |\n"
        "| `status` | a status such as 401, or 4xx, or a list of them | The statuses of the "
        "answers that count. | has to be said |\n"
        "<!-- end of fields -->\n\nThe end.\n"
    )


@pytest.mark.parametrize("cls", TABLES)
def test_every_field_of_every_table_is_told_of(cls: type) -> None:
    table = reference.included(cls.__name__)

    assert table in reference.PAGE.read_text()
    assert [one.name for one in fields(cls) if f"| `{one.name}` |" not in table] == []
