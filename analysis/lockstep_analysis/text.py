"""Names and numbers as they are printed: literally, but one line stays one line."""


def one_line(text):
    """`text` with control and unpaired surrogate characters as escapes; everything else stands as it is."""
    return "".join(c if _harmless(c) else c.encode("unicode_escape").decode("ascii") for c in str(text))


def _harmless(character):
    """Separators (\\u2028) break lines in some readers; format characters (\\u202e) reorder them."""
    return character.isprintable() or character == "\N{NO-BREAK SPACE}" or character == "\N{IDEOGRAPHIC SPACE}"


def shortened(text, length=60):
    """The first `length` characters on one line, with a mark where more followed."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 3] + "..."


def counted(number, noun):
    """"1 dataset", "2 datasets"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def table(rows, header):
    """Lines of a table with aligned columns, the header first."""
    cells = [list(header)] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
