//! Addresses of machines and numbers of devices, known by how they are written.

/// How long the address is that a text begins with, if it begins with one.
pub(super) fn at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let length = grouped(bytes, &[8, 4, 4, 4, 12], b"-")
        .or_else(|| grouped(bytes, &[2; 6], b":-"))
        .or_else(|| version_four(bytes))
        .or_else(|| version_six(bytes))?;
    let ends = bytes.get(length).is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte < 0x80);
    ends.then_some(length)
}

/// Groups of so many hexadecimal digits, as in a GPU's UUID and the address of a network card.
fn grouped(text: &[u8], lengths: &[usize], separators: &[u8]) -> Option<usize> {
    let mut at = 0;
    for (i, length) in lengths.iter().enumerate() {
        if i > 0 {
            separators.contains(text.get(at)?).then_some(())?;
            at += 1;
        }
        let group = text.get(at..at + length)?;
        group.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        at += length;
    }
    Some(at)
}

/// `10.0.12.7`
fn version_four(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for i in 0..4 {
        if i > 0 {
            (text.get(at) == Some(&b'.')).then_some(())?;
            at += 1;
        }
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number: u32 = std::str::from_utf8(&text[at..at + digits]).ok()?.parse().ok()?;
        (digits <= 3 && number < 256).then_some(())?;
        at += digits;
    }
    Some(at)
}

/// `fe80::1ff:fe23:4567:890a`
fn version_six(text: &[u8]) -> Option<usize> {
    let length = text.iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b':').count();
    let text = text.get(..length)?;
    let mut groups = text.split(|byte| *byte == b':');
    let colons = text.split(|byte| *byte == b':').count() - 1;
    let shortened = text.windows(2).any(|pair| pair == b"::");
    // The namespace of torch's core library looks like one.
    let is_address = groups.all(|group| group.len() <= 4)
        && text.iter().any(u8::is_ascii_digit)
        && (colons == 7 || shortened && colons >= 2 && !text.ends_with(b":"))
        && !text.starts_with(b"c10::");
    is_address.then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known_by_their_looks() {
        for text in [
            "10.0.12.7",
            "10.0.12.7:8080",
            "0a:1b:2c:3d:4e:5f",
            "0A-1B-2C-3D-4E-5F)",
            "1a2b3c4d-1111-2222-3333-123456789abc",
            "fe80::1ff:fe23:4567:890a",
            "2001:db8:0:0:0:0:2:1",
        ] {
            assert!(at(text).is_some(), "{text}");
        }
        for text in
            ["1.2.3", "300.1.1.1", "18:51:35 1102:1102", "c10::BFloat16", "at::native", "add::x", "12", ""]
        {
            assert_eq!(at(text), None, "{text}");
        }
    }
}
