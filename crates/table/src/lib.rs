//! Typed columns with name, unit and doc: the one description of tabular results.
