"""The labelling page: a small application over a `Desk`, with nothing from outside and nothing shown that would bias.

Needs Starlette and uvicorn: ``pip install 'replical[lab]'``.
"""
