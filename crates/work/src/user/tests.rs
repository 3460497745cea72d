use crate::{Call, Engine, Models, Precision};

const GEMM: &str = r#"
[[model]]
name = "mylib::fused_gemm"
category = "GEMM"
flops = "2*M*N*K"
bytes = "(M*K + K*N + M*N) * b"
with = { M = "dim(0, 0)", K = "dim(0, 1)", N = "dim(1, 0)", b = "width(0)" }

[[model]]
pattern = "mylib::linear_v[0-9]+"
like = "aten::addmm"
arguments = [2, 0, 1]

[[model]]
name = "aten::silu"
category = "activation"
engine = "vector"
precision = "fp32"
flops = "4 * n"
with = { n = "numel(0)", unused = "dim(9, 9)" }
"#;

fn call<'a>(name: &'a str, dims: &'a str) -> Call<'a> {
    Call { name, dims, types: r#"["c10::Half", "c10::Half", "c10::Half"]"#, ..Call::default() }
}

#[test]
fn formulas_count() {
    let models = Models::with_user(GEMM).unwrap();
    let model = models.find("mylib::fused_gemm").unwrap();
    let work = model.work(&call("mylib::fused_gemm", "[[16, 32], [8, 32]]")).unwrap();
    assert_eq!(model.category(), "GEMM");
    assert_eq!((work.flops, work.bytes), (2 * 16 * 8 * 32, Some(2 * (16 * 32 + 32 * 8 + 16 * 8))));
    assert_eq!((work.engine, work.precision), (Engine::Matrix, Some(Precision::Fp16)));
    assert_eq!(work.params.get("N"), Some(8));
    assert_eq!(model.work(&call("mylib::fused_gemm", "[[16], [8, 32]]")), None);
}

#[test]
fn an_operator_may_be_like_another() {
    let models = Models::with_user(GEMM).unwrap();
    let linear = models.find("mylib::linear_v12").unwrap();
    let work = linear.work(&call("mylib::linear_v12", "[[4, 8], [8, 16], [16]]")).unwrap();
    let addmm = Models::built_in().find("aten::addmm").unwrap();
    assert_eq!(Some(work), addmm.work(&call("aten::addmm", "[[16], [4, 8], [8, 16]]")));
    assert_eq!(linear.category(), "GEMM");
    assert!(models.find("mylib::linear_v").is_none(), "patterns match whole names");
    assert!(models.find("my::mylib::linear_v1").is_none());
}

#[test]
fn the_user_comes_first_and_the_rest_remains() {
    let models = Models::with_user(GEMM).unwrap();
    let silu = models.find("aten::silu").unwrap().work(&call("aten::silu", "[[10]]")).unwrap();
    assert_eq!((silu.flops, silu.bytes, silu.precision), (40, None, Some(Precision::Fp32)));
    assert_eq!(models.category("aten::silu", None), "activation");
    assert_eq!(models.category("aten::mm", None), "GEMM");
    assert!(models.find("aten::mm").is_some());
    assert!(Models::with_user("").unwrap().find("aten::mm").is_some());
}

#[test]
fn definitions_may_come_in_any_order() {
    let text = "[[model]]\nname = 'a'\nflops = 'a'\nwith = { a = 'b + b', b = 'c + c', c = 'd', d = '1' }";
    let models = Models::with_user(text).unwrap();
    assert_eq!(models.find("a").unwrap().work(&Call::default()).unwrap().flops, 4);
}

#[test]
fn negative_and_endless_counts_are_absent() {
    let text = "[[model]]\nname = 'a'\nflops = '1 - 2'\n[[model]]\nname = 'b'\nflops = '1'\nbytes = '0 - 1'";
    let models = Models::with_user(text).unwrap();
    assert_eq!(models.find("a").unwrap().work(&Call::default()), None);
    assert_eq!(models.find("b").unwrap().work(&Call::default()).unwrap().bytes, None);
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, line, part) in [
        ("[[model]]\nname = 'a'\nflops = '2*Q'", 3, "nothing is called `Q`"),
        ("[[model]]\nname = 'a'\nflops = '1'\nwith = { M = 'dim(0)' }", 4, "takes 2 arguments"),
        ("[[model]]\nname = 'a'\nflops = '1'\nwith = { M = 'N', N = 'M' }", 4, "`M` is defined by itself"),
        ("\n[[model]]\nname = 'a'", 2, "needs `flops`"),
        ("[[model]]\nflops = '1'", 1, "either `name` or `pattern`"),
        ("[[model]]\npattern = '('\nflops = '1'", 2, "is no pattern"),
        ("[[model]]\nname = 'a'\nlike = 'aten::nothing'", 1, "`aten::nothing` has no model"),
        ("[[model]]\nname = 'a'\nlike = 'aten::mm'\nflops = '1'", 1, "either `like` or formulas"),
        ("[[model]]\nname = 'a'\nflops = '1'\narguments = [1]", 1, "goes with `like`"),
        ("[[model]]\nname = 'a'\nflops = '1'\nengine = 'fast'", 4, "no engine"),
        ("[[model]]\nname = 'a'\nflops = '1'\nprecision = 'fp7'", 4, "no precision"),
        ("[[model]]\nname = 'a'\nflop = '1'", 3, "unknown field `flop`"),
        ("[[model]\nname = 'a'", 1, ""),
    ] {
        let error = Models::with_user(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}
