//! Rows in SQLite: small state that changes all at once or not at all.

use super::disk::Partial;
use super::{Change, RowKey, Rows, StoreError, Table};
use crate::lock;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The database of a data directory.
pub struct Database {
    connection: Mutex<Connection>,
    /// Keeps the directory this process's own while the database is open.
    _partial: Arc<Partial>,
}

impl Database {
    /// Opens the database and checks every page of it.
    pub fn open(file: &Path, partial: Arc<Partial>) -> Result<Self, StoreError> {
        let doing = failed("opening the database");
        let connection = Connection::open(file).map_err(&doing)?;
        connection.execute_batch(SETTINGS).map_err(&doing)?;
        let check = "PRAGMA integrity_check(1)";
        let verdict: String = connection.query_row(check, (), |row| row.get(0)).map_err(&doing)?;
        if verdict != "ok" {
            return Err(DAMAGED);
        }
        connection.execute_batch(SCHEMA).map_err(&doing)?;
        Ok(Self { connection: Mutex::new(connection), _partial: partial })
    }
}

impl Rows for Database {
    fn under(&self, table: Table, prefix: &RowKey) -> Result<Vec<(RowKey, Vec<u8>)>, StoreError> {
        let doing = failed("reading the database");
        let connection = lock(&self.connection);
        let mut select = connection.prepare_cached(SELECT).map_err(&doing)?;
        let rows = select.query_map([table.name(), prefix.as_str()], |row| {
            Ok((RowKey::stored(row.get(0)?), row.get(1)?))
        });
        rows.map_err(&doing)?.collect::<Result<_, _>>().map_err(&doing)
    }

    fn commit(&self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        let doing = failed("writing the database");
        let mut connection = lock(&self.connection);
        let behavior = TransactionBehavior::Immediate;
        let transaction = connection.transaction_with_behavior(behavior).map_err(&doing)?;
        for change in changes {
            let done = match *change {
                Change::Put { table, key, value } => transaction
                    .prepare_cached(PUT)
                    .and_then(|mut put| put.execute(params![table.name(), key.as_str(), value])),
                Change::Delete { table, key } => transaction
                    .prepare_cached(DELETE)
                    .and_then(|mut delete| delete.execute([table.name(), key.as_str()])),
            };
            done.map_err(&doing)?;
        }
        transaction.commit().map_err(&doing)
    }
}

/// Wraps an error of SQLite. Its messages may quote values, so that only the kind is kept.
fn failed(doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => DAMAGED,
        Some(ErrorCode::DiskFull) => {
            StoreError::Io { kind: std::io::ErrorKind::StorageFull, doing }
        }
        _ => StoreError::Io { kind: std::io::ErrorKind::Other, doing },
    }
}

const DAMAGED: StoreError = StoreError::Corrupt { what: "the database" };

/// The settings of the database: a commit is on disk before it returns, and deleted values are
/// overwritten with zeros.
const SETTINGS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA temp_store = MEMORY;
";

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS rows (
        name TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (name, key)
    ) STRICT, WITHOUT ROWID;
";

const SELECT: &str = "SELECT key, value FROM rows 
    WHERE name = ?1 AND key >= ?2 AND key < ?2 || char(1114111) ORDER BY key";

const PUT: &str = "INSERT INTO rows VALUES (?1, ?2, ?3)
    ON CONFLICT (name, key) DO UPDATE SET value = excluded.value";

const DELETE: &str = "DELETE FROM rows WHERE name = ?1 AND key = ?2";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use throng_wire::CollectionId;

    // No call of the contract makes a commit fail, so that the file is prepared to refuse a row.
    #[test]
    fn a_commit_that_fails_half_way_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        drop(Store::on_disk(directory.path()).unwrap());
        let file = Connection::open(directory.path().join("rows.sqlite")).unwrap();
        file.execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON rows WHEN NEW.name = 'probe'
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .unwrap();
        drop(file);

        let rows = Store::on_disk(directory.path()).unwrap().rows;
        let [kept, other] = [1, 2].map(|epoch| RowKey::at(CollectionId::new([1; 32]), epoch));
        rows.put(Table::Slots, &kept, b"before").unwrap();
        let put = |table, key, value| Change::Put { table, key, value };
        let refused = rows.commit(&[
            put(Table::Slots, &kept, b"after"),
            Change::Delete { table: Table::Slots, key: &kept },
            put(Table::Slots, &other, b"new"),
            put(Table::Probe, &other, b""),
        ]);
        assert!(matches!(refused, Err(StoreError::Io { doing: "writing the database", .. })));
        assert_eq!(rows.get(Table::Slots, &kept), Ok(Some(b"before".to_vec())));
        assert_eq!(rows.get(Table::Slots, &other), Ok(None));
        rows.put(Table::Slots, &other, b"new").unwrap();
        assert_eq!(rows.get(Table::Slots, &other), Ok(Some(b"new".to_vec())));
    }
}
