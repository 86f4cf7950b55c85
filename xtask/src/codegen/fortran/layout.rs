//! The list as Fortran sees it: kinds, constants, and structures whose gaps are spelled out.

use crate::codegen::list::{Aggregate, Item, Section};
use anyhow::{Context, Result, bail};
use lapis_core::error::{ALIASES, CODES, CodeEntry, OWN_CODES};
use std::collections::{HashMap, HashSet};

/// Bytes of an address. Lapis runs on 64-bit machines.
const WORD: usize = 8;

/// Types of the system's headers that the guide names in Fortran, too (table 47).
const OF_THE_SYSTEM: [(&str, usize, &str); 2] = [
    ("in_addr_t", 4, "An IP address, in network byte order."),
    ("in_port_t", 2, "A UDP port, in network byte order."),
];

/// Everything but the calls, in the list's order.
pub(super) struct Model {
    pub(super) parts: Vec<Part>,
}

pub(super) struct Part {
    pub(super) title: String,
    pub(super) guide: String,
    pub(super) items: Vec<Declaration>,
}

pub(super) enum Declaration {
    /// A name for the kind of an integer.
    Kind {
        name: String,
        /// The type in C, where it is not that of a function.
        in_c: Option<String>,
        bytes: usize,
        doc: String,
    },
    Constant(Constant),
    Type(Type),
}

pub(super) struct Constant {
    pub(super) name: String,
    /// The kind where it isn't the default integer's.
    pub(super) kind: Option<&'static str>,
    pub(super) value: String,
    /// The same value in C, where case tells names apart and numbers may have no sign.
    pub(super) in_c: String,
    pub(super) doc: String,
}

/// A derived type.
pub(super) struct Type {
    pub(super) name: String,
    /// The C name: the Fortran name where there is none.
    pub(super) in_c: String,
    pub(super) doc: String,
    pub(super) fields: Vec<Field>,
}

pub(super) struct Field {
    pub(super) name: String,
    pub(super) of: FieldType,
    pub(super) length: Option<usize>,
    pub(super) doc: String,
    /// Fills a gap that C leaves.
    pub(super) pad: bool,
}

#[derive(Clone)]
pub(super) enum FieldType {
    /// An integer of so many bytes.
    Integer(usize),
    /// An address.
    Address,
    /// A derived type.
    Type(String),
}

#[derive(Clone)]
struct Known {
    of: FieldType,
    size: usize,
    align: usize,
}

impl Known {
    fn integer(bytes: usize) -> Self {
        Self { of: FieldType::Integer(bytes), size: bytes, align: bytes }
    }

    fn address() -> Self {
        Self { of: FieldType::Address, size: WORD, align: WORD }
    }
}

impl Model {
    pub(super) fn new(sections: &[Section]) -> Result<Self> {
        let (parts, _) = Builder::read(sections)?;
        Ok(Self { parts })
    }

    /// What `lapis.h` adds.
    pub(super) fn own(sections: &[Section], own: &[Section]) -> Result<Self> {
        let (_, mut builder) = Builder::read(sections)?;
        let mut parts = Vec::new();
        builder.sections(own, Vec::new(), &mut parts)?;
        Ok(Self { parts })
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Declaration> {
        self.parts.iter().flat_map(|part| &part.items)
    }

    /// Kinds of what has a size in C, and their C names.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.items().filter_map(|item| match item {
            Declaration::Kind { name, in_c: Some(in_c), .. } => Some((name.as_str(), in_c.as_str())),
            _ => None,
        })
    }

    pub(super) fn types(&self) -> impl Iterator<Item = &Type> {
        self.items().filter_map(|item| match item {
            Declaration::Type(of) => Some(of),
            _ => None,
        })
    }

    pub(super) fn constants(&self) -> impl Iterator<Item = &Constant> {
        self.items().filter_map(|item| match item {
            Declaration::Constant(constant) => Some(constant),
            _ => None,
        })
    }
}

impl Declaration {
    fn name(&self) -> &str {
        match self {
            Self::Kind { name, .. } => name,
            Self::Constant(constant) => &constant.name,
            Self::Type(of) => &of.name,
        }
    }
}

#[derive(Default)]
struct Builder {
    known: HashMap<String, Known>,
    declared: HashSet<String>,
}

impl Builder {
    /// What the sections of LAPI declare, and a builder that knows it.
    fn read(sections: &[Section]) -> Result<(Vec<Part>, Self)> {
        let (mut builder, mut parts, mut items) = (Self::default(), Vec::new(), Vec::new());
        for (name, bytes, doc) in OF_THE_SYSTEM {
            let known = Known::integer(bytes);
            builder.kind(name, &known, doc, &mut items);
            builder.known.insert(name.to_owned(), known);
        }
        builder.sections(sections, items, &mut parts)?;
        Ok((parts, builder))
    }

    /// Declares what sections have, behind what the first part begins with.
    fn sections(
        &mut self,
        sections: &[Section],
        mut items: Vec<Declaration>,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        for section in sections {
            for item in &section.items {
                self.declare(item, &mut items).with_context(|| format!("section `{}`", section.title))?;
            }
            // Fortran knows no case: what C tells apart by it is one name here.
            items.retain(|item| self.declared.insert(item.name().to_lowercase()));
            if !items.is_empty() {
                let items = std::mem::take(&mut items);
                parts.push(Part { title: section.title.clone(), guide: section.guide.clone(), items });
            }
        }
        Ok(())
    }

    fn declare(&mut self, item: &Item, out: &mut Vec<Declaration>) -> Result<()> {
        match item {
            Item::Typedef(item) => {
                let known = self.lookup(&item.of)?;
                self.kind(&item.name, &known, &item.doc, out);
                self.known.insert(item.name.clone(), known);
            }
            Item::Enum(item) => {
                let known = Known::integer(4);
                for name in [Some(&item.name), item.alias.as_ref()].into_iter().flatten() {
                    self.known.insert(name.clone(), known.clone());
                }
                // The guide's LAPI_MSGPOLL takes a structure by the name of this enumeration.
                if item.name != "lapi_msg_state_t" {
                    self.kind(&item.name, &known, &item.doc, out);
                }
                for (name, value, doc) in &item.values {
                    out.push(constant(name, None, value.clone(), doc));
                }
            }
            Item::Define(item) => {
                if let Some(value) = &item.value {
                    let (kind, value) = self.value(value, &item.rust)?;
                    out.push(constant(&item.name, kind, value, &item.doc));
                }
            }
            Item::Handler(item) => {
                let known = Known::address();
                if item.name.to_lowercase().ends_with("_t") {
                    let (name, doc) = (item.name.to_uppercase(), item.doc.clone());
                    out.push(Declaration::Kind { name, in_c: None, bytes: known.size, doc });
                }
                self.known.insert(item.name.clone(), known);
            }
            Item::Struct(item) => {
                let of = self.aggregate(item)?;
                if item.name == "lapi_msg_info_t" {
                    let mut again = self.aggregate(item)?;
                    again.name = "LAPI_MSG_STATE_T".to_owned();
                    "The same, under the name that the guide's LAPI_MSGPOLL uses.".clone_into(&mut again.doc);
                    out.push(Declaration::Type(of));
                    out.push(Declaration::Type(again));
                } else {
                    out.push(Declaration::Type(of));
                }
            }
            Item::Codes {} => {
                out.extend(codes(CODES));
                for (alias, code) in ALIASES {
                    out.push(constant(alias, None, code.name().to_owned(), "Another name."));
                }
            }
            Item::OwnCodes {} => out.extend(codes(OWN_CODES)),
            // Fortran has no unions: a call takes whichever structure it is given.
            Item::Union(_) | Item::Call(_) => {}
        }
        Ok(())
    }

    fn kind(&self, name: &str, known: &Known, doc: &str, out: &mut Vec<Declaration>) {
        let in_c = Some(name.to_owned());
        out.push(Declaration::Kind {
            name: name.to_uppercase(),
            in_c,
            bytes: known.size,
            doc: doc.to_owned(),
        });
    }

    fn lookup(&self, of: &str) -> Result<Known> {
        Ok(match of {
            _ if of.ends_with('*') => Known::address(),
            "int" | "uint" => Known::integer(4),
            "long" | "ulong" | "pthread_t" => Known::address(),
            "unsigned long long" | "long long" => Known::integer(8),
            name => match self.known.get(name) {
                Some(known) => known.clone(),
                None => bail!("`{name}` is not declared before its first use"),
            },
        })
    }

    fn aggregate(&mut self, item: &Aggregate) -> Result<Type> {
        let (mut fields, mut end, mut align, mut pads) = (Vec::new(), 0_usize, 1, 0);
        for field in &item.fields {
            let known = self.lookup(&field.of)?;
            let offset = end.next_multiple_of(known.align);
            fill(&mut fields, &mut pads, end, offset)?;
            end = offset + known.size * field.length.unwrap_or(1);
            align = align.max(known.align);
            fields.push(Field {
                name: field.name.clone(),
                of: known.of,
                length: field.length,
                doc: field.doc.clone(),
                pad: false,
            });
        }
        let size = end.next_multiple_of(align);
        fill(&mut fields, &mut pads, end, size)?;
        let name = item.name.to_uppercase();
        let known = Known { of: FieldType::Type(name.clone()), size, align };
        self.known.insert(item.name.clone(), known);
        Ok(Type { name, in_c: item.name.clone(), doc: item.doc.clone(), fields })
    }

    /// The kind and the value of a constant that the list writes in Rust.
    fn value(&self, value: &str, of: &str) -> Result<(Option<&'static str>, String)> {
        if let Some(size) = value.strip_prefix("(size_of::<") {
            let name = size.split_once('>').map_or(size, |(name, _)| name);
            return Ok((None, (self.lookup(name)?.size / 4).to_string()));
        }
        if let Some(hex) = value.strip_prefix("0x") {
            // Fortran's integers have signs: the same bits may be another number.
            let bits = u32::from_str_radix(&hex.replace('_', ""), 16)?;
            return Ok((None, bits.cast_signed().to_string()));
        }
        Ok(match (of, value) {
            ("c_ulong", "c_ulong::MAX >> 1") => (Some("LAPI_LONG_TYPE"), "HUGE(0_LAPI_LONG_TYPE)".to_owned()),
            ("pthread_t", _) => (Some("LAPI_LONG_TYPE"), value.to_owned()),
            _ if value.contains("::") => bail!("no rule for the value `{value}` of type `{of}` in Fortran"),
            _ => (None, value.to_owned()),
        })
    }
}

fn codes(table: &[CodeEntry]) -> impl Iterator<Item = Declaration> {
    table.iter().map(|entry| constant(entry.name, None, entry.code.value().to_string(), entry.text))
}

fn constant(name: &str, kind: Option<&'static str>, value: String, doc: &str) -> Declaration {
    let in_c = if value.starts_with('-') { format!("(int){name}") } else { name.to_owned() };
    Declaration::Constant(Constant { name: name.to_uppercase(), kind, value, in_c, doc: doc.to_owned() })
}

/// Spells out the gap between two offsets: `pad`, `pad2`, ... as in tables 24 to 31.
fn fill(fields: &mut Vec<Field>, pads: &mut usize, from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let bytes = to - from;
    if !matches!(bytes, 2 | 4) {
        bail!("no rule for a gap of {bytes} bytes");
    }
    *pads += 1;
    let name = if *pads == 1 { "pad".to_owned() } else { format!("pad{pads}") };
    fields.push(Field {
        name,
        of: FieldType::Integer(bytes),
        length: None,
        doc: "fills a gap".to_owned(),
        pad: true,
    });
    Ok(())
}
