fn main() {
    let f = std::fs::File::open(std::env::args().nth(1).unwrap()).unwrap();
    let l = gpuscope_formats::read(f, gpuscope_formats::ReadOptions::default()).unwrap();
    eprintln!("{} {}", l.trace.len(), l.trace.elements);
}
