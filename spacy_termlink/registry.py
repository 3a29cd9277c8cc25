"""Catalogue registries. spaCy's own namespaces are opened by name, so that no spaCy is imported here."""

import catalogue
from catalogue import Registry

#: Readers of terminology formats, `--format` of `termlink convert`: name -> generator of Concepts.
readers = catalogue.create("spacy_termlink", "readers", entry_points=True)
#: Mining tasks, `@tasks` of a mining config: function of the settings -> mining.task.Task.
tasks = catalogue.create("spacy_termlink", "tasks", entry_points=True)
#: Training losses, `@losses` of a training config: function of the settings -> Loss.
losses = catalogue.create("spacy_termlink", "losses", entry_points=True)
#: spaCy's `@misc`: candidate generators and rerankers of a component's config.
misc = Registry(("spacy", "misc"), entry_points=True)
#: Kinds of rerankers that are trained, `kind` of a section [reranker]: function of a
#: rerank.config.RerankConfig, rerank.lists.ListData, world and report -> training.loop.Loop.
rerankers = catalogue.create("spacy_termlink", "rerankers", entry_points=True)
