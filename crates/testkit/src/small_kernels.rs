//! Many tiny element-wise operators in a row: the GPU is done with each before the host has launched the next.

use crate::action::Action;
use crate::catalog;
use crate::event::Link;
use crate::fault::Fault;
use crate::program::Builder;
use crate::shapes::Shape;

const SHORTEST_NS: i64 = 2_000;
/// What an operator takes to find its kernel.
const DISPATCH_NS: i64 = 4_000;
const OPERATORS: [&str; 4] = ["aten::mul", "aten::add", "aten::neg", "aten::div"];

impl Builder<'_> {
    /// Before every block of the first micro-batch, where no graph is replayed.
    pub(crate) fn small_kernels(&mut self, microbatch: u32) {
        if microbatch > 0 || self.graph.is_some() {
            return;
        }
        for (index, fault) in self.faults_here() {
            let Fault::SmallKernels { per_block, .. } = fault else { continue };
            self.push(Action::Plant(index));
            self.python("model.py(61): rotary_embedding");
            for number in 0..per_block as usize {
                let place = number % OPERATORS.len();
                self.op(OPERATORS[place], Shape::Hidden, Link::None);
                self.push(Action::Hold(DISPATCH_NS));
                // From 2 to 3 microseconds.
                self.launch(&catalog::SMALL[place], SHORTEST_NS + (number as i64 * 271) % 1_000);
                self.close();
            }
            self.end_python();
            self.push(Action::Planted);
        }
    }
}
