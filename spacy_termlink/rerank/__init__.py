"""What is decided about the candidates of the recall stage: how probable it is that they are right."""
