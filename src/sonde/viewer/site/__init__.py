"""The pages of runs, one for each address, as a local application or as files.

    library = Library([Path("runs")])                  # run and training folders, read again when they change
    page = pages.page(library, ("run", "wordle-1"))    # a value, also as JSON
    html = render(page, Links())                       # the templates are those of the report

`server.serve_app` answers a browser, `export.export_site` writes all pages into a folder. Pages are pure functions of
the run folders, so they are tested without either.
"""
