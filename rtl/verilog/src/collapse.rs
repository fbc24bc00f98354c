//! Recognises modules that only pass their ports on to one submodule, and replaces them by the submodule.
//!
//! Such modules come from blocks that choose between two implementations when they are built. Leaving them out changes nothing in the
//! hardware and spares the reader a level of hierarchy.

/// The number of the child that can replace a module: the module has the child's ports, each connected to the port of the same name, and
/// nothing else. `child` gives the source of a shape.
pub(crate) fn stands_for<'a>(text: &str, child: impl Fn(usize) -> &'a str) -> Option<usize> {
    let (ports, body) = split(text)?;
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "endmodule");
    let mut number = None;
    let mut instance = String::new();
    let mut assigned = vec![];
    let mut connected = vec![];
    while let Some(line) = lines.next() {
        if let Some((output, wire)) =
            line.strip_prefix("assign ").and_then(|rest| rest.strip_suffix(';')?.split_once(" = "))
        {
            assigned.push((output.to_string(), wire.to_string()));
        } else if line.starts_with('\u{1}') {
            let mut parts = line.split('\u{1}').skip(1);
            if number.replace(parts.next()?.parse::<usize>().ok()?).is_some() {
                return None;
            }
            instance = parts.next()?.trim().strip_suffix('(')?.trim().to_string();
            for connection in lines.by_ref() {
                if connection == ");" {
                    break;
                }
                let pin = connection.trim_end_matches(',').strip_prefix('.')?;
                let (port, wire) = match pin.strip_suffix(')') {
                    Some(pin) => pin.split_once('(')?,
                    None => (pin, pin),
                };
                connected.push((port.to_string(), wire.to_string()));
            }
        } else if !(line.starts_with("logic ") && line.ends_with(';') && !line.contains('=')) {
            return None;
        }
    }
    let number = number?;
    let own_wire = |port: &str| format!("{instance}_{port}");
    let outputs = assigned.iter().all(|(output, wire)| *wire == own_wire(output));
    let through =
        connected.iter().all(|(port, wire)| wire == port || assigned.iter().any(|(o, w)| o == port && w == wire));
    (outputs && through && split(child(number))?.0 == ports).then_some(number)
}

/// Port list and body of a module's source.
fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once(" (\n")?.1.split_once("\n);\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: &str = "  input  logic       clock,\n  input  logic [3:0] a,\n  output logic [3:0] b";

    fn module(body: &str) -> String {
        format!("module \u{1}own\u{1} (\n{PORTS}\n);\n{body}endmodule\n")
    }

    #[test]
    fn only_a_plain_shell_is_recognised() {
        let child = module("  assign b = a;\n");
        let shell =
            "  logic [3:0] c_b;\n  assign b = c_b;\n  \u{1}7\u{1} c (\n    .clock,\n    .a,\n    .b(c_b)\n  );\n";
        let find = |text: &str| stands_for(text, |n| if n == 7 { &child } else { "" });
        assert_eq!(find(&module(shell)), Some(7));
        assert_eq!(find(&module(&shell.replace("b = c_b", "b = ~c_b"))), None);
        assert_eq!(find(&module(&shell.replace(".a,", ".a(c_b),"))), None);
        assert_eq!(find(&module(&shell.replace("[3:0] c_b", "[3:0] c_b = 0"))), None);
        assert_eq!(find(&module(&format!("{shell}{shell}"))), None);
        assert_eq!(find(&module(shell).replace("[3:0] b", "[4:0] b")), None);
    }
}
