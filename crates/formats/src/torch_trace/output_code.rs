//! The program that inductor writes: how many kernels it launches.
//!
//! Counted are the places in its `call` that launch something: kernels that the program defines itself (Triton, C++,
//! CUTLASS), those of libraries (`extern_kernels.mm`), and operators that are called as they are. Kernels are defined in
//! texts of their own, which are passed over.

use gpuscope_trace::compile_log::{Direction, Piece};
use rustc_hash::FxHashSet;

use super::graph::{Sort, path, sort};

pub(super) fn output_code(text: &str) -> Piece {
    let mut made_from = None;
    let mut kernels: FxHashSet<&str> = FxHashSet::default();
    let mut launches = 0;
    let mut has_call = false;
    let mut inside = Texts::default();
    for line in text.lines() {
        let is_code = !inside.passes_over(line);
        if !is_code {
            continue;
        }
        if made_from.is_none() {
            made_from = aot_id(line);
        }
        let statement = line.trim_start();
        has_call |= statement.starts_with("def call(");
        if let Some((name, _)) = statement.split_once(" = async_compile.") {
            kernels.insert(name);
        } else if launches_kernel(statement, &kernels) {
            launches += 1;
        }
    }
    // Where the program around the kernels is C++, too, there is no such function.
    Piece::Code { made_from, kernels: has_call.then_some(launches) }
}

/// `# AOT ID: ['5_backward']`.
fn aot_id(line: &str) -> Option<(i64, Direction)> {
    let text = line.strip_prefix("# AOT ID: ['")?.split('\'').next()?;
    let (number, direction) = text.split_once('_')?;
    let direction = match direction {
        "forward" | "inference" => Direction::Forward,
        "backward" => Direction::Backward,
        _ => return None,
    };
    Some((number.parse().ok()?, direction))
}

fn launches_kernel(statement: &str, kernels: &FxHashSet<&str>) -> bool {
    let assigned = statement.split_once(" = ").filter(|(name, _)| path(name).len() == name.len());
    let value = assigned.map_or(statement, |(_, value)| value);
    let path = path(value);
    if !value[path.len()..].starts_with('(') {
        return false;
    }
    let first = path.split('.').next().unwrap_or_default();
    match first {
        "extern_kernels" => true,
        "aten" => sort(path) == Sort::Operator,
        "torch" => {
            // Inductor's own are about memory, as views are.
            path.starts_with("torch.ops.")
                && !path.starts_with("torch.ops.inductor._")
                && sort(path) == Sort::Operator
        }
        _ => kernels.contains(first),
    }
}

/// Texts over several lines.
#[derive(Default)]
struct Texts {
    open: Option<&'static str>,
}

impl Texts {
    /// Whether a line begins within such a text.
    fn passes_over(&mut self, line: &str) -> bool {
        let was_open = self.open.is_some();
        let mut rest = line;
        loop {
            let found = match self.open {
                Some(end) => rest.find(end).map(|at| (at, None)),
                None => ["'''", "\"\"\""]
                    .into_iter()
                    .filter_map(|begin| Some((rest.find(begin)?, Some(begin))))
                    .min_by_key(|(at, _)| *at),
            };
            let Some((at, open)) = found else { return was_open };
            self.open = open;
            rest = &rest[at + 3..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels(text: &str) -> Option<u64> {
        match output_code(text) {
            Piece::Code { kernels, .. } => kernels,
            Piece::Graph { .. } => None,
        }
    }

    const TRITON: &str = r"# AOT ID: ['3_inference']
aten = torch.ops.aten
alloc_from_pool = torch.ops.inductor._alloc_from_pool
triton_poi_fused_add_0 = async_compile.triton('triton_poi_fused_add_0', '''
import triton
def triton_poi_fused_add_0(in_ptr0):
    x = extern_kernels.mm(a, b)
''', device_str='cuda')
add_kernel_0 = async_compile.triton('add_kernel', '''
''', device_str='cuda')
cuda_fused_1 = async_compile.cuda(r'''
''', 'so')
async_compile.wait(globals())

def call(args):
    arg0_1, = args
    assert_size_stride(arg0_1, (1, 1), (1, 1))
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        buf0 = empty_strided_cuda((3, 2), (2, 1), torch.float32)
        # Source Nodes: extern_kernels.mm(
        triton_poi_fused_add_0.run(arg0_1, buf0, 6, grid=grid(6), stream=stream0)
        triton_poi_fused_add_0.run(buf0, buf0, 6, stream=stream0)
        add_kernel_0.run(buf0)
        cuda_fused_1.cuda_fused_1(buf0)
        extern_kernels.mm(buf0, arg0_1, out=buf1)
        buf2 = extern_kernels.convolution(buf1)
        buf3 = torch.ops.aten.topk.default(buf0, 6)
        buf4 = buf3[0]
        buf5 = torch.ops.aten.view.dtype(buf4, torch.int32)
        buf6 = torch.ops.inductor._alloc_from_pool(buf5)
        buf7 = buf6; del buf6  # reuse
        buf8 = aten.bernoulli_(buf7, 0.5)
    return (buf2, reinterpret_tensor(buf3, (1, ), (1, ), 0), )
";

    #[test]
    fn every_launch_counts_however_often_a_kernel_is_used() {
        assert_eq!(kernels(TRITON), Some(8));
        let direction = Direction::Forward;
        assert_eq!(output_code(TRITON), Piece::Code { made_from: Some((3, direction)), kernels: Some(8) });
    }

    #[test]
    fn the_program_of_a_cpu_is_a_class() {
        let text = "\
# AOT ID: ['5_backward']
cpp_fused_sum_0 = async_compile.cpp_pybinding(['const float*'], r'''
extern \"C\" void kernel(const float* in_ptr0) { cpp_fused_sum_0(in_ptr0); }
''')
class Runner:
    def call(self, args):
        extern_kernels.addmm(primals_2, reinterpret_tensor(primals_1, (16, 32), (1, 16), 0), out=buf0)
        cpp_fused_sum_0(buf0, buf1)
";
        let made_from = Some((5, Direction::Backward));
        assert_eq!(output_code(text), Piece::Code { made_from, kernels: Some(2) });
    }

    #[test]
    fn what_cannot_be_counted_is_not_zero() {
        assert_eq!(kernels("cpp_wrapper_src = (r'''\nlaunchKernel(x);\n''')\ncall = wrap(entry)\n"), None);
        assert_eq!(kernels(""), None);
        assert_eq!(kernels("def call(args):\n    return (args,)\n"), Some(0));
    }

    #[test]
    fn one_text_may_hold_the_marks_of_another() {
        let mut texts = Texts::default();
        let over: Vec<bool> = ["a = '''", "\"\"\"", "''' + \"\"\"", "'''", "\"\"\"", "b"]
            .into_iter()
            .map(|line| texts.passes_over(line))
            .collect();
        assert_eq!(over, [false, true, true, true, true, false]);
    }
}
