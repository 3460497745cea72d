//! Finds the inputs of a run, loads ranks in parallel and merges their answers.
