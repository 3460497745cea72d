//! Programs of others that alone can read their files, asked to print them if they are installed.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{ReadError, Reading};

/// How often it is asked whether anybody still waits.
const PAUSE: Duration = Duration::from_millis(50);

/// What a program prints; None if it is not installed.
pub(crate) fn output(
    program: &'static str,
    words: &[&OsStr],
    reading: &Reading<'_>,
) -> Result<Option<Vec<u8>>, ReadError> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let (mut printed, mut said) = (child.stdout.take(), child.stderr.take());
    let limit = reading.memory;
    let (printed, said, ended) = std::thread::scope(|scope| {
        let printed = scope.spawn(move || {
            let mut bytes = Vec::new();
            let read = printed.as_mut().map(|out| out.take(limit).read_to_end(&mut bytes));
            read.transpose().map(|_| bytes)
        });
        let said = scope.spawn(move || {
            let mut bytes = Vec::new();
            let _ = said.as_mut().map(|error| error.take(1 << 20).read_to_end(&mut bytes));
            bytes
        });
        let ended = loop {
            match child.try_wait() {
                Ok(None) if (reading.goes_on)() => std::thread::sleep(PAUSE),
                Ok(None) => {
                    let _ = child.kill();
                    break child.wait();
                }
                Ok(Some(status)) => break Ok(status),
                Err(error) => break Err(error),
            }
        };
        (printed.join(), said.join(), ended)
    });
    let printed = printed.map_err(|_| std::io::Error::other("its output could not be read"))??;
    if ended?.success() {
        return Ok(Some(printed));
    }
    let said = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
    // Some say on standard output what went wrong.
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&printed).into_owned() } else { said };
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(ReadError::Damaged {
        what: "a report that its own program can read",
        why: format!("{program}: {}", last.trim()),
    })
}
