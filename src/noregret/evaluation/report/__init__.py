"""Reports: plain data, shown as text, as a page and as plots."""
