"""The HTML page kit: tables, figures with their data, findings; it knows no results."""
