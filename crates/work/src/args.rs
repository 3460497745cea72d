//! An operator's arguments, read from the texts that the trace has of them.
//!
//! `Input Dims` is a list with one entry per argument: a list of sizes for a tensor (empty for a scalar and for
//! anything that is no tensor), or a list of such lists for a list of tensors. `Input type` has one string per
//! argument, `Concrete Inputs` one string with the printed value of each argument that is no tensor. Nothing is
//! copied: every question walks the text again, which is short. What does not look as described is absent.

use crate::Call;
use crate::count::Count;
use crate::dtype::DType;

/// More dimensions than this no tensor of a real model has; one that does has no shape here.
pub(crate) const MAX_RANK: usize = 12;

/// The sizes of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    rank: usize,
    sizes: [u64; MAX_RANK],
}

impl Shape {
    pub(crate) fn of(sizes: &[u64]) -> Option<Shape> {
        Shape::collect(sizes.iter().map(|&size| Some(size)))
    }

    /// Absent if any size is, or if there are too many.
    pub(crate) fn collect(sizes: impl Iterator<Item = Option<u64>>) -> Option<Shape> {
        let mut shape = Shape { rank: 0, sizes: [0; MAX_RANK] };
        for size in sizes {
            *shape.sizes.get_mut(shape.rank)? = size?;
            shape.rank += 1;
        }
        Some(shape)
    }

    pub(crate) fn sizes(&self) -> &[u64] {
        &self.sizes[..self.rank]
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The size of a dimension; negative ones count from the end, as in Python.
    pub(crate) fn dim(&self, index: isize) -> Option<Count> {
        let index = if index < 0 { self.rank.checked_sub(index.unsigned_abs())? } else { index as usize };
        self.sizes().get(index).map(|&size| Count::from(size))
    }

    /// All sizes but the last few.
    pub(crate) fn leading(&self, last: usize) -> Option<&[u64]> {
        self.rank.checked_sub(last).map(|count| &self.sizes[..count])
    }

    pub(crate) fn numel(&self) -> Count {
        self.sizes().iter().map(|&size| Count::from(size)).product()
    }

    /// The shape that two shapes are stretched to in elementwise operators.
    pub(crate) fn broadcast(self, other: Shape) -> Option<Shape> {
        let rank = self.rank.max(other.rank);
        let size =
            |shape: &Shape, index: usize| (index + shape.rank).checked_sub(rank).map(|i| shape.sizes[i]);
        Shape::collect((0..rank).map(|index| match (size(&self, index), size(&other, index)) {
            (Some(a), Some(b)) if a == b || b == 1 => Some(a),
            (Some(1), Some(b)) => Some(b),
            (Some(_), Some(_)) => None,
            (a, b) => a.or(b),
        }))
    }
}

/// A tensor among the arguments. Its type is unknown if the trace does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) shape: Shape,
    pub(crate) dtype: Option<DType>,
}

impl Tensor {
    pub(crate) fn bytes(&self) -> Count {
        self.shape.numel() * self.element_bytes()
    }

    /// Bytes per element.
    pub(crate) fn element_bytes(&self) -> Count {
        self.dtype.map_or(Count::UNKNOWN, |dtype| Count::from(dtype.bytes))
    }

    pub(crate) fn numel(&self) -> Count {
        self.shape.numel()
    }

    pub(crate) fn dim(&self, index: isize) -> Option<Count> {
        self.shape.dim(index)
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.rank()
    }
}

/// The arguments of a call by their place in the operator's signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'a> {
    call: &'a Call<'a>,
    /// Where the argument that a model expects at some place really is, for models borrowed by another operator.
    places: Option<&'a [usize]>,
}

impl<'a> Args<'a> {
    pub(crate) fn new(call: &'a Call<'a>) -> Args<'a> {
        Args { call, places: None }
    }

    pub(crate) fn rearranged(call: &'a Call<'a>, places: &'a [usize]) -> Args<'a> {
        Args { call, places: Some(places) }
    }

    pub(crate) fn name(&self) -> &'a str {
        self.call.name
    }

    /// The tensor at this place; absent if the argument is none, was not given or is no tensor.
    pub(crate) fn tensor(&self, place: usize) -> Option<Tensor> {
        tensor(self.entry(self.call.dims, place)?, self.entry(self.call.types, place))
    }

    /// All arguments, each a tensor or not, in one pass.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = Option<Tensor>> {
        let types = items(self.call.types).map(Some).chain(std::iter::repeat(None));
        let in_order = items(self.call.dims).zip(types).map(|(dims, dtype)| tensor(dims, dtype));
        let rearranged = (0..self.places.map_or(0, <[usize]>::len)).map(|place| self.tensor(place));
        in_order.take_while(|_| self.places.is_none()).chain(rearranged)
    }

    /// The printed values of all arguments from this place on, in one pass; absent if empty.
    pub(crate) fn values_from(&self, place: usize) -> impl Iterator<Item = Option<&'a str>> {
        let value = |text: &'a str| Some(unquoted(text)).filter(|value| !value.is_empty());
        let in_order = items(self.call.concrete).skip(place).map(value);
        let rearranged = (place..self.places.map_or(0, <[usize]>::len)).map(|place| self.value(place));
        in_order.take_while(|_| self.places.is_none()).chain(rearranged)
    }

    /// The tensor or number at this place: what an elementwise operator reads there.
    pub(crate) fn operand(&self, place: usize) -> Option<Tensor> {
        self.tensor(place).or_else(|| {
            let number = self.entry(self.call.types, place).map(unquoted) == Some("Scalar");
            number.then(|| Some(Tensor { shape: Shape::of(&[])?, dtype: DType::named("Scalar") }))?
        })
    }

    /// The shapes of the list of tensors at this place. Traces do not say the types in lists.
    pub(crate) fn shapes(&self, place: usize) -> Option<impl Iterator<Item = Option<Shape>> + use<'a>> {
        let list = self.entry(self.call.dims, place)?;
        items(list).next()?.starts_with('[').then(|| items(list).map(shape))
    }

    /// The printed value at this place; absent if empty.
    pub(crate) fn value(&self, place: usize) -> Option<&'a str> {
        self.entry(self.call.concrete, place).map(unquoted).filter(|value| !value.is_empty())
    }

    pub(crate) fn int(&self, place: usize) -> Option<i64> {
        self.value(place)?.parse().ok()
    }

    pub(crate) fn flag(&self, place: usize) -> Option<bool> {
        flag(self.value(place)?)
    }

    /// The printed list of integers at this place, or the one integer there.
    pub(crate) fn ints(&self, place: usize) -> Option<impl Iterator<Item = Option<i64>> + Clone + use<'a>> {
        self.list(place).map(|values| values.map(|value| value.parse().ok()))
    }

    /// The printed list of flags at this place, as in `[True, True, False]`.
    pub(crate) fn flags(&self, place: usize) -> Option<impl Iterator<Item = Option<bool>> + use<'a>> {
        self.list(place).map(|values| values.map(flag))
    }

    /// The printed list of values at this place, or the one value there.
    pub(crate) fn list(&self, place: usize) -> Option<impl Iterator<Item = &'a str> + Clone + use<'a>> {
        let value = self.value(place)?;
        let one = (!value.starts_with('[')).then_some(value);
        Some(items(value).chain(one))
    }

    /// The type with this number in `PyTorch`'s list of types, as printed for `dtype=` arguments.
    pub(crate) fn dtype_code(&self, place: usize) -> Option<DType> {
        DType::numbered(self.int(place)?)
    }

    fn entry(&self, list: &'a str, place: usize) -> Option<&'a str> {
        let place = match self.places {
            Some(places) => *places.get(place)?,
            None => place,
        };
        items(list).nth(place)
    }
}

fn tensor(dims: &str, dtype: Option<&str>) -> Option<Tensor> {
    let spelling = dtype.map(unquoted);
    let shape = shape(dims)?;
    let dtype = spelling.and_then(DType::named);
    let number = spelling == Some("Scalar");
    (!number && (shape.rank() > 0 || dtype.is_some())).then_some(Tensor { shape, dtype })
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "True" | "true" | "1" => Some(true),
        "False" | "false" | "0" => Some(false),
        _ => None,
    }
}

fn shape(list: &str) -> Option<Shape> {
    list.starts_with('[').then(|| Shape::collect(items(list).map(|size| size.parse().ok())))?
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).trim()
}

/// The entries of a list written as text; none if the text is no list. A list that is cut off ends before the
/// entry that is not whole.
fn items(list: &str) -> Items<'_> {
    Items { rest: list.trim_start().strip_prefix('[').unwrap_or_default() }
}

#[derive(Clone, Debug)]
struct Items<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let end = entry_end(self.rest.as_bytes())?;
        let (entry, rest) = self.rest.split_at(end);
        // After `]` nothing follows; after `,` another entry.
        self.rest = rest.strip_prefix(',').unwrap_or_default();
        let entry = entry.trim();
        (!entry.is_empty()).then_some(entry)
    }
}

/// Where the `,` or `]` after the first entry is.
fn entry_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'[' => depth += 1,
            b',' | b']' if depth == 0 => return Some(at),
            b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call<'a>(dims: &'a str, types: &'a str, concrete: &'a str) -> Call<'a> {
        Call { name: "op", dims, types, strides: "", concrete }
    }

    #[test]
    fn arguments_are_found_by_place() {
        let call = call(
            "[[2, 3],\n [], [[4], [5,6]], [], []]",
            r#"["c10::BFloat16", "Scalar", "TensorList", "", "float"]"#,
            r#"["", "-1", "", "[1, 1]", ""]"#,
        );
        let args = Args::new(&call);
        let all: Vec<_> = args.tensors().collect();
        assert_eq!(all, (0..5).map(|at| args.tensor(at)).collect::<Vec<_>>());
        assert_eq!(args.values_from(1).collect::<Vec<_>>(), [Some("-1"), None, Some("[1, 1]"), None]);
        let tensor = args.tensor(0).unwrap();
        assert_eq!((tensor.shape.sizes(), tensor.bytes().get()), (&[2, 3][..], Some(12)));
        assert_eq!(args.tensor(1), None);
        assert_eq!(args.operand(1).unwrap().bytes().get(), Some(4));
        let lists: Option<Vec<_>> = args.shapes(2).unwrap().collect();
        assert_eq!(lists.unwrap().iter().map(Shape::rank).collect::<Vec<_>>(), [1, 2]);
        assert!(args.shapes(0).is_none() && args.tensor(2).is_none() && args.tensor(3).is_none());
        assert_eq!(
            args.tensor(4).unwrap().numel().get(),
            Some(1),
            "a tensor without dimensions has one element"
        );
        assert_eq!(args.int(1), Some(-1));
        assert_eq!(args.ints(3).unwrap().collect::<Option<Vec<_>>>(), Some(vec![1, 1]));
        assert_eq!(args.ints(1).unwrap().collect::<Option<Vec<_>>>(), Some(vec![-1]));
        assert!(args.tensor(5).is_none() && args.value(0).is_none());
    }

    #[test]
    fn arguments_may_be_elsewhere() {
        let call = call("[[1], [2], [3]]", r#"["int", "bool", "int"]"#, r#"["a", "b", ""]"#);
        let args = Args::rearranged(&call, &[2, 0, 9]);
        assert_eq!(args.tensor(0), Args::new(&call).tensor(2));
        assert_eq!(args.tensors().collect::<Vec<_>>(), [args.tensor(0), args.tensor(1), None]);
        assert_eq!(args.values_from(0).collect::<Vec<_>>(), [None, Some("a"), None]);
    }

    #[test]
    fn odd_texts_have_no_arguments() {
        for dims in
            ["", "[", "[[", "[[1,2", "]", "null", "{}", "[[-1]]", "[[1.5]]", "[[99999999999999999999]]"]
        {
            assert_eq!(Args::new(&call(dims, "", "")).tensor(0), None, "{dims}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Args::new(&call(&deep, &deep, &deep)).tensor(0), None);
        let long = format!("[[{}1]]", "1,".repeat(MAX_RANK));
        assert_eq!(Args::new(&call(&long, "", "")).tensor(0), None);
    }

    #[test]
    fn commas_and_brackets_in_strings_do_not_count() {
        let args = call("[[1], [2]]", r#"["a,b]\"", "int"]"#, "");
        assert_eq!(Args::new(&args).tensor(1).unwrap().element_bytes().get(), Some(4));
    }
}
