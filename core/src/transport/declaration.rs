//! What a transport declares before it is opened: its cost, when it is used, and its own variables.
//! Its capability bits say which peers it reaches.
//!
//! A declaration is a constant beside the transport. It crosses the plugin border in the table
//! ([`RawDeclaration`]), so that core and `lapis-info` read it from any plugin. The program tells
//! core of [`Known`] ones, so that their plugins may be loaded without being named.

use super::abi::{RawDeclaration, RawText, RawVariable, declared};
use super::types::Caps;
use crate::code::LapiCode;
use crate::config::{Group, Kind, LAUNCHER_PREFIX, Unit, VARIABLES, Variable};

/// The maximum number of variables of a transport.
const MOST: u32 = 64;
/// Longest text of a declaration, in bytes.
const LONGEST: usize = 4096;

/// The declaration of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The time of a short message from task to task under good conditions, in nanoseconds. Of two
    /// transports that reach a task, the cheaper one is used.
    pub cost_ns: u32,
    /// When it is used without being named.
    pub usage: Usage,
    /// Its own variables. Their kinds are [`Kind::Number`] (nothing raised), [`Kind::Bool`],
    /// [`Kind::Words`] and [`Kind::Text`]; their group is [`Group::Transport`].
    pub variables: &'static [Variable],
}

impl Declaration {
    /// The default, of a transport that declares nothing: it is used only if it is named.
    pub const NONE: Self = Self { cost_ns: u32::MAX, usage: Usage::Named, variables: &[] };
}

/// When a transport is used without being named. The one from a task to itself always is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Always, for the peers that it reaches.
    Always = 0,
    /// With MP_EUILIB=ip, which is the default.
    Ip = 1,
    /// With MP_EUILIB=us.
    UserSpace = 2,
    /// Never.
    Named = 3,
}

/// The peers that a transport reaches, by its capability bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The task itself.
    Itself,
    /// Tasks of the same machine.
    Host,
    /// Tasks anywhere.
    Network,
}

impl Reach {
    /// The reach that the bits express.
    pub fn of(caps: Caps) -> Self {
        if caps.contains(Caps::SELF_ONLY) {
            Self::Itself
        } else if caps.contains(Caps::LOCAL_ONLY) {
            Self::Host
        } else {
            Self::Network
        }
    }
}

/// A transport that a program knows before its plugin is loaded. Only known transports and those
/// that the user names are loaded from the search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// The peers that it reaches.
    pub reach: Reach,
    /// Its declaration.
    pub declaration: Declaration,
}

/// The variables in the form of the ABI. A kind without one is a compile-time error in a constant.
pub const fn raw_variables<const N: usize>(variables: &'static [Variable]) -> [RawVariable; N] {
    const NOTHING: RawVariable = RawVariable {
        name: ABSENT,
        default_value: ABSENT,
        help: ABSENT,
        more: ABSENT,
        source: ABSENT,
        words: ABSENT,
        min: 0,
        max: 0,
        kind: declared::TEXT,
        unit: declared::COUNT,
        code: 0,
        reserved: 0,
    };
    let mut all = [NOTHING; N];
    let mut at = 0;
    while at < N {
        all[at] = raw_variable(&variables[at], NOTHING);
        at += 1;
    }
    all
}

/// The declaration in the form of the ABI.
pub const fn raw_declaration(of: &Declaration, variables: &'static [RawVariable]) -> RawDeclaration {
    RawDeclaration {
        struct_size: size_of::<RawDeclaration>() as u32,
        variable_size: size_of::<RawVariable>() as u32,
        cost_ns: of.cost_ns,
        usage: of.usage as u32,
        variables: variables.as_ptr(),
        count: variables.len() as u32,
        reserved: 0,
    }
}

const fn raw_variable(of: &Variable, nothing: RawVariable) -> RawVariable {
    let raw = RawVariable {
        name: text(of.name),
        default_value: match of.default {
            Some(default) => text(default),
            None => ABSENT,
        },
        help: text(of.help),
        more: text(of.more),
        source: text(of.source),
        code: of.code.value(),
        ..nothing
    };
    match of.kind {
        Kind::Number { unit, min, max, raise: false } => {
            RawVariable { kind: declared::NUMBER, unit: raw_unit(unit), min, max, ..raw }
        }
        Kind::Bool => RawVariable { kind: declared::YES_NO, ..raw },
        Kind::Words(words) => RawVariable { kind: declared::WORDS, words: text(words), ..raw },
        Kind::Text => raw,
        _ => panic!("a transport's variable is a number, yes or no, one of some words, or text"),
    }
}

const fn raw_unit(unit: Unit) -> u32 {
    match unit {
        Unit::Bytes => declared::BYTES,
        Unit::Count => declared::COUNT,
        Unit::Seconds => declared::SECONDS,
        Unit::Microseconds => declared::MICROSECONDS,
    }
}

const ABSENT: RawText = RawText { ptr: std::ptr::null(), len: 0 };

const fn text(text: &'static str) -> RawText {
    RawText { ptr: text.as_ptr(), len: text.len() }
}

/// A declaration read from the ABI.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) cost_ns: u32,
    pub(super) usage: Usage,
    pub(super) variables: Vec<Variable>,
}

/// Reads and checks a declaration. The error says what is wrong.
///
/// # Safety
/// `raw` is null or points to a declaration as long as it says, with as many variables as it says,
/// whose texts are as long as they say; all of it static.
pub(super) unsafe fn read(
    transport: &'static str,
    raw: *const RawDeclaration,
) -> Result<Option<Declared>, String> {
    if raw.is_null() {
        return Ok(None);
    }
    if !raw.is_aligned() {
        return Err(format!("it lies at {:#x}, which is not aligned", raw.addr()));
    }
    // SAFETY: not null and aligned; the caller promises a declaration, whose first word is there in
    // every version.
    let size = unsafe { (*raw).struct_size };
    if (size as usize) < size_of::<RawDeclaration>() {
        return Err(format!("it has {size} bytes, ABI 1.4 needs {}", size_of::<RawDeclaration>()));
    }
    // SAFETY: it says that it has at least the bytes of minor 4.
    let RawDeclaration { variable_size, cost_ns, usage, variables, count, .. } = unsafe { *raw };
    let step = variable_size as usize;
    let odd = !step.is_multiple_of(align_of::<RawVariable>()) || !variables.is_aligned();
    if count > 0 && (step < size_of::<RawVariable>() || odd || variables.is_null()) {
        let least = size_of::<RawVariable>();
        return Err(format!("its variables have {step} bytes each; ABI 1.4 needs at least {least}, aligned"));
    }
    if count > MOST {
        return Err(format!("{count} variables; {MOST} are the limit"));
    }
    let mut list: Vec<Variable> = Vec::new();
    for at in 0..count as usize {
        // SAFETY: a declaration has `count` variables of `variable_size` bytes each.
        let raw = unsafe { *variables.byte_add(at * step) };
        // SAFETY: a declaration's texts are static, and as long as they say.
        let variable =
            unsafe { variable(transport, &raw) }.map_err(|why| format!("variable {}: {why}", at + 1))?;
        if list.iter().any(|other| other.name == variable.name) {
            return Err(format!("{} is declared twice", variable.name));
        }
        list.push(variable);
    }
    Ok(Some(Declared { cost_ns, usage: usage_of(usage), variables: list }))
}

/// A usage of a later minor counts as "only if named".
fn usage_of(number: u32) -> Usage {
    [Usage::Always, Usage::Ip, Usage::UserSpace]
        .into_iter()
        .find(|usage| *usage as u32 == number)
        .unwrap_or(Usage::Named)
}

/// # Safety
/// The texts are static and as long as they say.
unsafe fn variable(transport: &'static str, raw: &RawVariable) -> Result<Variable, String> {
    // SAFETY: the caller promises texts that are static and as long as they say.
    let read = |of: RawText, what| unsafe { static_text(of) }.map_err(|why| format!("its {what} {why}"));
    let name = read(raw.name, "name")?.unwrap_or_default();
    check_name(name)?;
    let said = |why: String| format!("{name}: {why}");
    let unit = match raw.unit {
        declared::BYTES => Unit::Bytes,
        declared::SECONDS => Unit::Seconds,
        declared::MICROSECONDS => Unit::Microseconds,
        _ => Unit::Count,
    };
    let kind = match raw.kind {
        declared::NUMBER if raw.min > raw.max => {
            return Err(said(format!("its smallest value {} exceeds its largest {}", raw.min, raw.max)));
        }
        declared::NUMBER => Kind::Number { unit, min: raw.min, max: raw.max, raise: false },
        declared::YES_NO => Kind::Bool,
        declared::WORDS => {
            let words = read(raw.words, "words").map_err(said)?.unwrap_or_default();
            if words.split('|').any(|word| word.trim().is_empty()) {
                return Err(said("a word that it takes is empty".to_owned()));
            }
            Kind::Words(words)
        }
        _ => Kind::Text,
    };
    let default = read(raw.default_value, "default").map_err(said)?;
    if let Some(text) = default {
        kind.parse(text).map_err(|why| said(format!("its default `{text}`: {why}")))?;
    }
    let help = read(raw.help, "help").map_err(said)?.unwrap_or_default();
    if help.is_empty() {
        return Err(said("it has no help".to_owned()));
    }
    Ok(Variable {
        name,
        group: Group::Transport(transport),
        kind,
        default,
        help,
        more: read(raw.more, "text").map_err(said)?.unwrap_or_default(),
        source: read(raw.source, "source").map_err(said)?.unwrap_or_default(),
        code: LapiCode::from_i32(raw.code).filter(|code| code.value() != 0).unwrap_or(LapiCode::ERR_SET_VAL),
    })
}

/// A transport's variables must not have the names of others.
fn check_name(name: &str) -> Result<(), String> {
    let letters = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if !(2..=64).contains(&name.len())
        || !name.as_bytes()[0].is_ascii_uppercase()
        || !name.bytes().all(letters)
    {
        return Err(format!("`{name}` is not a name of 2 to 64 capital letters, digits and underlines"));
    }
    if VARIABLES.iter().any(|known| known.name == name) || name.starts_with(LAUNCHER_PREFIX) {
        return Err(format!("{name} is core's"));
    }
    Ok(())
}

/// # Safety
/// The text is static and as long as it says.
unsafe fn static_text(raw: RawText) -> Result<Option<&'static str>, String> {
    if raw.ptr.is_null() {
        return Ok(None);
    }
    if raw.len > LONGEST {
        return Err(format!("has {} bytes; {LONGEST} are the limit", raw.len));
    }
    // SAFETY: not null; the caller promises a static text of this length.
    let bytes = unsafe { std::slice::from_raw_parts(raw.ptr, raw.len) };
    std::str::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAP: Variable = Variable {
        name: "LAPIS_ZOO_HEAP",
        group: Group::Transport("zoo"),
        kind: Kind::Number { unit: Unit::Bytes, min: 4096, max: 1 << 30, raise: false },
        default: Some("1M"),
        help: "How much memory",
        more: "More or less.",
        source: "Lapis",
        code: LapiCode::ERR_UDP_PKT_SZ,
    };
    const COPY: Variable = Variable {
        name: "LAPIS_ZOO_COPY",
        kind: Kind::Words("auto|never"),
        default: None,
        more: "",
        code: LapiCode::ERR_SET_VAL,
        ..HEAP
    };
    static RAW: [RawVariable; 2] = raw_variables(&[HEAP, COPY]);

    fn declaration(variables: &'static [RawVariable]) -> RawDeclaration {
        let all = Declaration { cost_ns: 250, usage: Usage::Ip, variables: &[] };
        raw_declaration(&all, variables)
    }

    fn refused(variables: &'static [RawVariable], change: impl Fn(&mut RawDeclaration)) -> String {
        let mut raw = declaration(variables);
        change(&mut raw);
        // SAFETY: what it points to is static and as long as it says, or refused by its length.
        unsafe { read("zoo", &raw) }.expect_err("it is wrong")
    }

    #[test]
    fn what_crosses_the_border_comes_back() {
        // SAFETY: a declaration of this build.
        let read = unsafe { read("zoo", &declaration(&RAW)) }.expect("good").expect("there");
        assert_eq!((read.cost_ns, read.usage, &read.variables[..]), (250, Usage::Ip, &[HEAP, COPY][..]));
    }

    #[test]
    fn later_versions_may_append_to_both_structs() {
        #[repr(C)]
        struct Longer(RawVariable, u64);
        static LONGER: [Longer; 2] = [Longer(RAW_HEAP, 1), Longer(RAW_COPY, 2)];
        const RAW_HEAP: RawVariable = raw_variables::<1>(&[HEAP])[0];
        const RAW_COPY: RawVariable = raw_variables::<1>(&[COPY])[0];
        let mut raw = declaration(&[]);
        raw.struct_size += 8;
        raw.variable_size += 8;
        (raw.variables, raw.count, raw.usage) = (LONGER.as_ptr().cast(), 2, 77);
        // SAFETY: as long as it says.
        let read = unsafe { read("zoo", &raw) }.expect("good").expect("there");
        assert_eq!((read.usage, &read.variables[..]), (Usage::Named, &[HEAP, COPY][..]));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let says = |text: String, part: &str| assert!(text.contains(part), "{text}");
        says(refused(&RAW, |raw| raw.struct_size = 8), "it has 8 bytes");
        says(refused(&RAW, |raw| raw.variable_size = 16), "16 bytes each");
        says(refused(&RAW, |raw| raw.count = 65), "65 variables");
        says(refused(&RAW, |raw| raw.variables = std::ptr::null()), "bytes each");
        static TWICE: [RawVariable; 2] = raw_variables(&[HEAP, HEAP]);
        says(refused(&TWICE, |_| ()), "LAPIS_ZOO_HEAP is declared twice");
        static CORES: [RawVariable; 1] = raw_variables(&[Variable { name: "LAPIS_SPIN_US", ..HEAP }]);
        says(refused(&CORES, |_| ()), "LAPIS_SPIN_US is core's");
        static BAD_NAME: [RawVariable; 1] = raw_variables(&[Variable { name: "lapis heap", ..HEAP }]);
        says(refused(&BAD_NAME, |_| ()), "`lapis heap` is not a name");
        static BAD_DEFAULT: [RawVariable; 1] = raw_variables(&[Variable { default: Some("1K"), ..HEAP }]);
        says(refused(&BAD_DEFAULT, |_| ()), "LAPIS_ZOO_HEAP: its default `1K`: the value is too small");
        static NO_HELP: [RawVariable; 1] = raw_variables(&[Variable { help: "", ..HEAP }]);
        says(refused(&NO_HELP, |_| ()), "LAPIS_ZOO_HEAP: it has no help");
        static NO_WORD: [RawVariable; 1] = raw_variables(&[Variable { kind: Kind::Words("a||b"), ..HEAP }]);
        says(refused(&NO_WORD, |_| ()), "a word that it takes is empty");
        const REVERSED: Kind = Kind::Number { unit: Unit::Count, min: 2, max: 1, raise: false };
        static UPSIDE_DOWN: [RawVariable; 1] = raw_variables(&[Variable { kind: REVERSED, ..HEAP }]);
        says(refused(&UPSIDE_DOWN, |_| ()), "its smallest value 2 exceeds its largest 1");
    }
}
