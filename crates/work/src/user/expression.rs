//! The little language of the user's formulas.
//!
//! Whole numbers, names, `+ - * / // %`, parentheses, and functions of the arguments. `/` must leave no rest,
//! `//` rounds down. Everything is exact; what overflows, divides by zero or asks for what the call does not
//! have is absent.

use crate::args::Args;

/// What a function is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// `dim(i, j)`: the size of dimension `j` of argument `i`; negative `j` counts from the end.
    Dim,
    /// `rank(i)`: how many dimensions.
    Rank,
    /// `numel(i)`: how many elements.
    Numel,
    /// `width(i)`: bytes per element.
    Width,
    /// `bytes(i)`: elements times width.
    Bytes,
    /// `given(i)`: 1 if the argument is a tensor, else 0.
    Given,
    /// `concrete(i)`: the number printed for the argument, `True` being 1 and `False` 0.
    Concrete,
    Min,
    Max,
    CeilDiv,
}

const FUNCTIONS: &[(&str, Function, usize)] = &[
    ("dim", Function::Dim, 2),
    ("rank", Function::Rank, 1),
    ("numel", Function::Numel, 1),
    ("width", Function::Width, 1),
    ("bytes", Function::Bytes, 1),
    ("given", Function::Given, 1),
    ("concrete", Function::Concrete, 1),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
    ("ceil_div", Function::CeilDiv, 2),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideDown,
    Remainder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Number(i128),
    /// One of the names defined beside the formula, by number.
    Name(usize),
    Call(Function, Vec<Expression>),
    Binary(Operator, Box<[Expression; 2]>),
}

impl Expression {
    /// Reads a formula; `names` are those it may use.
    pub(super) fn parse(text: &str, names: &[&str]) -> Result<Expression, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("it is longer than {MAX_LENGTH} characters"));
        }
        let mut parser = Parser { rest: text, names, depth: 0 };
        let expression = parser.sum()?;
        match parser.peek() {
            None => Ok(expression),
            Some(c) => Err(format!("`{c}` is not expected here")),
        }
    }

    /// The names it uses.
    pub(super) fn names(&self, used: &mut Vec<usize>) {
        match self {
            Expression::Number(_) => {}
            Expression::Name(name) => used.push(*name),
            Expression::Call(_, arguments) => arguments.iter().for_each(|argument| argument.names(used)),
            Expression::Binary(_, sides) => sides.iter().for_each(|side| side.names(used)),
        }
    }

    /// The value for a call, given those of the names.
    pub(super) fn value(&self, args: &Args, names: &[Option<i128>]) -> Option<i128> {
        match self {
            Expression::Number(number) => Some(*number),
            Expression::Name(name) => *names.get(*name)?,
            Expression::Call(function, arguments) => {
                let first = arguments.first()?.value(args, names)?;
                let second = || arguments.get(1)?.value(args, names);
                match function {
                    Function::Min => second().map(|second| first.min(second)),
                    Function::Max => second().map(|second| first.max(second)),
                    Function::CeilDiv => {
                        let second = second().filter(|&second| second > 0)?;
                        first.checked_add(second - 1).map(|sum| sum.div_euclid(second))
                    }
                    of_argument => of_argument.of(args, usize::try_from(first).ok()?, second),
                }
            }
            Expression::Binary(operator, sides) => {
                let (left, right) = (sides[0].value(args, names)?, sides[1].value(args, names)?);
                match operator {
                    Operator::Add => left.checked_add(right),
                    Operator::Subtract => left.checked_sub(right),
                    Operator::Multiply => left.checked_mul(right),
                    Operator::Divide => {
                        left.checked_div(right).filter(|_| left.checked_rem(right) == Some(0))
                    }
                    Operator::DivideDown => left.checked_div_euclid(right),
                    Operator::Remainder => left.checked_rem_euclid(right),
                }
            }
        }
    }
}

impl Function {
    fn of(self, args: &Args, place: usize, second: impl FnOnce() -> Option<i128>) -> Option<i128> {
        let tensor = args.tensor(place);
        let count = match self {
            Function::Given => return Some(i128::from(tensor.is_some())),
            Function::Concrete => {
                let flag = || args.flag(place).map(i128::from);
                return args.int(place).map(i128::from).or_else(flag);
            }
            Function::Rank => return i128::try_from(tensor?.rank()).ok(),
            Function::Dim => tensor?.dim(isize::try_from(second()?).ok()?)?,
            Function::Numel => tensor?.numel(),
            Function::Width => tensor?.element_bytes(),
            Function::Bytes => tensor?.bytes(),
            Function::Min | Function::Max | Function::CeilDiv => return None,
        };
        i128::try_from(count.get()?).ok()
    }
}

/// Formulas nest no deeper than this.
const MAX_DEPTH: usize = 64;

/// Sums and products in a row nest too, so a formula is no longer than people write.
const MAX_LENGTH: usize = 4096;

struct Parser<'a> {
    rest: &'a str,
    names: &'a [&'a str],
    depth: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it nests too deep".into());
        }
        let mut left = self.product()?;
        while let Some(operator) = self.operator(&[("+", Operator::Add), ("-", Operator::Subtract)]) {
            left = Expression::Binary(operator, Box::new([left, self.product()?]));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        const OPERATORS: &[(&str, Operator)] = &[
            ("*", Operator::Multiply),
            ("//", Operator::DivideDown),
            ("/", Operator::Divide),
            ("%", Operator::Remainder),
        ];
        let mut left = self.operand()?;
        while let Some(operator) = self.operator(OPERATORS) {
            left = Expression::Binary(operator, Box::new([left, self.operand()?]));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, String> {
        let minus = self.operator(&[("-", ())]).is_some();
        let value = match self.peek() {
            Some('(') => {
                self.rest = &self.rest[1..];
                let inner = self.sum()?;
                self.expect(')')?;
                inner
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = self.take(|c| c.is_ascii_digit() || c == '_');
                let number = digits.replace('_', "").parse();
                Expression::Number(number.map_err(|_| format!("{digits} is too large"))?)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.peek() == Some('(') { self.call(name)? } else { self.name(name)? }
            }
            Some(c) => return Err(format!("`{c}` is not expected here")),
            None => return Err("it ends too early".into()),
        };
        Ok(if minus {
            Expression::Binary(Operator::Subtract, Box::new([Expression::Number(0), value]))
        } else {
            value
        })
    }

    fn name(&self, name: &str) -> Result<Expression, String> {
        let known = self.names.iter().position(|known| *known == name);
        known
            .map(Expression::Name)
            .ok_or_else(|| format!("nothing is called `{name}`; define it under `with`"))
    }

    fn call(&mut self, name: &str) -> Result<Expression, String> {
        let Some(&(_, function, count)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<_> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            return Err(format!("there is no function `{name}`; there are {}", known.join(", ")));
        };
        self.rest = &self.rest[1..];
        let mut arguments = vec![self.sum()?];
        while self.operator(&[(",", ())]).is_some() {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        if arguments.len() != count {
            return Err(format!("`{name}` takes {count} argument{}", if count == 1 { "" } else { "s" }));
        }
        Ok(Expression::Call(function, arguments))
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.peek() {
            Some(c) if c == wanted => {
                self.rest = &self.rest[1..];
                Ok(())
            }
            Some(c) => Err(format!("`{wanted}` is expected where `{c}` is")),
            None => Err(format!("`{wanted}` is missing at the end")),
        }
    }

    /// The first of these operators that comes next.
    fn operator<T: Copy>(&mut self, operators: &[(&str, T)]) -> Option<T> {
        self.peek()?;
        operators.iter().find_map(|&(text, operator)| {
            self.rest = self.rest.strip_prefix(text)?;
            Some(operator)
        })
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Call;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<i128> {
        let call = Call {
            name: "op",
            dims: "[[2, 3, 5], [], []]",
            types: r#"["c10::Half", "Scalar", ""]"#,
            strides: "",
            concrete: r#"["", "7", "True"]"#,
        };
        Expression::parse(text, &["x"]).unwrap().value(&Args::new(&call), &[Some(11)])
    }

    #[test]
    fn arithmetic_is_exact() {
        for (text, expected) in [
            ("1 + 2 * 3", Some(7)),
            ("(1 + 2) * 3", Some(9)),
            ("10 - 3 - 2", Some(5)),
            ("-2 * -3", Some(6)),
            ("7 // 2", Some(3)),
            ("7 / 2", None),
            ("8 / 2", Some(4)),
            ("7 % 4", Some(3)),
            ("1 // 0", None),
            ("1_000", Some(1000)),
            ("min(3, 4) + max(3, 4)", Some(7)),
            ("ceil_div(7, 2)", Some(4)),
            ("ceil_div(7, 0)", None),
            ("x * 2", Some(22)),
            ("170141183460469231731687303715884105727 + 1", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn functions_ask_the_call() {
        for (text, expected) in [
            ("dim(0, 1)", Some(3)),
            ("dim(0, -1)", Some(5)),
            ("dim(0, 3)", None),
            ("dim(1, 0)", None),
            ("rank(0)", Some(3)),
            ("numel(0)", Some(30)),
            ("width(0)", Some(2)),
            ("bytes(0)", Some(60)),
            ("given(0) + given(1) + given(2)", Some(1)),
            ("concrete(1) + concrete(2)", Some(8)),
            ("concrete(0)", None),
            ("numel(0 - 1)", None),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("", "ends too early"),
            ("2 *", "ends too early"),
            ("2 3", "`3` is not expected"),
            ("(2", "`)` is missing"),
            ("y", "nothing is called `y`"),
            ("size(0)", "no function `size`"),
            ("dim(0)", "takes 2 arguments"),
            ("numel(0, 1)", "takes 1 argument"),
            ("9999999999999999999999999999999999999999", "too large"),
            ("2 ^ 3", "`^` is not expected"),
        ] {
            let message = Expression::parse(text, &["x"]).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
        assert!(Expression::parse(&"(".repeat(1000), &[]).unwrap_err().contains("too deep"));
        assert!(Expression::parse(&"1+".repeat(100_000), &[]).unwrap_err().contains("longer than"));
        assert!(Expression::parse(&"-".repeat(1000), &[]).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-zx+*/%(),_ -]{0,40}") {
            if let Ok(expression) = Expression::parse(&text, &["x"]) {
                expression.value(&Args::new(&Call::default()), &[Some(i128::MIN)]);
            }
        }
    }
}
