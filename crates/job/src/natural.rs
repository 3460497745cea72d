//! Names in the order people count: `rank2` before `rank10`.

/// A piece of a name: a number or the text between numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece {
    Number(u128),
    Text(String),
}

pub(crate) fn key(name: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(match piece.parse() {
            Ok(number) if digits => Piece::Number(number),
            _ => Piece::Text(piece.to_owned()),
        });
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count() {
        let mut names = ["rank10.json", "rank2.json", "rank2.json.gz", "a"];
        names.sort_by_key(|name| key(name));
        assert_eq!(names, ["a", "rank2.json", "rank2.json.gz", "rank10.json"]);
    }
}
