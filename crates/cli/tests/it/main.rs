//! The command line as people and scripts meet it: every test runs whole commands on files in a folder of its own.

mod anonymized;
mod answers;
mod bench;
mod captures;
mod causes;
mod claims;
mod columns;
mod compile;
mod convert;
mod corpus;
mod export;
mod failures;
mod hostile;
mod hostile_archives;
mod hostile_convert;
mod hta;
mod inputs;
mod output;
mod planted_text;
mod plot;
mod selection;
mod support;
mod tracelens;
mod view;
mod whole_files;
