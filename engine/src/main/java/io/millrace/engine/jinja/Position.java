package io.millrace.engine.jinja;

/// A place in a template, both counted from 1.
record Position(int line, int column) {}
