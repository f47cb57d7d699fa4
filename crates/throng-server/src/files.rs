//! Everything that a configuration names, read and checked, before anything is done with it.

use crate::config::{in_file, read_file};
use crate::http::Pem;
use crate::party::Topic;
use crate::text::{LONGEST_TEXT, read_short};
use crate::{Access, Config, Error};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throng_collection::{Board, Collection};
use throng_wire::Identity;
use zeroize::Zeroizing;

/// The contents of the files that a configuration names.
pub(crate) struct Files {
    pub topics: Vec<Topic>,
    pub identity: Identity,
    pub tls: Option<Pem>,
    pub authority: Option<Vec<u8>>,
    pub access: Option<Access>,
}

impl Files {
    /// Reads all of them.
    pub fn read(config: &Config) -> Result<Self, Error> {
        let topic = |file: &PathBuf| read_file(file, topic);
        let topics = config.collections.iter().map(topic).collect::<Result<_, _>>()?;
        let read = |file: &PathBuf| read_short(file).map_err(|error| in_file(file, &error));
        let tls = config.tls.as_ref();
        let tls = tls.map(|(certificate, key)| Ok::<_, Error>((read(certificate)?, private(key)?)));
        let access = config.access.as_ref().map(|file| read_file(file, Access::parse));
        Ok(Self {
            topics,
            tls: tls.transpose()?,
            access: access.transpose()?,
            identity: Identity::read(&config.identity)?,
            authority: config.authority.as_ref().map(read).transpose()?,
        })
    }
}

fn topic(text: &str) -> Result<Topic, throng_collection::Error> {
    if Board::is_in(text) {
        Board::parse(text).map(|board| Topic::Board(Box::new(board)))
    } else {
        Collection::parse(text).map(|collection| Topic::Question(Arc::new(collection)))
    }
}

/// The content of a file that nobody but its owner may read.
fn private(file: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let fail = |error: io::Error| in_file(file, &error);
    let opened = File::open(file).map_err(fail)?;
    let metadata = opened.metadata().map_err(fail)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let reason = format!("others may read it; run chmod 600 {}", file.display());
        return Err(in_file(file, &reason));
    }
    // Room for all of it at once: a vector that grows leaves copies of its content behind.
    let size = (metadata.len() as usize).min(LONGEST_TEXT);
    let mut bytes = Zeroizing::new(Vec::with_capacity(size + 1));
    opened.take(LONGEST_TEXT as u64).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}
