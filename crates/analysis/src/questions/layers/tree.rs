//! Modules over all their calls, and which is called from which.

use gpuscope_trace::{StrId, View};
use rustc_hash::FxHashMap;

use super::Pass;
use super::calls::{Calls, Load, NONE, add_all, label};

/// One module over all its calls.
pub(crate) struct Module {
    name: StrId,
    parent: u32,
    pub(crate) depth: u32,
    pub(crate) own: [Load; Pass::ALL.len()],
    pub(crate) total: [Load; Pass::ALL.len()],
    calls: Vec<u32>,
}

impl Module {
    fn new(name: StrId, parent: Option<u32>, depth: u32) -> Module {
        let (own, total) = Default::default();
        Module { name, parent: parent.unwrap_or(NONE), depth, own, total, calls: Vec::new() }
    }

    pub(crate) fn label(&self, view: View<'_>) -> String {
        label(view, self.name)
    }

    /// What its calls have to do in a pass, those that have anything.
    pub(crate) fn loads(&self, calls: &Calls, pass: Pass) -> impl Iterator<Item = Load> {
        let of_call = move |call: &u32| calls.by_start[*call as usize].subtree[pass as usize];
        self.calls.iter().map(of_call).filter(|load| load.count > 0)
    }
}

pub(crate) struct Tree {
    modules: Vec<Module>,
    /// Each before those called from it.
    order: Vec<u32>,
}

impl Tree {
    pub(crate) fn of(calls: &Calls) -> Tree {
        let modules = modules(calls);
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); modules.len()];
        let mut open: Vec<u32> = Vec::new();
        for (i, module) in modules.iter().enumerate() {
            match children.get_mut(module.parent as usize) {
                Some(siblings) => siblings.push(i as u32),
                None => open.push(i as u32),
            }
        }
        open.reverse();
        let mut order = Vec::with_capacity(modules.len());
        while let Some(i) = open.pop() {
            order.push(i);
            open.extend(children[i as usize].iter().rev());
        }
        Tree { modules, order }
    }

    pub(crate) fn parent(&self, module: &Module) -> Option<&Module> {
        self.modules.get(module.parent as usize)
    }

    /// Modules with fewer than so many around them, in each pass in which they have work.
    pub(crate) fn rows(&self, depth: Option<u32>) -> impl Iterator<Item = (&Module, Pass)> {
        let modules = self.order.iter().map(|i| &self.modules[*i as usize]);
        let listed = modules.filter(move |module| depth.is_none_or(|most| module.depth < most));
        listed.flat_map(|module| {
            let worked = Pass::ALL.into_iter().filter(|pass| module.total[*pass as usize].count > 0);
            worked.map(move |pass| (module, pass))
        })
    }
}

fn modules(calls: &Calls) -> Vec<Module> {
    let mut place: FxHashMap<StrId, u32> = FxHashMap::default();
    let mut modules: Vec<Module> = Vec::new();
    for (i, call) in calls.by_start.iter().enumerate() {
        // The parent's first call came before this one.
        let parent =
            calls.by_start.get(call.parent as usize).and_then(|parent| place.get(&parent.name)).copied();
        let at = *place.entry(call.name).or_insert_with(|| {
            let depth = parent.map_or(0, |parent| modules[parent as usize].depth + 1);
            modules.push(Module::new(call.name, parent, depth));
            modules.len() as u32 - 1
        });
        let module = &mut modules[at as usize];
        add_all(&mut module.own, &call.own);
        add_all(&mut module.total, &call.subtree);
        module.calls.push(i as u32);
    }
    modules
}
