"""Tables are whole, typed without guessing, and answer in SQL that reaches nothing else."""

import random
from decimal import Decimal

import pytest

from document_files import csv_file, xlsx_file
from echo_ingestion import BadQuery, DocumentLibrary
from echo_ingestion._child.fail import Refused
from unit.echo_ingestion.conftest import QueryHere, ReadHere, Take


async def test_100000_rows_are_counted_summed_and_filtered_right(take: Take, library: DocumentLibrary) -> None:
    chance = random.Random(7)
    cents = [chance.randrange(1, 10**7) for _ in range(100_000)]
    cities = [chance.choice(["Lyon", "Nîmes", "Paris"]) for _ in cents]
    rows = [
        ("Ville", "Code postal", "Montant (€)"),
        *((c, "01234", f"{x // 100},{x % 100:02}") for c, x in zip(cities, cents, strict=True)),
    ]
    document = await take("ventes.csv", csv_file(rows, ";", "cp1252"))
    [table] = document.tables
    assert (table.rows, table.header_row) == (100_000, 1)
    assert [column.type for column in table.columns] == ["VARCHAR", "VARCHAR", "DECIMAL(28,2)"]
    found = await library.query(document.id, 'SELECT count(*), sum("Montant") FROM ventes')
    assert found.rows == ((100_000, f"{Decimal(sum(cents)) / 100:.2f}"),)
    nimes = [x for c, x in zip(cities, cents, strict=True) if c == "Nîmes" and x > 5_000_000]
    found = await library.query(
        document.id, "SELECT count(*), sum(\"Montant\") FROM ventes WHERE Ville='Nîmes' AND Montant > 50000"
    )
    assert found.rows == ((len(nimes), f"{Decimal(sum(nimes)) / 100:.2f}"),)
    last = await library.query(document.id, "SELECT max(_row) FROM ventes")
    assert last.rows == ((100_001,),)


def test_a_workbook_has_a_table_a_sheet_with_the_rows_own_numbers(read_here: ReadHere, query_here: QueryHere) -> None:
    data = xlsx_file(
        {
            "Ventes 2025": [
                ("Ventes de l'année",),
                (),
                ("Produit", "Prix", "Le"),
                ("Clou", 1.5, None),
                ("Vis", 2, None),
            ],
            "Vide": [],
            "Ids": [("007",), ("008",)],
        }
    )
    document, _ = read_here("a.xlsx", data)
    sales, ids = document.tables
    assert (sales.name, sales.rows, sales.header_row, sales.above) == ("Ventes_2025", 2, 3, "Ventes de l'année")
    assert query_here('SELECT _row, "Prix" FROM "Ventes_2025" ORDER BY 1') == [[4, "1.5"], [5, "2.0"]]
    assert ids.columns[0].type == "VARCHAR"
    assert query_here('SELECT * FROM "Ids"') == [[1, "007"], [2, "008"]]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "22", ""), "BIGINT"),
        (("1.50", "22", "3.125"), "DECIMAL(28,3)"),
        (("1,5", "22,25"), "DECIMAL(28,2)"),
        (("1 234,50 €", "12,00 €"), "DECIMAL(28,2)"),
        (("$1,234.50", "$12.00"), "DECIMAL(28,2)"),
        (("1,234", "5,678"), "VARCHAR"),  # thousands or decimals: nobody knows
        (("03/04/2025", "05/06/2025"), "VARCHAR"),  # March or April
        (("31/04/2025", "05/06/2025"), "VARCHAR"),  # there is no 31 April
        (("31/03/2025", "05/06/2025"), "DATE"),
        (("12/31/2025", "05/06/2025"), "DATE"),
        (("2025-01-02 03:04", "2025-01-02T03:04:05"), "TIMESTAMP"),
        (("1e5", "2.5"), "DOUBLE"),
        (("vrai", "FAUX"), "BOOLEAN"),
        (("0123", "0456"), "VARCHAR"),
        (("1", "n/a"), "VARCHAR"),
        (("1", "#N/A"), "BIGINT"),
        (("12345678901234567890", "1"), "VARCHAR"),
    ],
)
def test_a_column_has_a_type_only_when_every_value_is_of_it(
    read_here: ReadHere, values: tuple[str, ...], kind: str
) -> None:
    rows = [("Name", "Value"), *((f"x{i}", value) for i, value in enumerate(values))]
    document, _ = read_here("a.csv", csv_file(rows, "\t"))
    assert document.tables[0].columns[1].type == kind


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "COPY a TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access=true",
        "SELECT 1; SELECT 2",
        "DROP TABLE a",
        "PRAGMA database_list",
        "EXPORT DATABASE '/tmp/x'",
        "CREATE TABLE b AS SELECT 1",
        "SELECT * FROM 'https://example.org/x.csv'",
        "SELECT * FROM nothing",
        "",
        "gibberish",
        "SELECT * FROM range(100000000000) a, range(100000) b ORDER BY 1",
    ],
)
def test_a_query_reaches_nothing_but_the_tables(read_here: ReadHere, query_here: QueryHere, sql: str) -> None:
    read_here("a.csv", b"n,m\nx,1\ny,2\n")
    with pytest.raises(Refused) as refused:
        query_here(sql)
    assert refused.value.code == "document_query"
    assert refused.value.fields["why"]
    assert query_here("SELECT sum(m) FROM a") == [[3]]


async def test_a_refused_query_is_told_to_the_model(take: Take, library: DocumentLibrary) -> None:
    document = await take("a.csv", b"n,m\nx,1\ny,2\n")
    with pytest.raises(BadQuery) as refused:
        await library.query(document.id, "SELECT * FROM read_text('/etc/passwd')")
    assert "disabled" in refused.value.message.render("en", **refused.value.fields)
