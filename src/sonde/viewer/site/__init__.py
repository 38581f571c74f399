"""Runs to browse: pages about run folders, a page per address, as a local application or as files.

    library = Library([Path("runs")])                 # what there is, looked at again when it changes
    page = pages.page(library, ("run", "wordle-1"))   # a value: also as JSON
    html = render(page, Links())                      # the same templates as the report

`server.serve` answers a browser; `export.export` writes every page to a folder. Pages are pure functions of the run
folders, so they are tested without either.
"""
