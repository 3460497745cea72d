use std::time::Instant;
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read(&path).unwrap();
    if text[0] == 0x1f {
        for _ in 0..4 {
            let t = Instant::now();
            let n = gpuscope_formats::limits::inflate(&text).unwrap();
            print!("inflate {:.3} ({n}) ", t.elapsed().as_secs_f64());
            let t = Instant::now();
            let l =
                gpuscope_formats::read(&text[..], gpuscope_formats::ReadOptions { pipelined: true, ..Default::default() }).unwrap();
            println!("pipelined {:.3} {}", t.elapsed().as_secs_f64(), l.trace.len());
        }
        return;
    }
    let padded = gpuscope_formats::limits::padded(&text);
    for _ in 0..5 {
        let (t, c) = (Instant::now(), cpu());
        let n = gpuscope_formats::limits::scan(&padded);
        let (s, sc) = (t.elapsed().as_secs_f64(), cpu() - c);
        let (t, c) = (Instant::now(), cpu());
        let l = gpuscope_formats::limits::parse(&padded).unwrap();
        let (p, pc) = (t.elapsed().as_secs_f64(), cpu() - c);
        println!(
            "scan {s:.3}/{sc:.3} ({n}/{}) parse {p:.3}/{pc:.3} {:.2} GB/s ratio {:.2} rows {} elements {} heap/elem {:.0} strings {} {:?}",
            text.len(),
            text.len() as f64 / p / 1e9,
            pc / sc,
            l.len(),
            l.elements,
            l.heap_bytes() as f64 / l.elements as f64,
            l.strings.len(),
            l.quality.first()
        );
    }
}
