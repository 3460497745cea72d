use super::*;

fn flame() -> Flame<'static> {
    let frame = |name, depth, own| Frame { name, depth, own };
    let frames = vec![
        frame("main", 0, 0),
        frame("a;b", 1, 5),
        frame("kernel", 2, 7),
        frame("c", 1, 2),
        frame("unlinked", 0, 1),
    ];
    Flame { name: "rank 3".to_owned(), frames }
}

#[test]
fn folded_stacks_are_one_line_per_path_with_a_weight() {
    let mut out = Vec::new();
    write_folded(&[flame()], &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "main;a,b 5\nmain;a,b;kernel 7\nmain;c 2\nunlinked 1\n");
    let mut out = Vec::new();
    write_folded(&[flame(), flame()], &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().starts_with("rank 3;main;a,b 5\n"));
}

#[test]
fn every_frame_that_opens_closes_in_turn() {
    let mut out = Vec::new();
    write_speedscope(&[flame()], FlameUnit::Nanoseconds, &mut out).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(file["shared"]["frames"][1]["name"], "a;b");
    let profile = &file["profiles"][0];
    assert_eq!((profile["type"].as_str(), profile["endValue"].as_i64()), (Some("evented"), Some(15)));
    let mut open = Vec::new();
    let mut last = 0;
    for event in profile["events"].as_array().unwrap() {
        let (frame, at) = (event["frame"].as_i64().unwrap(), event["at"].as_i64().unwrap());
        assert!(at >= last);
        last = at;
        match event["type"].as_str() {
            Some("O") => open.push(frame),
            _ => assert_eq!(open.pop(), Some(frame)),
        }
    }
    assert!(open.is_empty());
}

mod drawn {
    use gpuscope_analysis::flame::{FlameAnswer, FlameNode, NodeKind, Paths, Weighed, Weight};
    use gpuscope_trace::Kind;

    use super::super::{Direction, FlameGraph, Order};

    fn node(name: &str, parent: Option<u32>, depth: u32, total_ns: i64, own_ns: i64) -> FlameNode {
        let kind = if own_ns > 0 { NodeKind::Kernel } else { NodeKind::Operator };
        let weight = Weighed::Time { total_ns, own_ns };
        let work = (own_ns > 0).then_some(Kind::Computation);
        FlameNode { name: name.to_owned(), kind, work, parent, depth, count: 1, weight, before: None }
    }

    fn answer() -> FlameAnswer {
        FlameAnswer {
            by: Weight::Gpu,
            paths: Paths::Operators,
            weight: Weighed::Time { total_ns: 100, own_ns: 0 },
            before: None,
            nodes: vec![
                node("light", None, 0, 25, 0),
                node("</script><b>&", Some(0), 1, 25, 25),
                node("heavy", None, 0, 75, 0),
                node("gemm", Some(2), 1, 75, 75),
            ],
        }
    }

    fn svg(direction: Direction, order: Order) -> String {
        let mut out = Vec::new();
        FlameGraph { answer: &answer(), title: "a < b", direction, order }.write_svg(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Where the box of a name is, and how wide.
    fn placed(svg: &str, name: &str) -> (String, String, String) {
        let after = svg.split(&format!("<title>{name}: ")).nth(1).unwrap();
        let value = |key: &str| {
            after.split(&format!(" {key}=\"")).nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        (value("x"), value("y"), value("width"))
    }

    fn at(x: &str, y: &str, width: &str) -> (String, String, String) {
        (x.to_owned(), y.to_owned(), width.to_owned())
    }

    #[test]
    fn a_box_is_as_wide_as_it_is_heavy_and_below_what_called_it() {
        let icicle = svg(Direction::Icicle, Order::Heavy);
        assert_eq!(placed(&icicle, "heavy"), at("10.00", "52", "899.50"));
        assert_eq!(placed(&icicle, "light"), at("910.00", "52", "299.50"));
        assert_eq!(placed(&icicle, "gemm"), at("10.00", "70", "899.50"));
        let flame = svg(Direction::Flame, Order::Time);
        assert_eq!(placed(&flame, "light"), at("10.00", "52", "299.50"));
        assert_eq!(placed(&flame, "gemm"), at("310.00", "34", "899.50"));
        assert!(icicle.contains("heavy: 75 ns (75.0 %), operator"), "{icicle}");
    }

    #[test]
    fn pixels_are_those_of_the_boxes() {
        let mut out = Vec::new();
        let (direction, order) = (Direction::Icicle, Order::Heavy);
        FlameGraph { answer: &answer(), title: "t", direction, order }.write_png(&mut out).unwrap();
        let image = resvg::tiny_skia::Pixmap::decode_png(&out).unwrap();
        // Two pixels for each unit; kernels are in the third row, below all and the operators.
        let compute = |x: u32| {
            let pixel = image.pixel(x, 2 * (34 + 2 * 18) + 4).unwrap();
            (pixel.red(), pixel.green(), pixel.blue()) == (0x00, 0x72, 0xB2)
        };
        let blue = (0..2440).filter(|x| compute(*x)).count();
        assert!((2380..=2400).contains(&blue), "{blue} of 2400");
        // Between the two kernels there is a gap, at three quarters.
        let border = 2 * (10 + 900);
        assert!(!compute(border - 1) && compute(border - 20) && compute(border + 10));
    }

    #[test]
    fn names_never_leave_their_place() {
        let svg = svg(Direction::Icicle, Order::Heavy);
        assert!(
            !svg.contains("</script>")
                && !svg.contains("<b>")
                && svg.contains("&lt;/script&gt;&lt;b&gt;&amp;")
        );
        let mut page = Vec::new();
        let (direction, order) = (Direction::Flame, Order::Time);
        let graph = FlameGraph { answer: &answer(), title: "</script><i>", direction, order };
        graph.write_page(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(!page.contains("<b>&") && !page.contains("<i>"));
        assert_eq!(page.matches("</script>").count(), 2, "the data and the script");
    }

    #[test]
    fn nothing_at_all_is_a_picture_too() {
        let nothing =
            FlameAnswer { nodes: Vec::new(), weight: Weighed::Time { total_ns: 0, own_ns: 0 }, ..answer() };
        let mut out = Vec::new();
        let (direction, order) = (Direction::Flame, Order::Time);
        FlameGraph { answer: &nothing, title: "", direction, order }.write_svg(&mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("all GPU work"));
    }
}
