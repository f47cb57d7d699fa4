//! Access to what a server shows: bearer tokens with a role each.
//!
//! The file of tokens, as `throng token` writes it, holds digests only. Whoever reads it cannot use
//! it.
//!
//! ```text
//! [[token]]
//! name = "grafana"
//! role = "viewer"                        sees results
//! sha256 = "9f86d081884c7d65…"
//!
//! [[token]]
//! name = "night shift"
//! role = "operator"                      sees operations, status and metrics too
//! sha256 = "60303ae22b998861…"
//! ```
//!
//! Tokens are 256 random bits, so that a plain hash of them gives nothing away.

use crate::Error;
use crate::config::{only, table, wrong};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use throng_mix::store::StoreError;
use throng_wire::{hex, unhex};
use toml::Value;
use zeroize::Zeroizing;

/// The rights that a token gives.
///
/// ```
/// use throng_server::Reader;
///
/// // Whoever may see operations may see results too.
/// assert!(Reader::Viewer < Reader::Operator);
/// assert_eq!("operator".parse::<Reader>()?, Reader::Operator);
/// assert!("admin".parse::<Reader>().is_err());
/// # Ok::<(), throng_server::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    /// The right to see results.
    Viewer,
    /// The right to see operations too.
    Operator,
}

/// A token as a server keeps it, without the secret.
///
/// ```
/// use throng_server::{Reader, Token};
///
/// let (secret, token) = Token::generate("night shift", Reader::Operator)?;
/// assert!(secret.starts_with("throng_"));
/// assert!(!format!("{token:?}").contains(secret.as_str()));
/// assert!(Token::generate("two\nlines", Reader::Viewer).is_err());
/// # Ok::<(), throng_server::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The name of its owner, for people.
    pub name: String,
    /// The right it gives.
    pub reader: Reader,
    /// The digest of the secret, which a session is bound to.
    pub(crate) digest: [u8; 32],
}

/// All tokens of a server.
///
/// ```
/// use throng_server::{Access, Reader, Token};
///
/// let (secret, token) = Token::generate("grafana", Reader::Viewer)?;
/// let mut access = Access::default();
/// access.add(token)?;
/// let read = Access::parse(&access.to_toml())?;
/// assert_eq!(read.who(&secret).unwrap().name, "grafana");
/// assert!(read.who("throng_0000").is_none());
/// # Ok::<(), throng_server::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    tokens: Vec<Token>,
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        })
    }
}

impl FromStr for Reader {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = [Self::Viewer, Self::Operator].into_iter().find(|r| r.to_string() == text);
        found.ok_or_else(|| wrong("role", "viewer or operator"))
    }
}

impl Token {
    /// A fresh secret, to be shown once, and the token to be kept.
    pub fn generate(name: &str, reader: Reader) -> Result<(Zeroizing<String>, Self), Error> {
        let mut random = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *random).map_err(|_| StoreError::Randomness)?;
        let digits = Zeroizing::new(hex(&*random));
        let secret = Zeroizing::new(format!("{MARK}{}", *digits));
        let digest = Sha256::digest(secret.as_bytes()).into();
        Ok((secret, Self { name: checked(name)?, reader, digest }))
    }
}

impl Access {
    /// Reads the file of tokens.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let all = table(text, "token")?;
        let list = all.get("token").map_or(Some(&[][..]), |list| Some(list.as_array()?));
        let list = list.ok_or_else(|| wrong("token", "a list, each begun by [[token]]"))?;
        let mut access = Self::default();
        for entry in list {
            access.add(parse_token(entry)?)?;
        }
        Ok(access)
    }

    /// The text of the file of tokens.
    pub fn to_toml(&self) -> String {
        let entry = |token: &Token| {
            let Token { name, reader, digest } = token;
            let name = Value::String(name.clone());
            format!("[[token]]\nname = {name}\nrole = \"{reader}\"\nsha256 = \"{}\"\n", hex(digest))
        };
        self.tokens.iter().map(entry).collect::<Vec<_>>().join("\n")
    }

    /// Adds a token. Its name must be new.
    pub fn add(&mut self, token: Token) -> Result<(), Error> {
        if self.tokens.iter().any(|known| known.name == token.name) {
            return Err(wrong("name", format!("there is a token named {} already", token.name)));
        }
        self.tokens.push(token);
        Ok(())
    }

    /// Removes the token of this name, and returns whether there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.tokens.len();
        self.tokens.retain(|token| token.name != name);
        self.tokens.len() < before
    }

    /// All tokens.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The token of this secret, if there is one. The time it takes does not tell how much of the
    /// secret is right.
    pub fn who(&self, secret: &str) -> Option<&Token> {
        let digest: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        self.tokens.iter().find(|token| verify_slices_are_equal(&token.digest, &digest).is_ok())
    }
}

fn parse_token(entry: &Value) -> Result<Token, Error> {
    let entry = entry.as_table().ok_or_else(|| wrong("token", "a list of tables"))?;
    only("", entry, "name, role, sha256")?;
    let text = |key: &str| {
        let text = entry.get(key).and_then(Value::as_str);
        text.ok_or_else(|| wrong(format!("token.{key}"), "a text in quotes"))
    };
    let digest = unhex(text("sha256")?).and_then(|bytes| bytes.try_into().ok());
    let digest = digest.ok_or_else(|| wrong("token.sha256", "64 hexadecimal digits"))?;
    Ok(Token { name: checked(text("name")?)?, reader: text("role")?.parse()?, digest })
}

fn checked(name: &str) -> Result<String, Error> {
    let fine = (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control);
    if fine { Ok(name.to_owned()) } else { Err(wrong("name", "1 to 64 bytes on one line")) }
}

/// The beginning of every secret, by which people and scanners for leaked secrets know one.
const MARK: &str = "throng_";

const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_what_its_token_allows_and_nothing_shows_it() {
        let mut access = Access::default();
        let (viewer, token) = Token::generate("a \"name\"", Reader::Viewer).unwrap();
        access.add(token).unwrap();
        let (operator, token) = Token::generate("b", Reader::Operator).unwrap();
        access.add(token).unwrap();
        let text = access.to_toml();
        assert!(!text.contains(&viewer[MARK.len()..]));
        assert!(!format!("{access:?}").contains(&viewer[MARK.len()..]));
        let read = Access::parse(&text).unwrap();
        assert_eq!(read, access);
        assert_eq!(read.who(&viewer).unwrap().reader, Reader::Viewer);
        assert_eq!(read.who(&operator).unwrap().reader, Reader::Operator);
        for other in ["", "throng_", &viewer[1..], &viewer[..viewer.len() - 1], &text] {
            assert!(read.who(other).is_none());
        }
        assert!(access.remove("b") && !access.remove("b"));
        assert!(access.who(&operator).is_none());
        assert!(Reader::Viewer < Reader::Operator);
    }

    #[test]
    fn a_mistake_in_the_file_is_named() {
        let digest = "00".repeat(32);
        let good = format!("[[token]]\nname = \"a\"\nrole = \"viewer\"\nsha256 = \"{digest}\"\n");
        assert!(Access::parse(&good).is_ok() && Access::parse("").is_ok());
        for (text, field) in [
            (good.replace("viewer", "admin"), "role: viewer or operator"),
            (good.replace("name", "nome"), "nome: not known here"),
            (good.replace("00", "0"), "token.sha256: 64"),
            (good.repeat(2), "name: there is a token named a"),
            (good.replace("\"a\"", "\"\""), "name: 1 to 64"),
            ("tokens = []".into(), "tokens: not known here"),
            ("token = 1".into(), "token: a list"),
        ] {
            let error = Access::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
