"""`python -m spacy_termlink`: the command line by the interpreter that is to run it."""

from .cli import main

if __name__ == "__main__":
    main()
