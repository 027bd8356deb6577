//! Which settings does a GGUF file hold?
//!
//! Keys and typed values in the order of the file. A key occurs once. [`Kind`] has one row a type of value.

use std::collections::BTreeMap;

use super::cursor::Cursor;
use crate::error::{Error, ErrorKind, Result, fail};

/// Arrays in arrays in ... to this depth; no writer goes beyond 2.
const DEPTH_MAX: usize = 8;

/// A value's type, with the number that files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Kind {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

/// The types whose values are numbers, and the width of each.
macro_rules! for_numbers {
    ($apply:ident) => {
        $apply! { U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, F32 f32, U64 u64, I64 i64, F64 f64 }
    };
}

macro_rules! define_values {
    ($($kind:ident $number:ty),*) => {
        /// A setting.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "the names are the types")]
        pub enum Value {
            $($kind($number),)*
            Bool(bool),
            String(String),
            Array(Array),
        }

        /// Many values of one type.
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "the names are the types")]
        pub enum Array {
            $($kind(Vec<$number>),)*
            Bool(Vec<bool>),
            String(Vec<String>),
            Array(Vec<Array>),
        }

        impl Value {
            /// The value's type.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Value::$kind(_) => Kind::$kind,)*
                    Value::Bool(_) => Kind::Bool,
                    Value::String(_) => Kind::String,
                    Value::Array(_) => Kind::Array,
                }
            }

            /// The value as a number, `None` for other types. Whole numbers beyond 2^53 lose their lowest bits.
            pub fn as_f64(&self) -> Option<f64> {
                match self {
                    $(Value::$kind(n) => Some(*n as f64),)*
                    _ => None,
                }
            }

            fn read(kind: Kind, cursor: &mut Cursor<'_>) -> Result<Value> {
                Ok(match kind {
                    $(Kind::$kind => Value::$kind(<$number>::from_le_bytes(cursor.take()?)),)*
                    Kind::Bool => Value::Bool(read_bool(cursor)?),
                    Kind::String => Value::String(cursor.string()?),
                    Kind::Array => Value::Array(Array::read(cursor, 1)?),
                })
            }

            /// The bytes of the value, without its type.
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(Value::$kind(n) => out.extend(n.to_le_bytes()),)*
                    Value::Bool(b) => out.push(u8::from(*b)),
                    Value::String(s) => write_string(s, out),
                    Value::Array(a) => a.write(out),
                }
            }
        }

        impl Array {
            /// The items' type.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Array::$kind(_) => Kind::$kind,)*
                    Array::Bool(_) => Kind::Bool,
                    Array::String(_) => Kind::String,
                    Array::Array(_) => Kind::Array,
                }
            }

            /// How many items there are.
            pub fn len(&self) -> usize {
                match self {
                    $(Array::$kind(items) => items.len(),)*
                    Array::Bool(items) => items.len(),
                    Array::String(items) => items.len(),
                    Array::Array(items) => items.len(),
                }
            }

            /// The items as numbers, `None` for other types.
            pub fn numbers(&self) -> Option<Vec<f64>> {
                match self {
                    $(Array::$kind(items) => Some(items.iter().map(|n| *n as f64).collect()),)*
                    _ => None,
                }
            }

            fn read(cursor: &mut Cursor<'_>, depth: usize) -> Result<Array> {
                if depth > DEPTH_MAX {
                    return fail(ErrorKind::InvalidFile, format!("arrays in arrays more than {DEPTH_MAX} deep; the file is damaged"));
                }
                let kind = Kind::read(cursor)?;
                let len = cursor.count(kind.least_bytes(), "an array of", "items")?;
                Ok(match kind {
                    $(Kind::$kind => Array::$kind(many(len, || Ok(<$number>::from_le_bytes(cursor.take()?)))?),)*
                    Kind::Bool => Array::Bool(many(len, || read_bool(cursor))?),
                    Kind::String => Array::String(many(len, || cursor.string())?),
                    Kind::Array => Array::Array(many(len, || Array::read(cursor, depth + 1))?),
                })
            }

            fn write(&self, out: &mut Vec<u8>) {
                out.extend((self.kind() as u32).to_le_bytes());
                out.extend((self.len() as u64).to_le_bytes());
                match self {
                    $(Array::$kind(items) => items.iter().for_each(|n| out.extend(n.to_le_bytes())),)*
                    Array::Bool(items) => items.iter().for_each(|b| out.push(u8::from(*b))),
                    Array::String(items) => items.iter().for_each(|s| write_string(s, out)),
                    Array::Array(items) => items.iter().for_each(|a| a.write(out)),
                }
            }
        }

        impl Kind {
            /// The fewest bytes that a value takes.
            fn least_bytes(self) -> usize {
                match self {
                    $(Kind::$kind => size_of::<$number>(),)*
                    Kind::Bool => 1,
                    Kind::String => 8,
                    Kind::Array => 12,
                }
            }
        }
    };
}

for_numbers!(define_values);

fn many<T>(len: usize, item: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
    std::iter::repeat_with(item).take(len).collect()
}

fn read_bool(cursor: &mut Cursor<'_>) -> Result<bool> {
    match cursor.take()? {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => fail(ErrorKind::InvalidFile, format!("{other} stands for true or false; expected 1 or 0")),
    }
}

pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::U8,
        Kind::I8,
        Kind::U16,
        Kind::I16,
        Kind::U32,
        Kind::I32,
        Kind::F32,
        Kind::Bool,
        Kind::String,
        Kind::Array,
        Kind::U64,
        Kind::I64,
        Kind::F64,
    ];

    fn read(cursor: &mut Cursor<'_>) -> Result<Kind> {
        let number = cursor.u32()?;
        match Self::ALL.get(number as usize) {
            Some(kind) => Ok(*kind),
            None => fail(ErrorKind::InvalidFile, format!("values of type {number} are unknown; the types are 0 to 12")),
        }
    }
}

impl Array {
    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Settings by key, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
    places: BTreeMap<String, usize>,
}

impl Metadata {
    /// Reads `count` settings.
    pub(super) fn read(count: usize, cursor: &mut Cursor<'_>) -> Result<Metadata> {
        let mut read = Metadata::default();
        for index in 0..count {
            let key = cursor.string().map_err(|e| e.within(format!("setting {index}")))?;
            let value = Kind::read(cursor).and_then(|kind| Value::read(kind, cursor)).map_err(|e| e.within(format!("setting {key:?}")))?;
            if read.get(&key).is_some() {
                return fail(ErrorKind::InvalidFile, format!("setting {key:?} occurs twice"));
            }
            read.set(key, value);
        }
        Ok(read)
    }

    /// Adds a setting, or replaces the one of that key in its place.
    pub fn set(&mut self, key: impl Into<String>, value: Value) {
        let key = key.into();
        match self.places.get(&key) {
            Some(place) => self.entries[*place].1 = value,
            None => {
                self.places.insert(key.clone(), self.entries.len());
                self.entries.push((key, value));
            }
        }
    }

    /// Removes the settings whose keys `unwanted` says.
    pub fn remove(&mut self, unwanted: impl Fn(&str) -> bool) {
        self.entries.retain(|(key, _)| !unwanted(key));
        self.places = self.entries.iter().enumerate().map(|(i, (key, _))| (key.clone(), i)).collect();
    }

    /// The setting of that key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.places.get(key).map(|place| &self.entries[*place].1)
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The bytes that settings have in a file, of those whose keys are `wanted`.
    pub(in super::super) fn encode(&self, wanted: impl Fn(&str) -> bool, out: &mut Vec<u8>) {
        for (key, value) in self.iter().filter(|(key, _)| wanted(key)) {
            write_string(key, out);
            out.extend((value.kind() as u32).to_le_bytes());
            value.write(out);
        }
    }

    /// How many settings there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A string, `None` where there is no such key.
    ///
    /// # Errors
    /// `InvalidFile` when the value is of another type; so for the other getters.
    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        self.typed(key, "a string", |v| if let Value::String(s) = v { Some(s.as_str()) } else { None })
    }

    /// True or false.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "true or false", |v| if let Value::Bool(b) = v { Some(*b) } else { None })
    }

    /// A whole number from 0, of any integer type.
    pub fn count(&self, key: &str) -> Result<Option<u64>> {
        self.typed(key, "a whole number from 0", |v| match *v {
            Value::U8(n) => Some(n.into()),
            Value::U16(n) => Some(n.into()),
            Value::U32(n) => Some(n.into()),
            Value::U64(n) => Some(n),
            Value::I8(n) => n.try_into().ok(),
            Value::I16(n) => n.try_into().ok(),
            Value::I32(n) => n.try_into().ok(),
            Value::I64(n) => n.try_into().ok(),
            _ => None,
        })
    }

    /// A number of any type.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        self.typed(key, "a number", Value::as_f64)
    }

    /// An array of strings.
    pub fn texts(&self, key: &str) -> Result<Option<&[String]>> {
        self.typed(key, "an array of strings", |v| match v {
            Value::Array(Array::String(items)) => Some(items.as_slice()),
            // The type of an empty array says nothing.
            Value::Array(a) if a.is_empty() => Some([].as_slice()),
            _ => None,
        })
    }

    /// An array of numbers of any type.
    pub fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>> {
        self.typed(key, "an array of numbers", |v| if let Value::Array(a) = v { a.numbers() } else { None })
    }

    fn typed<'a, T>(&'a self, key: &str, expected: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(Error::new(ErrorKind::InvalidFile, format!("setting {key:?} is {}; expected {expected}", shown(value)))),
        }
    }
}

/// A value in a few words.
fn shown(value: &Value) -> String {
    match value {
        Value::String(s) => format!("{:?}", s.chars().take(40).collect::<String>()),
        Value::Array(a) => format!("an array of {} {:?}", a.len(), a.kind()),
        other => format!("{other:?}"),
    }
}
