//! The command line as people and scripts meet it: every test runs whole commands on files in a folder of its own.

mod answers;
mod bench;
mod captures;
mod causes;
mod columns;
mod compile;
mod convert;
mod corpus;
mod export;
mod failures;
mod hostile;
mod hta;
mod inputs;
mod output;
mod plot;
mod selection;
mod support;
mod tracelens;
